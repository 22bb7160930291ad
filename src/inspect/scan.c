/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect/scan.h"

#include "core/bytes.h"

#include <stdio.h>
#include <string.h>

#define SCAN_HEAD 4096
#define SCAN_BLOCK 1024

/* The format that knows these first bytes best; NULL where none does. */
static const levada_op *scan_best(const levada_env *env, const uint8_t *head, int64_t size)
{
    const levada_op *best = NULL;
    int32_t          most = 0;

    for (int32_t i = 0;; i++) {
        const levada_op *op = levada_registry_at(env, i);
        int32_t          bits;

        if (!op) return best;
        if (op->family != LEVADA_FAMILY_FORMAT || !op->def.format.probe) continue;
        bits = op->def.format.probe(head, size);
        if (bits > most) {
            most = bits;
            best = op;
        }
    }
}

/* Opens the file, reads its first bytes, and closes it. Damage in them is none of ours. */
static levada_status scan_head(levada_env *env, const char *path,
                               const levada_bytes_options *options, uint8_t *head, int64_t *made,
                               levada_bytes_mark *mark, char *compression, levada_error *err)
{
    levada_bytes *bytes = NULL;

    LEVADA_TRY(levada_bytes_open(env, path, options, &bytes, err));
    if (levada_bytes_read(bytes, head, SCAN_HEAD, made, NULL) != LEVADA_OK) *made = 0;
    *mark = levada_bytes_mark_of(bytes);
    (void)snprintf(compression, sizeof((levada_scan *)0)->compression, "%s",
                   levada_bytes_compression(bytes));
    levada_bytes_close(&bytes);
    return LEVADA_OK;
}

/* The format's name, by content. Where the first bytes are damaged, records are looked for. */
static levada_status scan_identify(levada_scan *scan, levada_env *env, const char *path,
                                   const char *compression, const char **name, levada_error *err)
{
    levada_bytes_options options = {.compression = "none"};
    levada_bytes_mark    mark;
    uint8_t              head[SCAN_HEAD];
    int64_t              made = 0;
    const levada_op     *op;

    LEVADA_TRY(scan_head(env, path, &options, head, &made, &mark, scan->compression, err));
    op = scan_best(env, head, made);
    options.compression = compression;
    options.probe = op ? op->def.format.probe : NULL;
    LEVADA_TRY(scan_head(env, path, &options, head, &made, &mark, scan->compression, err));
    scan->size = mark.size;
    op = scan_best(env, head, made);
    *name = op ? op->name : "tfrecord";
    return LEVADA_OK;
}

static levada_status scan_describe(levada_scan *scan, levada_env *env, const char *path,
                                   const char *name, levada_error *err)
{
    const char   *compression = scan->compression[0] ? scan->compression : "none";
    levada_value *map = levada_value_map();
    levada_value *file = levada_value_text(path, strlen(path));
    levada_value *how = levada_value_text(compression, strlen(compression));
    levada_status st;

    st = map && file && how ? levada_value_set(map, "files", &file, err)
                            : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory");
    if (st == LEVADA_OK) st = levada_value_set(map, "compression", &how, err);
    if (st == LEVADA_OK) st = levada_dataset_append(env, name, map, NULL, 0, &scan->dataset, err);
    levada_value_destroy(&how);
    levada_value_destroy(&file);
    levada_value_destroy(&map);
    return st;
}

levada_status levada_scan_open(levada_scan *scan, levada_env *env, const char *path,
                               const char *compression, levada_error *err)
{
    const char   *name = NULL;
    levada_status st;

    *scan = (levada_scan){0};
    LEVADA_TRY(scan_identify(scan, env, path, compression, &name, err));
    LEVADA_TRY(scan_describe(scan, env, path, name, err));
    scan->context = (levada_context){
        .struct_size = sizeof scan->context,
        .env = scan->dataset->env,
        .block_rows = SCAN_BLOCK,
        .threads = 1,
        .max_record_bytes = INT64_C(1) << 30,
        .out = scan->dataset->spec,
    };
    st = levada_file_reader_create(&scan->context, scan->dataset->op, scan->dataset->args, 0,
                                   &scan->reader, err);
    if (st != LEVADA_OK) levada_scan_close(scan);
    return st;
}

void levada_scan_close(levada_scan *scan)
{
    levada_file_reader_destroy(&scan->reader);
    levada_dataset_unref(&scan->dataset);
}

levada_status levada_scan_next(levada_scan *scan, levada_block **out, int64_t *next,
                               levada_error *err)
{
    levada_status st = levada_file_reader_next(scan->reader, out, err);

    if (st != LEVADA_EDATA_LOSS) return st;
    LEVADA_TRY(levada_file_reader_pass(scan->reader, next, NULL));
    return st;
}
