/* Weights in a file, as safetensors: 8 bytes length of the header, the
 * header (JSON: name, type, shape and place of each tensor), the data,
 * little-endian. Python's safetensors opens it. */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include "param.h"

/* Writes to PATH.tmp, forces it to the disk, and only then renames it to
 * PATH: at every moment PATH is whole, old or new. EXIT_CANTCREATE,
 * EXIT_IO. */
void weights_save(const char *path, const Param *param, int nparam);

/* Fills the parameters. The file must hold exactly these names and shapes,
 * and the checksum it was written with: else EXIT_DATA, with the reason, or
 * EXIT_NOINPUT if it cannot be opened. */
void weights_load(const char *path, Param *param, int nparam);

#endif
