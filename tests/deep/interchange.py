#!/usr/bin/env python3
"""Checkpoints of ours in Hugging Face's transformers, and theirs in ours.

    interchange.py FOLDER       works in that folder, from the root of plumb;
                                PLUMB is where train, sample and build/logits
                                are, if not here

Ours, for pre and post, tied and not: both classes that can open a checkpoint
do, with nothing missing, unexpected or mismatched; the logits are the same,
and so are 200 greedy characters; the tokenizer is exact; the README's program
says the same. A placement without a class is refused. Theirs, the same four:
random weights from save_pretrained give ./sample's greedy output, in
characters, and in numbers where there is no tokenizer.

Ends with "N passed, N failed, N skipped".
"""
import math
import os
import random
import re
import subprocess
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import safetensors
import tokenizers
import torch
import transformers
from safetensors.torch import load_file
from transformers import (AutoModelForCausalLM, AutoTokenizer, GPT2Config,
                          GPT2LMHeadModel, OpenAIGPTConfig,
                          OpenAIGPTLMHeadModel)

PLUMB = Path(os.environ.get("PLUMB", ".")).resolve()
CLASSES = {"pre": GPT2LMHeadModel, "post": OpenAIGPTLMHeadModel}
CONTEXT, GREEDY = 32, 200
# What tokenizers like to change: spaces, line ends, combining marks, capitals,
# marks of byte-level BPE and of word ends, a byte order mark inside, no
# character at all.
SPECIAL = "\0\t\r\x7f\xa0\u0301\u0130\u2028\ufeff\ufffd\U0001f600\"\\/</w>ĠĊéEe "
STORY = "The cat sat on the mat.\n\nThe Dog,  don't!  \n \n\n\n" * 60
CORPUS = (STORY + SPECIAL) * 3

passed = failed = 0


def check(what, ok, more=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    print(f"{'ok      ' if ok else 'FAILED  '} {what}{more and ', '}{more}",
          flush=True)


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode().strip())
    return done.stdout.decode()


def train(out, placement, tie):
    data = out.with_suffix(".txt")
    data.write_bytes(CORPUS.encode())
    run(PLUMB / "train", f"--out={out}", f"--placement={placement}",
        f"--data={data}", "--layers=2", "--width=32", "--heads=4",
        f"--context={CONTEXT}", "--steps=400", "--lr=1e-2", "--dropout=0.1",
        "--eval-interval=200", "--eval-iters=2", "--probe-interval=0",
        *(["--tie"] if tie else []))
    return out / "best"


def sample(folder, prompt, tokens=GREEDY):
    text = run(PLUMB / "sample", f"--out={folder}", "--temperature=0",
               f"--prompt={prompt}", f"--tokens={tokens}")
    return text.removesuffix("\n")


def off(folder, model):
    """The largest difference of our logits from the model's, over a whole
    context of random tokens."""
    ids = [random.randrange(model.config.vocab_size) for _ in range(CONTEXT)]
    ours = [[float(z) for z in line.split()] for line
            in run(PLUMB / "build/logits", folder, *ids).splitlines()]
    with torch.no_grad():
        theirs = model(torch.tensor([ids])).logits[0]
    if not torch.isfinite(theirs).all():
        return math.inf
    return (torch.tensor(ours) - theirs).abs().max().item()


def greedy(model, ids):
    """nanoGPT's loop: the last CONTEXT tokens say what comes next."""
    ids = list(ids)
    with torch.no_grad():
        for _ in range(GREEDY):
            logits = model(torch.tensor([ids[-CONTEXT:]])).logits
            ids.append(int(logits[0, -1].argmax()))
    return ids


def is_tied(model):
    return (model.get_input_embeddings().weight.data_ptr()
            == model.get_output_embeddings().weight.data_ptr())


def open_both(what, folder, cls, tie):
    for opener in AutoModelForCausalLM, cls:
        model, info = opener.from_pretrained(folder, output_loading_info=True)
        left = {key: list(value) for key, value in info.items() if value}
        check(f"{what}: {opener.__name__} opens it", not left
              and type(model) is cls and is_tied(model) == tie, str(left or ""))
    model = model.eval()
    c = model.config
    drops = (c.embd_pdrop, c.resid_pdrop, c.attn_pdrop, c.bos_token_id,
             c.eos_token_id)
    check(f"{what}: dropout and special tokens",
          drops == (0.1, 0.1, 0, None, None), str(drops))
    return model


