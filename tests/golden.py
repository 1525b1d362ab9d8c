#!/usr/bin/env python3
"""Golden values from PyTorch in double precision.

    golden.py ops       prints C initialisers for the specs in src/ops/*.c
    golden.py models    writes tests/golden/PLACEMENT.txt: the loss and the
                        gradients of a small model, and its losses in 100
                        steps of AdamW, for tests/golden_test.c

Recorded with PyTorch 2.15.0 (pip install torch). Nothing here shares code
with the engine: the equations are written again, from the papers.
"""
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def noise(n, start=0):
    """n reals in [-1, 1), spread by multiples of the golden ratio."""
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


# name: dims, input shapes, ids, function. The ops that are not here have
# golden numbers worked out by hand.
OPS = {
    "embedding": ("B=2,T=2,V=3,C=2", [(3, 2), (2, 2)], [2, 0, 1, 2],
                  lambda tok, pos, ids: tok[ids.view(2, 2)] + pos),
    "linear": ("N=2,K=3,M=2", [(2, 3), (3, 2), (2,)], None,
               lambda x, W, b: x @ W + b),
    "layernorm": ("N=2,C=4", [(2, 4), (4,), (4,)], None,
                  lambda x, g, b: F.layer_norm(x, (4,), g, b, 0.1)),
    "rmsnorm": ("N=2,C=4", [(2, 4), (4,)], None,
                lambda x, g: rmsnorm(x, g, 0.1)),
    "gelu": ("N=2,C=4", [(2, 4)], None,
             lambda x: F.gelu(x, approximate="tanh")),
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


# ---------------------------------------------------------------------------
# The model. A new placement is a line in PLACEMENTS.

L, D, HEADS, CONTEXT, VOCAB = 2, 6, 2, 5, 7
B, T, STEPS = 2, 5, 100
LR, BETAS, EPS, DECAY = 1e-3, (0.9, 0.98), 1e-8, 0.1


def norm(p, name, x):
    g, b = p[name + ".weight"], p.get(name + ".bias")
    return rmsnorm(x, g, 1e-5) if b is None else F.layer_norm(x, (D,), g, b,
                                                              1e-5)


def linear(p, name, x):             # weights are (in, out)
    return x @ p[name + ".weight"] + p[name + ".bias"]


def attend(p, at, x):
    h = linear(p, at + ".attn.c_attn", x)
    if at + ".attn.q.weight" in p:
        q, k, v = (z.view(B, T, HEADS, -1) for z in h.split(D, dim=2))
        q = rmsnorm(q, p[at + ".attn.q.weight"], 1e-5)
        k = rmsnorm(k, p[at + ".attn.k.weight"], 1e-5)
        h = torch.cat([z.flatten(2) for z in (q, k, v)], dim=2)
    h = attention(h, HEADS)
    return linear(p, at + ".attn.c_proj", h)


def mlp(p, at, x):
    h = F.gelu(linear(p, at + ".mlp.c_fc", x), approximate="tanh")
    return linear(p, at + ".mlp.c_proj", h)


# name: (the equation, norms a sublayer, is there a final norm?); f the branch,
# n and m its norms, g the gate of layer l
PLACEMENTS = {
    "pre": (lambda x, f, n, m, g, l: x + f(n(x)), 1, True),
    "post": (lambda x, f, n, m, g, l: n(x + f(x)), 1, False),
    "peri": (lambda x, f, n, m, g, l: x + m(f(n(x))), 2, True),
    "deepnorm": (lambda x, f, n, m, g, l: n((2 * L) ** 0.25 * x + f(x)),
                 1, False),
    "lnscale": (lambda x, f, n, m, g, l: x + f(n(x) / l ** 0.5), 1, True),
    "rezero": (lambda x, f, n, m, g, l: x + g * f(x), 0, False),
}
PLACEMENTS["pre-rmsnorm-qknorm"] = PLACEMENTS["pre"]


def loss(p, placement, ids, targets):
    put, _, final = PLACEMENTS[placement]
    x = p["wte.weight"][ids] + p["wpe.weight"][:T]
    for layer in range(L):
        at = f"h.{layer}"
        for branch, ln in ((attend, ".ln_1"), (mlp, ".ln_2")):
            x = put(x, lambda z: branch(p, at, z),
                    lambda z: norm(p, at + ln, z),
                    lambda z: norm(p, at + ln + ".out", z),
                    p.get(at + ".gate.weight"), layer + 1)
    if final:
        x = norm(p, "ln_f", x)
    logits = x @ p["lm_head.weight"].T
    return F.cross_entropy(logits.view(-1, VOCAB), targets.flatten())


def shapes(placement):
    _, norms, final = PLACEMENTS[placement]

    def norm_shapes(name):
        yield name + ".weight", (D,)
        if "rmsnorm" not in placement:
            yield name + ".bias", (D,)

    yield "wte.weight", (VOCAB, D)
    yield "wpe.weight", (CONTEXT, D)
    yield "lm_head.weight", (VOCAB, D)
    for layer in range(L):
        for name, size in (("ln_1", None), ("attn.c_attn", (D, 3 * D)),
                           ("attn.c_proj", (D, D)), ("ln_2", None),
                           ("mlp.c_fc", (D, 4 * D)),
                           ("mlp.c_proj", (4 * D, D))):
            at = f"h.{layer}.{name}"
            if size:
                yield at + ".weight", size
                yield at + ".bias", size[-1:]
            else:
                for suffix in ("", ".out")[:norms]:
                    yield from norm_shapes(at + suffix)
        if placement == "rezero":
            yield f"h.{layer}.gate.weight", (1,)
        if "qknorm" in placement:
            yield f"h.{layer}.attn.q.weight", (D // HEADS,)
            yield f"h.{layer}.attn.k.weight", (D // HEADS,)
    if final:
        yield from norm_shapes("ln_f")


def weights(placement):
    """Mixed integers (murmur3's finaliser), so that C makes the same ones."""
    p, start, mask = {}, 0, 2**32 - 1
    for name, shape in shapes(placement):
        n = torch.Size(shape).numel()
        values = []
        for i in range(start, start + n):
            h = i * 2654435761 & mask
            h = (h ^ h >> 16) * 0x85EBCA6B & mask
            h = (h ^ h >> 13) * 0xC2B2AE35 & mask
            values.append((h ^ h >> 16) / 2**31 - 1)
        gain = ".ln_" in "." + name and name.endswith("weight")
        p[name] = (float(gain) + 0.4 * torch.tensor(values)).view(shape)
        p[name].requires_grad_()
        start += n
    return p


def golden_model(placement):
    p = weights(placement)
    k = torch.arange(B * T)
    ids, targets = (k * k + 3 * k) % VOCAB, (5 * k + 2) % VOCAB
    batch = ids.view(B, T), targets.view(B, T)
    first = loss(p, placement, *batch)
    first.backward()
    lines = [f"loss {first.item():.17g}"]
    for name, w in p.items():
        lines.append(f"gradient {name} {w.numel()}")
        lines += [f"{g:.17g}" for g in w.grad.flatten().tolist()]
    groups = [{"params": [w for w in p.values() if w.dim() > 1],
               "weight_decay": DECAY},
              {"params": [w for w in p.values() if w.dim() == 1],
               "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=LR, betas=BETAS, eps=EPS)
    lines.append(f"trace {STEPS}")
    for _ in range(STEPS):
        adam.zero_grad()
        y = loss(p, placement, *batch)
        y.backward()
        adam.step()
        lines.append(f"{y.item():.17g}")
    return "\n".join(lines) + "\n"


def golden_models():
    folder = Path(__file__).parent / "golden"
    folder.mkdir(exist_ok=True)
    for placement in PLACEMENTS:
        (folder / f"{placement}.txt").write_text(golden_model(placement))


if __name__ == "__main__":
    {"ops": golden_ops, "models": golden_models}[sys.argv[1]]()
