#!/usr/bin/env python3
"""Tiny models of Hugging Face's transformers, for tests/huggingface_test.c.

    golden_hf.py        writes tests/golden/gpt2-tiny/ and gpt1-tiny/: what
                        save_pretrained leaves, and logits.txt, the logits of
                        the float weights computed in double

Recorded with PyTorch 2.15.0, transformers 5.24.0, safetensors 0.8.0. Every
tensor is random, the biases and the gains of the norms too: one that is left
out or exchanged shows.
"""
from pathlib import Path

import torch
from transformers import (GPT2Config, GPT2LMHeadModel, OpenAIGPTConfig,
                          OpenAIGPTLMHeadModel)

V, CONTEXT, D, L, HEADS = 12, 8, 8, 2, 2
SIZES = dict(vocab_size=V, n_positions=CONTEXT, n_embd=D, n_layer=L,
             n_head=HEADS, bos_token_id=None, eos_token_id=None)
IDS = [3, 0, 11, 7, 7, 1, 5, 10]


def record(name, model):
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter, p in model.named_parameters():
            gain = ".ln_" in parameter and parameter.endswith("weight")
            p.copy_(gain + 0.4 * torch.randn(p.shape, generator=generator))
    folder = Path(__file__).parent / "golden" / name
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    with torch.no_grad():
        logits = model.eval().double()(torch.tensor([IDS])).logits[0]
    lines = [" ".join(map(str, IDS))]
    lines += [" ".join(f"{z:.17g}" for z in row) for row in logits.tolist()]
    (folder / "logits.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    record("gpt2-tiny", GPT2LMHeadModel(
        GPT2Config(**SIZES, tie_word_embeddings=False)))
    record("gpt1-tiny", OpenAIGPTLMHeadModel(OpenAIGPTConfig(**SIZES)))
