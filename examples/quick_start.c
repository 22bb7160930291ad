/* SPDX-License-Identifier: Apache-2.0 */
/* The same batches as in quick_start.py, from C: run it beside corpus.tfrecord.gz. */
#include <levada/levada.h>
#include <stdio.h>

int main(void)
{
    static const char text[] =
        "tfrecord:corpus.tfrecord.gz | shuffle:4096"
        " | parse_sequence_example:sequence={tokens:{kind:FixedLenSequence,shape:[],dtype:int64}}"
        " | bucket_by_sequence_length:tokens,boundaries=[128,256,512,1024,2048],max_tokens=131072"
        " | prefetch:4";
    char            message[512];
    levada_error    err = LEVADA_ERROR_INIT;
    levada_dataset *ds = NULL;
    levada_iter    *it = NULL;
    levada_block   *batch = NULL;
    int64_t         batches = 0, tokens = 0, cells = 0;
    levada_status   st = levada_dataset_parse(NULL, text, &ds, &err);

    if (st == LEVADA_OK) st = levada_iter_open(ds, NULL, &it, &err);
    while (st == LEVADA_OK && (st = levada_iter_next(it, &batch, &err)) == LEVADA_OK) {
        const levada_column *column = levada_block_column(batch, "tokens"); /* as long as batch */

        cells += levada_column_dim(column, 0) * levada_column_dim(column, 1);
        for (int64_t row = 0; row < column->n; row++) tokens += levada_column_length(column, row);
        batches++;
        levada_block_unref(&batch);
    }
    if (st == LEVADA_END)
        printf("C:      %lld batches, %lld tokens, %.1f %% padding\n", (long long)batches,
               (long long)tokens, 100.0 * (double)(cells - tokens) / (double)cells);
    else
        fprintf(stderr, "%s\n", levada_error_text(&err, message, sizeof message));
    levada_iter_close(&it);
    levada_dataset_unref(&ds);
    return st == LEVADA_END ? 0 : 1;
}
