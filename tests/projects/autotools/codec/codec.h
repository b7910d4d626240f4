#ifndef CODEC_H
#define CODEC_H

#include <stddef.h>

/* Run-length encoding: pairs of count and byte, in a new block. */
unsigned char *encode_runs(const unsigned char *bytes, size_t size, size_t *encoded);

#endif
