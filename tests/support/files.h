/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for tests: a folder that goes away, bytes in and out, records in the TFRecord frame, and a
 * file reader without an iterator. Whatever goes wrong fails the test.
 */
#ifndef LEVADA_TESTS_SUPPORT_FILES_H
#define LEVADA_TESTS_SUPPORT_FILES_H

#include "files/file_reader.h"
#include "tensor/block_priv.h"

/* A new folder; its name stays valid until t_folder_drop, which removes what is in it. */
const char *t_folder(void);
void        t_folder_drop(void);
/* The same as fixtures of cmocka, of a test or a group. */
int t_folder_set_up(void **state);
int t_folder_tear_down(void **state);
/* "folder/name"; one of eight slots of the thread in turn. */
const char *t_path(const char *name);

typedef struct t_bytes {
    uint8_t *at;
    size_t   size;
} t_bytes;

void    t_add(t_bytes *bytes, const void *data, size_t size);
void    t_add_record(t_bytes *bytes, const void *data, size_t size);
void    t_clear(t_bytes *bytes);
void    t_write_file(const char *path, const void *data, size_t size);
t_bytes t_read_file(const char *path);
/* False where the build has no encoder for it; NULL is not compression. */
bool t_can(const char *filter);
/* False where the build has no library of that name, as levada_config_describe lists them. */
bool t_has(const char *library);
/* The same bytes through the encoder of a filter; `flush_at` > 0 flushes after that number of
 * bytes. */
t_bytes t_encode(const char *filter, const void *data, size_t size, size_t flush_at);

/* A reader of one format. Fill in what is wanted, open, close. */
typedef struct t_reader {
    const char *format, *compression, *errors;
    const char *paths[8];
    bool        shuffle;
    bool        unverified;
    bool        drop_partial;
    int64_t     skip_lines, max_record_bytes;
    int64_t     record_bytes, header_bytes, footer_bytes, hop_bytes;
    uint64_t    seed;
    int32_t     block_rows, threads; /* 0: 256 rows, one thread */
    /* -- set by t_open */
    levada_env         *env;
    levada_context      context;
    void               *args;
    levada_file_reader *reader;
    levada_error        err;
} t_reader;

levada_status t_open(t_reader *t);
void          t_close(t_reader *t);
/* Reads to the end or an error; each record is added to `text` as "record@offset ". */
levada_status t_drain(t_reader *t, t_bytes *text);
/* The rows of a block in the same form. */
void t_rows(const levada_block *block, t_bytes *text);
/* Opens, drains, compares, closes. */
void t_expect(t_reader *t, const char *rows, levada_status status);

#endif
