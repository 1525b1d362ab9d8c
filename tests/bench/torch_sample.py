"""PyTorch writing the text that `sample_speed` does: the same model in float
with a key/value cache, one stream or B side by side, no gradients.

torch_sample.py THREADS L D H T B V
Prints "ready VERSION", then for every line "SECONDS" on its input the tokens a
second and stream of texts of T tokens that it wrote in that time. The cache is
allocated once and written in place; softmax and draw are PyTorch's, too."""
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

threads, L, D, H, T, B, V = map(int, sys.argv[1:])
torch.set_num_threads(threads)
torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.fc, self.out = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
        self.k = torch.zeros(B, H, T, D // H)
        self.v = torch.zeros(B, H, T, D // H)

    def attention(self, x, n):
        q, k, v = self.qkv(x).view(B, 3, H, 1, D // H).unbind(1)
        self.k[:, :, n:n + 1] = k
        self.v[:, :, n:n + 1] = v
        y = F.scaled_dot_product_attention(q, self.k[:, :, :n + 1],
                                           self.v[:, :, :n + 1])
        return self.proj(y.view(B, D))

    def forward(self, x, n):
        x = x + self.attention(self.ln_1(x), n)
        return x + self.out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, D), nn.Embedding(T, D)
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.ln_f, self.head = nn.LayerNorm(D), nn.Linear(D, V, bias=False)

    def forward(self, ids, n):
        x = self.tok(ids) + self.pos.weight[n]
        for block in self.blocks:
            x = block(x, n)
        return self.head(self.ln_f(x))


model = GPT().eval()


@torch.inference_mode()
def write():
    ids = torch.zeros(B, T, dtype=torch.long)
    for n in range(T - 1):
        p = F.softmax(model(ids[:, n], n), dim=-1)
        ids[:, n + 1] = torch.multinomial(p, 1)[:, 0]
    return ids


write()
print("ready", torch.__version__, flush=True)
for line in sys.stdin:
    start, texts = time.perf_counter(), 0
    while time.perf_counter() < start + float(line):
        write()
        texts += 1
    print(f"{texts * (T - 1) / (time.perf_counter() - start):.0f}", flush=True)
