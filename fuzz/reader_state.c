/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of readers: what is taken is written again as it means, and what is refused leaves the
 * reader as it was.
 */
#include <levada/reader.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Work started and finished 3, produced 3, current "name". */
static const uint8_t state_before[] = {0x08, 3, 0x10, 3, 0x18, 3, 0x22, 4, 'n', 'a', 'm', 'e'};

static void stop(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

static void must(levada_status st, const levada_error *err)
{
    if (st == LEVADA_OK) return;
    fprintf(stderr, "%s\n", err->message);
    abort();
}

static void writes(levada_reader *reader, const void *wanted, size_t size)
{
    levada_error err = LEVADA_ERROR_INIT;
    char        *bytes = NULL;
    size_t       n = 0;

    must(levada_reader_serialize_state(reader, &bytes, &n, &err), &err);
    if (n != size || memcmp(bytes, wanted, n) != 0) stop("another state");
    levada_string_free(&bytes);
}

/* Numbers may have been longer than they need to be: what is written is as short as can be. */
static void is_read_back(levada_reader *reader, size_t size)
{
    levada_error err = LEVADA_ERROR_INIT;
    int64_t      produced = levada_reader_num_records_produced(reader);
    int64_t      finished = levada_reader_num_work_units_completed(reader);
    char        *bytes = NULL;
    size_t       n = 0;

    must(levada_reader_serialize_state(reader, &bytes, &n, &err), &err);
    if (n > size) stop("a longer state");
    levada_reader_reset(reader);
    must(levada_reader_restore_state(reader, bytes, n, &err), &err);
    if (produced != levada_reader_num_records_produced(reader)) stop("other records");
    if (finished != levada_reader_num_work_units_completed(reader)) stop("other files");
    writes(reader, bytes, n);
    levada_string_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    levada_reader_options options = LEVADA_READER_OPTIONS_INIT;
    levada_error          err = LEVADA_ERROR_INIT;
    levada_reader        *reader = NULL;

    options.kind = LEVADA_READER_IDENTITY;
    must(levada_reader_create(NULL, &options, &reader, &err), &err);
    must(levada_reader_restore_state(reader, state_before, sizeof state_before, &err), &err);
    if (levada_reader_restore_state(reader, data, size, &err) == LEVADA_OK) {
        is_read_back(reader, size);
    } else {
        if (err.code != LEVADA_EINVALID_ARGUMENT) must(err.code, &err);
        writes(reader, state_before, sizeof state_before);
    }
    levada_reader_destroy(&reader);
    return 0;
}
