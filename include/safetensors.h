/* safetensors: tensors in a file, as Hugging Face's specification has it.
 *
 *   8 bytes   N, the length of the header, little-endian
 *   N bytes   the header: {"NAME": {"dtype": "F32", "shape": [2,3],
 *             "data_offsets": [BEGIN, END]}, ...}, padded with spaces so that
 *             the data begins at a multiple of 8
 *   the data  row-major, little-endian, without a hole or an overlap
 *
 * Files come from anywhere. As in json.h, what is wrong with one comes back
 * as text, and who knows the file's name reports it. */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include "arena.h"
#include "param.h"

enum { SAFETENSORS_HEADER = 100000000,      /* bytes: the longest allowed */
       SAFETENSORS_DIM = 8,                 /* axes of a tensor at most */
       SAFETENSORS_ERROR = 256 };           /* bytes a message needs */

typedef struct {
    const char *name;           /* UTF-8, no NUL inside */
    const char *dtype;          /* "F32", "F64", "F16", "I64", ... */
    int    ndim;                /* 0: a scalar */
    size_t dim[SAFETENSORS_DIM];
    const char *data;
    size_t bytes;
} StoredTensor;

typedef struct {
    int n;
    const StoredTensor *tensor; /* by place in the file */
    const StoredTensor *const *by_name;
} Safetensors;

/* Reads the file's bytes[0..n), which must stay as long as the result; the
 * table is in the arena. Everything is bounded before anything is allocated:
 * N, the offsets, the products of shapes; ranges must be contiguous and cover
 * the data; no name twice. False: error says what is wrong. */
bool safetensors_read(Arena *a, const char *bytes, size_t n,
                      Safetensors *out, char error[SAFETENSORS_ERROR]);

/* NULL if there is no tensor of this name. O(log n). */
const StoredTensor *safetensors_find(const Safetensors *s, const char *name);

/* What is in front of the data for these parameters, in their order: the 8
 * bytes and the header, with __metadata__ {"format": "pt"}; *length bytes, in
 * the arena. */
char *safetensors_header(Arena *a, const Param *param, int nparam,
                         size_t *length);

/* Fills the parameter from the stored tensor, which must have its shape, only
 * finite values, and the dtype F32; where real is double, F32 or F64. False:
 * error names the tensor, and the parameter may have changed. */
bool safetensors_fill(const StoredTensor *from, Param *p,
                      char error[SAFETENSORS_ERROR]);

#endif
