/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States from the inside: a list of entries {path, version, key, type, bytes}.
 *
 * A writer gathers entries raw (a snapshot costs a memcpy), and holds records that are saved by
 * value without a copy: snapshots are many, and few are ever asked for. levada_records_materialize
 * makes entries of those, and levada_state_encode sorts, compresses and frames all. A reader is a
 * decoded file. Both have a scope: the path that entries belong to, so that keys are local, and the
 * input that waiting records are read again through.
 */
#ifndef LEVADA_STATE_STATE_PRIV_H
#define LEVADA_STATE_STATE_PRIV_H

#include "description/dataset_priv.h"
#include "registry/env_priv.h"
#include "state/damaged.h"
#include <levada/state.h>

struct levada_file_names;

/* How records are read by their origins. */
typedef enum levada_read {
    LEVADA_READ_AGAIN, /* as they were emitted before */
    LEVADA_READ_FIRST  /* records that were not read yet, of which only keys were emitted */
} levada_read;

/* What records come out of, of which some may be read again. The running part makes one of each
 * node of the tree. */
typedef struct levada_edge {
    const struct levada_edge_ops *ops;
    const levada_dataset         *at;   /* its description */
    const levada_spec            *spec; /* of its records  */
} levada_edge;

typedef struct levada_edge_ops {
    /* Origins that a record has here: those of all sources whose records zips put together. */
    int32_t (*nparts)(const levada_edge *edge);
    /* Whether origins of that origin part may be of source `source`. */
    bool (*owns_source)(const levada_edge *edge, int32_t part, int32_t source);
    /* Whether `source` is none of this pipeline, but may have been one of a named input, which is
     * gone (run/remix.h). */
    bool (*gone_source)(const levada_edge *edge, int32_t source);
    bool (*rereadable)(const levada_edge *edge);
    /* Reads n records by their origins, which ascend (levada_node_ops). */
    levada_status (*read)(levada_edge *edge, const levada_origin *origins, int64_t n,
                          levada_read how, levada_block **out, levada_error *err);
    /* ECANCELLED if the caller that reads again should stop. */
    levada_status (*check_cancelled)(const levada_edge *edge, levada_error *err);
    /* Puts the place of a row into an error; `path` is that of the stage. */
    void (*place)(const levada_edge *edge, const char *path, const levada_block *block, int64_t row,
                  levada_error *err);
} levada_edge_ops;

/* Whose entries are put or looked up. */
typedef struct levada_state_scope {
    const char  *path;
    int32_t      version;
    levada_edge *edge; /* that its records wait at; NULL = none, or several */
} levada_state_scope;

#define LEVADA_STATE_DATASET                                                  \
    { .path = "dataset" } /* the scope of what concerns all of an iterator */

typedef enum levada_entry_type {
    LEVADA_ENTRY_RECORDS = 0, /* held by a writer, never in a file */
    LEVADA_ENTRY_I64 = 1,
    LEVADA_ENTRY_BYTES,
    LEVADA_ENTRY_I64S
} levada_entry_type;

#define LEVADA_STATE_PATH 160 /* with the zero at its end: of a prefix and a name */
#define LEVADA_STATE_PREFIX 100 /* of these, of the inputs and pipes that a stage is in */
#define LEVADA_STATE_KEY 64 /* with the zero at its end */
/* For names made of a key: one that is cut off is too long for an entry, and refused. */
#define LEVADA_STATE_NAME 96

typedef struct levada_entry {
    char     path[LEVADA_STATE_PATH];
    char     key[LEVADA_STATE_KEY];
    int32_t  version;
    uint8_t  type;
    uint8_t *data; /* owned; int64s of I64 and I64S in native order */
    size_t   size;
    levada_block *records; /* of RECORDS: a reference, */
    bool          open;    /* and whether their columns are reported as well */
    bool          asked;   /* of a reader: something has looked for it */
} levada_entry;

struct levada_state_writer {
    levada_entry *entries;
    int32_t       n;
    int64_t       capacity;
    levada_state_scope scope;
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
    levada_entry     *last;    /* the entry that was read last, or NULL */
    const levada_env *env;
    struct levada_file_names *names; /* to which those of records by value are added */
    levada_state_scope        scope;
};

void levada_state_writer_clear(levada_state_writer *to);
void levada_state_reader_clear(levada_state_reader *from);
/* Removes the entries at a path and below it ("path/..."). */
void levada_state_drop_below(levada_state_writer *to, const char *path);
/* Returns true if there are entries at a path or below it. */
bool levada_state_has_below(const levada_state_reader *from, const char *path);
/* Holds the records of a block until the state is encoded, with their columns where the edge of
 * the scope does not declare them. */
LEVADA_MUST_USE levada_status levada_state_put_records(levada_state_writer *to, const char *key,
                                                       levada_block *block, levada_error *err);
