#!/usr/bin/env python3
"""Golden values from PyTorch in double precision.

    golden.py ops       C initialisers for the specs in src/ops/*.c
"""
import sys
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def noise(n, start=0):
    """n reals in [-1, 1), from a formula that C computes to the same bit."""
    i = torch.arange(start, start + n, dtype=torch.int64)
    return ((i * 2654435761) % 2**32) / 2**31 - 1


# ---------------------------------------------------------------------------
# Ops: one small case each, inputs of two digits so that they can be read

def attention(qkv, heads, causal=True):
    """(B,T,3HD): all q, then all k, then all v; heads side by side in each."""
    B, T, width = qkv.shape
    q, k, v = (z.view(B, T, heads, -1).transpose(1, 2)
               for z in qkv.split(width // 3, dim=2))
    s = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
    if causal:
        s = s.masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf"))
    return (s.softmax(-1) @ v).transpose(1, 2).reshape(B, T, -1)


def rmsnorm(x, g, eps):
    return g * x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


def philox(key, counter):
    """Philox4x32-10 (Salmon et al. 2011), written from the paper."""
    k, c, mask = list(key), list(counter), 2**32 - 1
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & mask,
             (a >> 32) ^ c[3] ^ k[1], a & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def dropout(x, p=0.25, seed=7):
    """Element i takes word i % 4 of block i // 4 of stream 3 (RNG_DROPOUT),
    step 0, first dropout of the step; it falls if word / 2^32 < p."""
    words = [w for block in range((x.numel() + 3) // 4)
             for w in philox([seed, 0], [block, 0, 0, 3])]
    keep = torch.tensor([w >= p * 2**32 for w in words[:x.numel()]])
    return x * keep.view(x.shape) / (1 - p)


# name: dims, input shapes, ids, function
OPS = {
    "embedding": ("B=2,T=2,V=3,C=2", [(3, 2), (2, 2)], [2, 0, 1, 2],
                  lambda tok, pos, ids: tok[ids.view(2, 2)] + pos),
    "linear": ("N=2,K=3,M=2", [(2, 3), (3, 2), (2,)], None,
               lambda x, W, b: x @ W + b),
    "unembed": ("N=2,C=3,V=2", [(2, 3), (2, 3)], None, lambda x, E: x @ E.T),
    "add": ("N=2,C=3", [(2, 3), (2, 3)], None, lambda x, z: x + z),
    "mul": ("N=2,C=3", [(2, 3), (2, 3)], None, lambda x, z: x * z),
    "scale": ("N=2,C=3", [(2, 3)], None, lambda x: -1.5 * x),
    "layernorm": ("N=2,C=4", [(2, 4), (4,), (4,)], None,
                  lambda x, g, b: F.layer_norm(x, (4,), g, b, 0.1)),
    "rmsnorm": ("N=2,C=4", [(2, 4), (4,)], None,
                lambda x, g: rmsnorm(x, g, 0.1)),
    "gelu": ("N=2,C=4", [(2, 4)], None,
             lambda x: F.gelu(x, approximate="tanh")),
    "relu": ("N=2,C=4", [(2, 4)], None, F.relu),
    "softmax": ("N=2,C=4", [(2, 4)], None, lambda x: x.softmax(-1)),
    "attention": ("B=1,T=2,H=2,D=2", [(1, 2, 12)], None,
                  lambda x: attention(x, 2)),
    "attention, not causal": ("B=1,T=2,H=2,D=2", [(1, 2, 12)], None,
                              lambda x: attention(x, 2, False)),
    "dropout": ("N=3,C=8", [(3, 8)], None, dropout),
    "cross_entropy": ("N=3,V=4", [(3, 4)], [2, 0, 3], F.cross_entropy),
}


def row(numbers, form):
    text, line = "", "{"
    for i, z in enumerate(numbers):
        word = format(z, form) + ("}" if i == len(numbers) - 1 else ",")
        if len(line) + len(word) > 56:
            text, line = text + line.rstrip() + "\n" + " " * 16, " "
        line += word + " "
    return text + line.rstrip()


def golden_ops():
    for name, (dims, shapes, ids, f) in OPS.items():
        inputs, start = [], 1
        for shape in shapes:
            n = torch.Size(shape).numel()
            x = (2 * noise(n, start)).mul(100).round().div(100)
            inputs.append(x.view(shape))
            start += n
        extra = [torch.tensor(ids)] if ids else []
        y = f(*inputs, *extra)
        print(f"    /* {name} */")
        print(f'    .golden = {{"{dims}",')
        rows = [row(x.flatten().tolist(), ".3g") for x in inputs]
        print("        .in = {" + ",\n               ".join(rows) + "},")
        if ids:
            print("        .ids = {" + ", ".join(map(str, ids)) + "},")
        print("        .out = " + row(y.flatten().tolist(), ".17g") + ",")
        print('        .source = "PyTorch, double: tests/golden.py"},\n')


if __name__ == "__main__":
    {"ops": golden_ops}[sys.argv[1]]()
