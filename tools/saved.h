/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with saved positions, in every form that the command and Python write (the bytes are in
 * docs/file-formats.md): a position, a position followed by a number of records, and a checkpoint,
 * which has parts of any kind. All of it borrows the bytes of the file.
 */
#ifndef LEVADA_TOOLS_SAVED_H
#define LEVADA_TOOLS_SAVED_H

#include "buffer.h"

/* A position: what levada_iter_restore takes, and what was given since. */
typedef struct levada_cli_position {
    const uint8_t *state;
    size_t         size;
    uint64_t       drop; /* records that follow it and were given already */
} levada_cli_position;

/* One part of a checkpoint. Any other file is one part without a name. */
typedef struct levada_cli_part {
    const char    *name; /* not terminated */
    size_t         name_size;
    const uint8_t *at;
    size_t         size;
} levada_cli_part;

typedef struct levada_cli_parts {
    const uint8_t *next, *end;
    bool           named; /* a checkpoint */
} levada_cli_parts;

/* The parts of a file. DATA_LOSS where a checkpoint is damaged, FAILED_PRECONDITION where a later
 * version wrote it. */
LEVADA_MUST_USE levada_status levada_cli_parts_open(levada_cli_parts        *parts,
                                                    const levada_cli_buffer *file,
                                                    levada_error            *err);
/* The next one, in the order of the file; END after the last one. */
LEVADA_MUST_USE levada_status levada_cli_parts_next(levada_cli_parts *parts, levada_cli_part *out,
                                                    levada_error *err);

/* Returns true if the part begins as a position does. */
bool levada_cli_part_is_position(const levada_cli_part *part);
/* DATA_LOSS where the part is not a position, or a damaged one. */
LEVADA_MUST_USE levada_status levada_cli_part_position(const levada_cli_part *part,
                                                       levada_cli_position *out,
                                                       levada_error        *err);
/* The part with this name or, where `name` is NULL, the only one that is a position.
 * FAILED_PRECONDITION with the names of the parts where that says nothing or too much. */
LEVADA_MUST_USE levada_status levada_cli_saved_part(const levada_cli_buffer *file,
                                                    const char *name, levada_cli_part *out,
                                                    levada_error *err);

/* Appends the position as a file has it: the state alone where nothing follows it. */
void levada_cli_saved_put(levada_cli_buffer *out, const levada_cli_position *position);

/* CRC-32 as in zlib; `crc` is that of the bytes before, 0 at the beginning. */
uint32_t levada_cli_crc32(uint32_t crc, const uint8_t *at, size_t size);
uint64_t levada_cli_le(const uint8_t *at, int size); /* little endian */

#endif