def check_tokenizer(what, folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    characters = sorted(set(CORPUS))
    texts = characters + [
        "", "".join(characters), "".join(reversed(characters)), " a ", "  \n",
        "\n" * 50, "\n \n", "don't  !  , .", "e\u0301é", "</w>", "Ġ Ċ", STORY,
        *("".join(random.choices(characters, k=random.randrange(300)))
          for _ in range(300))]
    wrong = [t for t in texts
             if tokenizer(t).input_ids != [characters.index(c) for c in t]
             or tokenizer.decode(tokenizer(t).input_ids) != t]
    check(f"{what}: {len(texts)} texts encoded and decoded", not wrong,
          f"{wrong[0]!r}" if wrong else "")
    return tokenizer


def check_readme(what, folder, prompt, wanted):
    program = folder.parent / "carry.py"
    section = Path("README.md").read_text().split("## Into PyTorch")[1]
    source = re.search(r"```python\n(.*?)```", section, re.S).group(1)
    program.write_text(source)
    check(f"{what}: the README's program of {source.count(chr(10))} lines",
          run(sys.executable, program, folder, prompt) == wanted + "\n")


def ours(work, placement, tie):
    what = f"ours, {placement}{', tied' if tie else ''}"
    best = train(work / f"{placement}-{tie}", placement, tie)
    model = open_both(what, best, CLASSES[placement], tie)
    worst = off(best, model)
    check(f"{what}: logits", worst < 1e-4, f"off by {worst:.1e} at most")
    tokenizer = check_tokenizer(what, best)
    prompt = "The Dog"
    ids = tokenizer(prompt).input_ids
    wanted = sample(best, prompt)
    check(f"{what}: {GREEDY} greedy characters",
          tokenizer.decode(greedy(model, ids)) == wanted, repr(wanted[:40]))
    if tie == (placement == "post"):        # both forms of both, in two runs
        check_readme(what, best, prompt, wanted)


def refused(work, placement):
    best = train(work / placement, placement, False)
    try:
        AutoModelForCausalLM.from_pretrained(best)
        why = ""
    except (ValueError, KeyError) as error:
        why = str(error).split("\n")[0]
    check(f"{placement} is refused by transformers", why, why[:70])
    tensors = load_file(best / "model.safetensors")
    check(f"{placement}: safetensors.torch opens it", "lm_head.weight" in
          tensors and all(t.isfinite().all() for t in tensors.values()),
          f"{len(tensors)} tensors")


def random_model(placement, tie, vocab):
    sizes = dict(vocab_size=vocab, n_positions=CONTEXT, n_embd=24, n_layer=3,
                 n_head=3, bos_token_id=None, eos_token_id=None,
                 tie_word_embeddings=tie)
    config = (GPT2Config if placement == "pre" else OpenAIGPTConfig)(**sizes)
    model = CLASSES[placement](config).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            gain = ".ln_" in name and name.endswith("weight")
            p.copy_(gain + 0.3 * torch.randn(p.shape))
    return model


def theirs(work, placement, tie):
    what = f"theirs, {placement}{', tied' if tie else ''}"
    folder = work / f"theirs-{placement}-{tie}"
    characters = random.sample(sorted(set(CORPUS)), 20)     # ids in any order
    model = random_model(placement, tie, len(characters))
    model.save_pretrained(folder)
    (folder / "tokenizer.json").unlink(missing_ok=True)
    worst = off(folder, model)
    check(f"{what}: logits", worst < 1e-4, f"off by {worst:.1e} at most")
    ids = [5, 17, 3]
    wanted = greedy(model, ids)
    got = sample(folder, "5 17 3")
    check(f"{what}: {GREEDY} greedy tokens, in numbers",
          [int(i) for i in got.split()] in (wanted, wanted[len(ids):]),
          got[:40])
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(
        {c: i for i, c in enumerate(characters)}, []))
    tokenizer.decoder = tokenizers.decoders.Fuse()
    tokenizer.save(str(folder / "tokenizer.json"))
    prompt = "".join(c for c in characters if c > " ")[:5]
    wanted = greedy(model, tokenizer.encode(prompt).ids)
    check(f"{what}: {GREEDY} greedy characters", sample(folder, prompt)
          == "".join(characters[i] for i in wanted), repr(prompt))


def main(work):
    print(f"python {sys.version.split()[0]}, torch {torch.__version__}, "
          f"transformers {transformers.__version__}, safetensors "
          f"{safetensors.__version__}, tokenizers {tokenizers.__version__}")
    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    parts = [(f, p, tie) for f in (ours, theirs) for p in CLASSES
             for tie in (False, True)]
    parts += [(refused, p) for p in ("peri", "rezero")]
    for f, *arguments in parts:
        try:
            f(work, *arguments)
        except Exception as error:              # the others still count
            check(f"{f.__name__} {arguments}", False,
                  f"{type(error).__name__}: {error}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
