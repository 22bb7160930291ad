/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States from the inside: a list of entries {path, version, key, type, bytes}.
 *
 * A writer gathers entries raw (a snapshot costs a memcpy), and holds records that are saved by
 * value without a copy: snapshots are many, and few are ever asked for. levada_records_spell makes
 * entries of those, and levada_state_encode sorts, compresses and frames all. A reader is a decoded
 * file. Both know the node whose turn it is, so that keys are local and row stores can reach the
 * edge that they wait on.
 */
#ifndef LEVADA_CORE_STATE_PRIV_H
#define LEVADA_CORE_STATE_PRIV_H

#include "core/env_priv.h"
#include <levada/iter.h>
#include <levada/state.h>

struct levada_run; /* core/iter_priv.h */
typedef struct levada_node levada_node;

typedef enum levada_entry_type {
    LEVADA_ENTRY_RECORDS = 0, /* held by a writer, never in a file */
    LEVADA_ENTRY_I64 = 1,
    LEVADA_ENTRY_BYTES,
    LEVADA_ENTRY_I64S
} levada_entry_type;

#define LEVADA_STATE_KEY 64 /* with the zero at its end */
/* For names made of a key: one that is cut off is too long for an entry, and refused. */
#define LEVADA_STATE_NAME 96

typedef struct levada_entry {
    char     path[64];
    char     key[LEVADA_STATE_KEY];
    int32_t  version;
    uint8_t  type;
    uint8_t *data; /* owned; int64s of I64 and I64S in native order */
    size_t   size;
    levada_block *records; /* of RECORDS: a reference, */
    bool          open;    /* and whether their columns are to be told as well */
} levada_entry;

struct levada_state_writer {
    levada_entry *entries;
    int32_t       n, capacity;
    levada_node  *node; /* whose turn it is */
    int64_t since; /* changes of files from this one on are later (file_marks.h); 0 = all */
};

typedef struct levada_state_head {
    uint8_t fingerprint[16];
    int64_t seed, epoch;
} levada_state_head;

struct levada_state_reader {
    levada_state_head head;
    levada_entry     *entries; /* sorted by path and key */
    int32_t           n;
    levada_node      *node;
};

void levada_state_writer_clear(levada_state_writer *to);
void levada_state_reader_clear(levada_state_reader *from);
/* Holds the records of a block until the state is encoded, with their columns where the input of
 * the node whose turn it is does not declare them. */
LEVADA_MUST_USE levada_status levada_state_put_records(levada_state_writer *to, const char *key,
                                                       levada_block *block, levada_error *err);
/* Takes over what the entry owns. */
LEVADA_MUST_USE levada_status levada_state_move(levada_state_writer *to, levada_entry *from,
                                                levada_error *err);
/* Appends copies of another writer's entries (a snapshot). */
LEVADA_MUST_USE levada_status levada_state_append(levada_state_writer       *to,
                                                  const levada_state_writer *from,
                                                  levada_error *err);
/* Records to drop where reading goes on below the node at `path`: adds to what is there. */
LEVADA_MUST_USE levada_status levada_state_add_drop(levada_state_writer *to, const char *path,
                                                    int64_t records, levada_error *err);
/* The state file, of a writer that holds no records any more; bytes are freed with
 * levada_string_free. */
LEVADA_MUST_USE levada_status levada_state_encode(levada_state_writer     *from,
                                                  const levada_state_head *head,
                                                  const levada_env *env, char **out, size_t *size,
                                                  levada_error *err);
/* Checks everything. EDATA_LOSS where it is damaged, EFAILED_PRECONDITION where it is newer. */
LEVADA_MUST_USE levada_status levada_state_decode(const void *bytes, size_t size,
                                                  const levada_env *env, levada_state_reader *out,
                                                  levada_error *err);

/* Rows of a block (DATA) as bytes, with their columns or without; and back, without: those of
 * `spec`. */
LEVADA_MUST_USE levada_status levada_rows_put(levada_state_writer *to, const char *key,
                                              const levada_block *block, bool columns,
                                              levada_error *err);
LEVADA_MUST_USE levada_status levada_rows_get(levada_state_reader *from, const char *key,
                                              const levada_spec *spec, levada_block **out,
                                              levada_error *err);
/* Records that wait at the input of the node whose turn it is: by origin or by value. At least 1.
 * By value costs a reference to the block and no copy: many states are gathered and few encoded. */
LEVADA_MUST_USE levada_status levada_records_put(levada_state_writer *to, const char *key,
                                                 levada_block *block, levada_error *err);
/* In place of the records that are held, entries with their values. */
LEVADA_MUST_USE levada_status levada_records_spell(levada_state_writer *w, struct levada_run *run,
                                                   levada_error *err);
LEVADA_MUST_USE levada_status levada_records_get(levada_state_reader *from, const char *key,
                                                 levada_block **out, levada_error *err);
/* Hashes of up to 64 of the records beside their origins; and whether what was read again by these
 * is the same: EFAILED_PRECONDITION names file and record. */
LEVADA_MUST_USE levada_status levada_records_put_sums(levada_state_writer *to, const char *key,
                                                      const levada_block *block,
                                                      levada_error *err);
LEVADA_MUST_USE levada_status levada_records_check_sums(levada_state_reader *from, const char *key,
                                                        const levada_block *block,
                                                        levada_error *err);
/* Origins of n rows, row by row, each with one of every lane. The first lane is the entry `key`,
 * the others have entries of their own beside it, `key`+1 and so on: records of one lane are saved
 * as they always were. */
LEVADA_MUST_USE levada_status levada_origins_put(levada_state_writer *to, const char *key,
                                                 const levada_origin *origins, int64_t n,
                                                 int32_t lanes, levada_error *err);
LEVADA_MUST_USE levada_status levada_origins_get(levada_state_reader *from, const char *key,
                                                 levada_origin **out, int64_t *n, int32_t *lanes,
                                                 levada_error *err);

#endif
