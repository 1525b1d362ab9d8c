/* Weights that open elsewhere: the names, config.json and tokenizer.json that
 * Hugging Face's transformers reads.
 *
 *   pre    GPT2LMHeadModel        (model_type "gpt2")
 *   post   OpenAIGPTLMHeadModel   (model_type "openai-gpt"; GPT-1 is Post-LN)
 *
 * The matrices are [in, out] there as they are here (Conv1D). */
#ifndef HUGGINGFACE_H
#define HUGGINGFACE_H

#include <stdio.h>
#include "gpt.h"
#include "json.h"
#include "safetensors.h"
#include "text.h"

enum { HF_NAME = 64, HF_ERROR = SAFETENSORS_ERROR };

/* The class that computes the same as this model. NULL where transformers has
 * none: then *why says so, as "--placement=peri has no counterpart". */
const char *hf_class(const GPTConfig *c, const char **why);

/* The name that the class has for our parameter, "h.0.ln_1.weight" as
 * "transformer.h.0.ln_1.weight". Without a class: as GPT-2 would have it. */
void hf_name(const GPTConfig *c, const char *name, char out[HF_NAME]);

/* The members of config.json, with neither braces nor a comma at the end.
 * Without a class the model_type is "plumb", which transformers refuses, and
 * the member "interchange" says why. */
void hf_config_write(FILE *f, const GPTConfig *c);

/* Sets layers, width, heads, context, vocab, placement, tie from a
 * config.json. False if it describes a model that cannot be built here
 * (another type or activation, an eps that is not ours, ...): error names
 * the member, what it is, and what it would have to be. */
bool hf_config_read(const Json *config, GPTConfig *c, char error[HF_ERROR]);

/* tokenizer.json: a BPE model without merges whose vocabulary are the
 * characters; decoder Fuse. So encoding and decoding are exact. And
 * tokenizer_config.json, without which transformers would add tokens of its
 * own. */
void hf_tokenizer_write(FILE *f, const Text *t);
void hf_tokenizer_config_write(FILE *f, const GPTConfig *c);

/* The vocabulary of a tokenizer.json (vocab, code), ids in any order. False if
 * it is none whose tokens are single characters with ids 0 .. V-1, or if
 * something changes a text before or after it is cut up. */
bool hf_tokenizer_read(Arena *a, const Json *tokenizer, Text *t,
                       char error[HF_ERROR]);

/* Fills the parameters of m from the tensors of a file of ours or theirs:
 * names with or without "transformer.", the masks that older versions stored
 * (attn.bias, attn.masked_bias) left aside. Every parameter must be there, and
 * nothing else, but that a tied head may stand in the file a second time.
 * False: error says what is missing, not wanted, or of a wrong shape. */
bool hf_weights_read(const Safetensors *s, GPT *m, char error[HF_ERROR]);

#endif
