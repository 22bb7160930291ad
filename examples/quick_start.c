/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/levada.h>
#include <stdio.h>

int main(void)
{
    char            text[512];
    int64_t         tokens = 0, cells = 0;
    levada_error    err = LEVADA_ERROR_INIT;
    levada_dataset *ds = NULL;
    levada_iter    *it = NULL;
    levada_block   *batch = NULL;
    levada_status   st = levada_dataset_parse(
        NULL, "tfrecord:train-*.tfrecord.gz | shuffle:10000,seed=7 | parse_example:@spec.json | "
              "bucket_by_sequence_length:tokens,boundaries=[64,128,256,512],max_tokens=16384 | "
              "prefetch:4", &ds, &err);

    if (st == LEVADA_OK) st = levada_iter_open(ds, NULL, &it, &err);
    while (st == LEVADA_OK && (st = levada_iter_next(it, &batch, &err)) == LEVADA_OK) {
        const levada_column *column = levada_block_column(batch, "tokens"); /* lives with batch */
        cells += levada_column_dim(column, 0) * levada_column_dim(column, 1);
        for (int64_t row = 0; row < column->n; row++) tokens += levada_column_length(column, row);
        levada_block_unref(&batch);
    }
    if (st != LEVADA_END) fprintf(stderr, "%s\n", levada_error_text(&err, text, sizeof text));
    printf("C:      %lld tokens in %lld cells\n", (long long)tokens, (long long)cells);
    levada_iter_close(&it);
    levada_dataset_unref(&ds);
    return st == LEVADA_END ? 0 : 1;
}