/* Takes over what the entry owns. */
LEVADA_MUST_USE levada_status levada_state_move(levada_state_writer *to, levada_entry *from,
                                                levada_error *err);
/* Appends copies of another writer's entries (a snapshot). */
LEVADA_MUST_USE levada_status levada_state_append(levada_state_writer       *to,
                                                  const levada_state_writer *from,
                                                  levada_error *err);
/* Adds to the number of that path and key, 0 if there is none. */
LEVADA_MUST_USE levada_status levada_state_add(levada_state_writer *to, const char *path,
                                               const char *key, int64_t more, levada_error *err);
/* Encodes the state file, of a writer that holds no records any more; bytes are freed with
 * levada_string_free. */
LEVADA_MUST_USE levada_status levada_state_encode(levada_state_writer     *from,
                                                  const levada_state_head *head,
                                                  const levada_env *env, char **out, size_t *size,
                                                  levada_error *err);
/* Checks everything. EDATA_LOSS where it is damaged, EFAILED_PRECONDITION where it is newer. */
LEVADA_MUST_USE levada_status levada_state_decode(const void *bytes, size_t size,
                                                  const levada_env *env, levada_state_reader *out,
                                                  levada_error *err);
/* Checks after a restore that every entry was looked for, because its content would be lost:
 * EFAILED_PRECONDITION names the entry. */
LEVADA_MUST_USE levada_status levada_state_check_asked(const levada_state_reader *from,
                                                       levada_error *err);

/* Makes a DATA block whose columns are packed: values in the order of rows, without gaps, from
 * 0. */
LEVADA_MUST_USE levada_status levada_records_pack(levada_pool *pool, const levada_block *block,
                                                  levada_block **out, levada_error *err);
/* Puts rows of a block (DATA, packed) as bytes, with their columns or without, and with those of
 * `names` that they have; and back, without: those of `spec`. */
LEVADA_MUST_USE levada_status levada_rows_put(levada_state_writer *to, const char *key,
                                              const levada_block *block, bool columns,
                                              struct levada_file_names *names,
                                              levada_error *err);
LEVADA_MUST_USE levada_status levada_rows_get(levada_state_reader *from, const char *key,
                                              const levada_spec *spec, levada_block **out,
                                              levada_error *err);
/* Puts records that wait at the edge of the scope: by origin or by value. At least 1. By value
 * costs a reference to the block and no copy: many states are gathered and few encoded. */
LEVADA_MUST_USE levada_status levada_records_put(levada_state_writer *to, const char *key,
                                                 levada_block *block, levada_error *err);
/* Replaces the records that are held by entries with their values. */
LEVADA_MUST_USE levada_status levada_records_materialize(levada_state_writer *w, levada_env *env,
                                                   struct levada_file_names *names,
                                                   levada_error *err);
LEVADA_MUST_USE levada_status levada_records_get(levada_state_reader *from, const char *key,
                                                 levada_block **out, levada_error *err);
/* Reads records in any order, of which some may be the same: a selection of what was read in
 * pieces, each file in one pass for each piece. */
LEVADA_MUST_USE levada_status levada_records_read(levada_edge *edge, const levada_origin *origins,
                                                  int64_t n, levada_read how, levada_block **out,
                                                  levada_error *err);
/* Hashes of up to 64 of the records, next to their origins; and whether what was read again by
 * these is the same: EFAILED_PRECONDITION names file and record. */
LEVADA_MUST_USE levada_status levada_records_put_sums(levada_state_writer *to, const char *key,
                                                      const levada_block *block,
                                                      levada_error *err);
LEVADA_MUST_USE levada_status levada_records_check_sums(levada_state_reader *from, const char *key,
                                                        const levada_block *block,
                                                        levada_error *err);
/* Checks that records that were saved by value are equal to what was read again by their origins.
 * */
LEVADA_MUST_USE levada_status levada_records_check_values(const levada_state_reader *from,
                                                          const levada_block *saved,
                                                          const levada_block *block,
                                                          levada_error *err);
/* Checks that two pipelines that differ at most in the stages that deal records to ranks agree in
 * these, too: EFAILED_PRECONDITION says which part a checkpoint is of (shards.c). */
LEVADA_MUST_USE levada_status levada_shards_check(const levada_env *env, const char *now,
                                                  const char *saved, size_t size,
                                                  levada_error *err);
/* Puts origins of n rows, row by row, each with one of every origin part. The first origin part is
 * the entry `key`, the others have entries of their own next to it, `key`+1 and so on: records of
 * one origin part are saved as they always were. */
LEVADA_MUST_USE levada_status levada_origins_put(levada_state_writer *to, const char *key,
                                                 const levada_origin *origins, int64_t n,
                                                 int32_t nparts, levada_error *err);
LEVADA_MUST_USE levada_status levada_origins_get(levada_state_reader *from, const char *key,
                                                 levada_origin **out, int64_t *n, int32_t *nparts,
                                                 levada_error *err);

#endif
