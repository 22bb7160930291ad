/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input program of TensorFlow 1.x in C: file names → queue → reader → records. Counts the lines
 * of the files that it is given.
 */
#include <levada/levada.h>
#include <stdio.h>
#include <string.h>

static levada_status add_name(levada_queue *names, const char *path, levada_error *err)
{
    const levada_shape scalar = { 0, { 0 } };
    const int32_t      offsets[] = { 0, (int32_t)strlen(path) };
    levada_tensor     *name = NULL;
    levada_status      st;

    LEVADA_TRY(levada_tensor_create_strings(NULL, &scalar, offsets, path, &name, err));
    st = levada_queue_enqueue(names, &name, LEVADA_FOREVER, err);
    levada_tensor_unref(&name);
    return st;
}

/* 256 lines at a time, as two columns; ends with EOUT_OF_RANGE, the end of the queue. */
static levada_status read_lines(levada_reader *reader, levada_queue *names, levada_error *err)
{
    for (levada_block *block = NULL;; levada_block_unref(&block)) {
        int64_t size = 0;

        LEVADA_TRY(levada_reader_read_up_to(reader, names, 256, LEVADA_FOREVER, &block, err));
        const uint8_t *key = levada_column_bytes(levada_block_column(block, "key"), 0, &size);
        printf("%lld lines from %.*s\n", (long long)levada_block_rows(block), (int)size,
               (const char *)key);
    }
}

int main(int argc, char **argv)
{
    const levada_dtype    dtype = LEVADA_BYTES;
    const levada_shape    scalar = { 0, { 0 } };
    levada_queue_options  what = LEVADA_QUEUE_OPTIONS_INIT;
    levada_reader_options how = LEVADA_READER_OPTIONS_INIT;
    levada_queue         *names = NULL;
    levada_reader        *reader = NULL;
    levada_error          err = LEVADA_ERROR_INIT;
    levada_status         st;

    what.ncomponents = 1;
    what.dtypes = &dtype;
    what.shapes = &scalar;
    how.kind = LEVADA_READER_TEXT_LINE;
    if (levada_queue_create(NULL, &what, &names, &err) != LEVADA_OK) return 1;
    st = levada_reader_create(NULL, &how, &reader, &err);
    for (int i = 1; i < argc && st == LEVADA_OK; i++) st = add_name(names, argv[i], &err);
    if (st == LEVADA_OK) st = levada_queue_close(names, false, LEVADA_FOREVER, &err);
    if (st == LEVADA_OK) st = read_lines(reader, names, &err);
    if (st == LEVADA_EOUT_OF_RANGE) {
        printf("%lld lines in %lld files\n", (long long)levada_reader_num_records_produced(reader),
               (long long)levada_reader_num_work_units_completed(reader));
    } else {
        printf("%s\n", err.message);
    }
    levada_reader_destroy(&reader);
    levada_queue_unref(&names);
    return st == LEVADA_EOUT_OF_RANGE ? 0 : 1;
}
