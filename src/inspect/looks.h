/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for files that no source reads, by their first bytes: for messages only.
 */
#ifndef LEVADA_INSPECT_LOOKS_H
#define LEVADA_INSPECT_LOOKS_H

#include <stdint.h>

/* "a PNG image", "a ZIP archive", ... or "binary data". A constant. */
const char *levada_looks_like(const uint8_t *head, int64_t size);

#endif
