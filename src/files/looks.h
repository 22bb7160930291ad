/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of files that no format reads, recognized by their first bytes: for messages only.
 */
#ifndef LEVADA_FILES_LOOKS_H
#define LEVADA_FILES_LOOKS_H

#include <stdint.h>

typedef struct levada_look {
    const char *name;   /* "a PNG image", "a ZIP archive", ... or "binary data"                  */
    const char *remedy; /* of those whose first bytes are enough to refuse the file; else NULL   */
} levada_look;

levada_look levada_looks_like(const uint8_t *head, int64_t size);

#endif
