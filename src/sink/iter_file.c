/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of iterators in files.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "files/bytes.h"
#include "run/iter.h"
#include <levada/iter.h>
#include <levada/output.h>

enum { ITER_FILE_STEP = 1 << 16 }; /* of a pipe, read at a time */

levada_status levada_iter_save_file(levada_iter *it, const char *path, levada_error *err)
{
    char         *state = NULL;
    size_t        size = 0;
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_iter_save(it, &state, &size, err));
    st = levada_output_save(path, state, size, err);
    levada_string_free(&state);
    return st;
}

/* Reads all bytes of the file: of a pipe nobody knows how many they are. */
static levada_status iter_file_read(levada_bytes *file, uint8_t **out, int64_t *size,
                                    levada_error *err)
{
    int64_t left = levada_bytes_left(file), capacity = 0, made = 1;

    while (made > 0) {
        int64_t more = *size + (left > 0 ? left + 1 : ITER_FILE_STEP);

        if (!levada_reserve(out, &capacity, more, 1))
            return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
        LEVADA_TRY(levada_bytes_read(file, *out + *size, capacity - *size, &made, err));
        *size += made;
    }
    return LEVADA_OK;
}

levada_status levada_iter_restore_file(levada_iter *it, const char *path, levada_error *err)
{
    const levada_bytes_options options = { .compression = "none" };
    levada_bytes *file = NULL;
    uint8_t      *state = NULL;
    int64_t       size = 0;
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_bytes_open(NULL, path, &options, &file, err));
    st = iter_file_read(file, &state, &size, err);
    if (st == LEVADA_OK) st = levada_iter_restore(it, state, (size_t)size, err);
    if (st != LEVADA_OK) levada_error_place(err, NULL, path, -1, -1);
    levada_free(state);
    levada_bytes_close(&file);
    return st;
}
