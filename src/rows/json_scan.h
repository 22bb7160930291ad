/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans a record of JSON that simdjson has refused: finds what is wrong with it, and where, or
 * mends it in a copy (rows/json_parser.h).
 */
#ifndef LEVADA_ROWS_JSON_SCAN_H
#define LEVADA_ROWS_JSON_SCAN_H

#include "rows/json_parser.h"

/* The integer that stands for the first odd number of a mended record. */
#define LEVADA_JSON_ODD ((uint64_t)1 << 63)

/* Sets *wrong to what is wrong with the record, in p->wrong, or to NULL. Then p->mended says
 * whether there was something to mend: p->text is the copy. */
LEVADA_MUST_USE levada_status levada_json_scan(levada_json_parser *p, const uint8_t *text,
                                               size_t size, const char **wrong, levada_error *err);

#endif
