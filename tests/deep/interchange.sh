#!/bin/sh
# Checkpoints in Hugging Face's transformers and back: tests/deep/
# interchange.py. PYTHON is one that has torch, transformers, safetensors and
# tokenizers; without it a venv is made with current ones from PyPI, about a
# minute (5 GB on the disk: its only torch for x86-64 brings CUDA along, 1 GB
# less without triton, which nothing here uses). uv takes half as long as pip.
# Debian's torch 1.13 is too old for scaled_dot_product_attention.
cd "$(dirname "$0")/../.." || exit 70
work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT

venv() {
    python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q uv &&
        echo "triton; sys_platform == 'never'" > "$work/without" &&
        VIRTUAL_ENV="$work/venv" UV_CACHE_DIR="$work/cache" \
            "$work/venv/bin/uv" pip install -q --override "$work/without" \
            torch transformers safetensors tokenizers
}

if [ -z "$PYTHON" ]; then
    PYTHON=$work/venv/bin/python
    start=$(date +%s)
    if ! venv > "$work/log" 2>&1; then
        echo "skipped  no torch or transformers: $(tail -n 1 "$work/log")"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
    fi
    echo "installed in $(($(date +%s) - start)) s"
fi
make -s train sample build/logits && "$PYTHON" tests/deep/interchange.py "$work"
