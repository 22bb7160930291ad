/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes: where each record of a file lies. Beside FILE stands FILE.lvindex (docs/file-formats.md
 * describes its bytes; inspect/index_write.c writes it). An index of a file set numbers the records
 * of all files from 0 on, in the order of the set.
 *
 * Opening reads one page of each index. Pages of entries are read when they are needed, checked,
 * and kept in a cache of bounded size, so the memory does not grow with the number of records.
 * An index may also have the lengths of up to LEVADA_LENGTH_FIELDS fields in each record. If a file
 * has no such index, that of another library is used (index_foreign.h).
 * Nothing in an index is trusted: pages have checksums, counts must fit the size of the index, and
 * entries the size of the data file.
 *
 * An index belongs to one content of its file: the code that opens the file checks that with
 * levada_index_check. A change in the middle of a file, of the same size, is found where the
 * changed record is read (it has another length, or a wrong checksum).
 *
 * One owner, one thread at a time.
 */
#ifndef LEVADA_FILES_INDEX_H
#define LEVADA_FILES_INDEX_H

#include "files/bytes.h"
#include "files/glob.h"
#include "registry/registry.h"
#include "tensor/keys.h"
#include <levada/inspect.h>

#define LEVADA_INDEX_SUFFIX ".lvindex"
#define LEVADA_INDEX_MAGIC "lvindex\n"
#define LEVADA_INDEX_VERSION 2         /* without lengths */
#define LEVADA_INDEX_VERSION_LENGTHS 4 /* with them; 3 had those of one field */
#define LEVADA_INDEX_PAGE 4096
#define LEVADA_INDEX_ROWS 340 /* entries of a page */
#define LEVADA_INDEX_ENTRY 12 /* bytes: offset (8) and length (4) of a frame, little endian */
#define LEVADA_INDEX_LENGTHS 1023 /* of a page of lengths, 4 bytes each */
#define LEVADA_INDEX_SUM (LEVADA_INDEX_PAGE - 4) /* where the checksum of a page stands */
#define LEVADA_INDEX_NAME 48
#define LEVADA_INDEX_FIELD 128
#define LEVADA_LENGTH_FIELDS LEVADA_KEY_FIELDS /* most fields whose lengths it has */

/* The last page: it is written when all records are known. */
typedef struct levada_index_foot {
    int64_t           count; /* records                                              */
    levada_bytes_mark mark;  /* of the data file                                     */
    uint32_t          sum;   /* CRC-32C of its bytes                                 */
    char    source[LEVADA_INDEX_NAME]; /* name of the format that framed it          */
    uint8_t options[16];     /* hash of the options of that format                   */
    int32_t nfields;         /* whose lengths it has                                 */
    char    fields[LEVADA_LENGTH_FIELDS][LEVADA_INDEX_FIELD];
    uint8_t stages[16];      /* hash of the stages that make these fields            */
    uint32_t page;           /* checksum of this page, once it was read              */
} levada_index_foot;

/* A record. */
typedef struct levada_index_entry {
    int32_t shard;  /* number of its file                                            */
    int64_t record; /* its number in that file                                       */
    int64_t offset, length; /* of its frame                                          */
} levada_index_entry;

typedef struct levada_index levada_index;

/* Returns "FILE.lvindex"; NULL: out of memory. Free it with levada_free. */
char *levada_index_path(const char *path);
/* Hashes the options of a format, beyond those of every format. */
LEVADA_MUST_USE levada_status levada_index_sum_options(const levada_op *op, const void *args,
                                                   uint8_t out[16], levada_error *err);
/* Returns the checksum that page `number` must have: no other page can take its place. The last
 * page has that of number 0. */
uint32_t levada_index_sum(const levada_kernels *kernels, const uint8_t page[LEVADA_INDEX_PAGE],
                          int64_t number);
void levada_index_put_foot(const levada_kernels *kernels, const levada_index_foot *foot,
                           uint8_t page[LEVADA_INDEX_PAGE]);
/* Reads the last page. EDATA_LOSS: damaged; EFAILED_PRECONDITION: a newer version. */
LEVADA_MUST_USE levada_status levada_index_get_foot(const levada_kernels *kernels,
                                                    const uint8_t page[LEVADA_INDEX_PAGE],
                                                    levada_index_foot *out, levada_error *err);

/* Returns true if an index of this size has exactly the pages that its records need. */
bool levada_index_fits(int64_t size, const levada_index_foot *foot);

/* Opens the indexes of files. `files`, `op`, `args` and what `plain` refers to are borrowed
 * for the life of the index; `plain` opens files without decompression. EFAILED_PRECONDITION: a
 * file has no index, or one of another format or with other options; EDATA_LOSS: an index is
 * damaged. The error names the index. */
LEVADA_MUST_USE levada_status levada_index_open(levada_env *env, const levada_files *files,
                                                const levada_op *op, const void *args,
                                                const levada_bytes_options *plain,
                                                levada_index **out, levada_error *err);
void levada_index_close(levada_index **index);

/* Returns the number of records of all files. */
int64_t levada_index_count(const levada_index *index);
/* Finds record `number` (from 0 on) of all files. */
LEVADA_MUST_USE levada_status levada_index_find(levada_index *index, int64_t number,
                                                levada_index_entry *out, levada_error *err);
/* Returns the number of a record of a file; that of its first record if `record` is 0. */
int64_t levada_index_number(const levada_index *index, int32_t shard, int64_t record);
/* Finds the file of a record, and its number in that file; `number` must exist. Reads nothing. */
void levada_index_locate(const levada_index *index, int64_t number, int32_t *shard,
                         int64_t *record);
/* Sets *found if the indexes of all files have the lengths of these fields, made by the stages of
 * that hash. A foreign index has those of the format alone, whose hash is `plain`. Not if n exceeds
 * LEVADA_LENGTH_FIELDS. */
LEVADA_MUST_USE levada_status levada_index_select(levada_index *index, const char *const *fields,
                                                  int32_t n, const uint8_t stages[16],
                                                  const uint8_t plain[16], bool *found,
                                                  levada_error *err);
/* Reads the length of the i-th field that was found last, in record `number`. */
LEVADA_MUST_USE levada_status levada_index_length(levada_index *index, int32_t i, int64_t number,
                                                  int64_t *out, levada_error *err);
/* Reads the lengths of the fields that were found last, of consecutive records in the order of the
 * files, all lengths of one record after another. EFAILED_PRECONDITION: a file has changed since it
 * was indexed. Any other status but LEVADA_OK that `each` returns is returned. */
LEVADA_MUST_USE levada_status levada_index_lengths(levada_index *index, levada_lengths_each *each,
                                                   void *user, levada_error *err);
/* Returns EFAILED_PRECONDITION unless the index of a file is still the one that was opened. */
LEVADA_MUST_USE levada_status levada_index_check_again(levada_index *index, int32_t shard,
                                                       levada_error *err);
/* Opens a file; EFAILED_PRECONDITION unless it is the one that was indexed. */
LEVADA_MUST_USE levada_status levada_index_check_file(levada_index *index, int32_t shard,
                                                      levada_error *err);
/* Checks a file that is open in the same way. */
LEVADA_MUST_USE levada_status levada_index_check(const levada_index *index, int32_t shard,
                                                 const levada_bytes *file, levada_error *err);

#endif
