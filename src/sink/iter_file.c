/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of iterators in files.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "base/process.h"
#include "files/bytes.h"
#include "run/handle.h"
#include <levada/iter.h>
#include <levada/output.h>

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

levada_status levada_iter_restore_file(levada_iter *it, const char *path, levada_error *err)
{
    const levada_bytes_options options = { .compression = "none" };
    levada_bytes *file = NULL;
    uint8_t      *state;
    int64_t       size, made = 0;
    levada_status st;

    LEVADA_TRY(LEVADA_USABLE(it, "iterator", err));
    LEVADA_TRY(levada_require(path != NULL, "path", err));
    LEVADA_TRY(levada_bytes_open(NULL, path, &options, &file, err));
    size = levada_bytes_left(file);
    state = levada_alloc((size_t)size + 1);
    st = state ? levada_bytes_read(file, state, size, &made, err)
               : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a checkpoint");
    if (st == LEVADA_OK) st = levada_iter_restore(it, state, (size_t)made, err);
    if (st != LEVADA_OK) levada_error_place(err, NULL, path, -1, -1);
    levada_free(state);
    levada_bytes_close(&file);
    return st;
}
