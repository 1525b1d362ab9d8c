"""PyTorch doing the step that `train` does: the same shapes, forward,
cross-entropy, backward, clipping, AdamW, in float.

torch_step.py eager|compile THREADS L D H T B V POST
Prints "ready VERSION MS_TO_FIRST_STEP", then for every line "SECONDS" on its
input one line of milliseconds, a number for every step, and at the end of the
input its peak memory in MiB. POST is 1 for LayerNorm after the addition."""
import math
import resource
import sys
import time

start = time.perf_counter()
import torch
from torch import nn
from torch.nn import functional as F

mode = sys.argv[1]
threads, L, D, H, T, B, V, post = map(int, sys.argv[2:])
torch.set_num_threads(threads)
torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.fc, self.out = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def attention(self, x):
        q, k, v = (z.view(B, T, H, D // H).transpose(1, 2)
                   for z in self.qkv(x).split(D, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, T, D))

    def mlp(self, x):
        return self.out(F.gelu(self.fc(x), approximate="tanh"))

    def forward(self, x):
        if post:
            x = self.ln_1(x + self.attention(x))
            return self.ln_2(x + self.mlp(x))
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, D), nn.Embedding(T, D)
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.ln_f = nn.Identity() if post else nn.LayerNorm(D)
        self.head = nn.Linear(D, V, bias=False)

    def forward(self, ids, targets):
        x = self.tok(ids) + self.pos.weight
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, V), targets.view(-1))


model = GPT()
optim = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
loss_of = torch.compile(model) if mode == "compile" else model
text = torch.randint(0, V, (100000,))


def step():
    at = torch.randint(0, len(text) - T - 1, (B,)).tolist()
    ids = torch.stack([text[i:i + T] for i in at])
    targets = torch.stack([text[i + 1:i + T + 1] for i in at])
    begin = time.perf_counter()
    loss = loss_of(ids, targets)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optim.step()
    optim.zero_grad(set_to_none=True)
    assert math.isfinite(loss.item())
    return 1e3 * (time.perf_counter() - begin)


step()
print("ready", torch.__version__, round(1e3 * (time.perf_counter() - start)),
      flush=True)
step()
step()
for line in sys.stdin:
    end = time.perf_counter() + float(line)
    times = [step()]
    while time.perf_counter() < end:
        times.append(step())
    print(*(f"{t:.3f}" for t in times), flush=True)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)
