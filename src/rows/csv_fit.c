/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/csv_fit.h"

#include "base/alloc.h"
#include "files/glob.h"
#include "registry/env_priv.h"
#include "rows/csv_header.h"
#include "run/run.h"
#include "tensor/block_priv.h"
#include "tensor/pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIT_FILES = 1024, FIT_MESSAGE = 320 };

/* What is known of a file. */
struct levada_csv_fit_file {
    bool     known;
    int32_t  source, pass, shard;
    int32_t *map;   /* number of the field of each column, -1 = it has none; NULL = in order */
    int64_t  width; /* fields of a row */
    char    *wrong; /* with the header; NULL = nothing */
};

static levada_status fit_short(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for the columns of a file");
}

levada_status levada_csv_fit_open(levada_csv_fit *fit, const levada_csv_args *args,
                                  const levada_file_args *source, const levada_context *context,
                                  levada_csv_heading heading, levada_error *err)
{
    *fit = (levada_csv_fit){ .args = args, .source = source, .context = context,
                             .heading = heading };
    if (!args->header || !levada_csv_is_named(args)) return LEVADA_OK;
    fit->files = levada_alloc_zero(FIT_FILES * sizeof *fit->files);
    return fit->files ? LEVADA_OK : fit_short(err);
}

static void fit_forget(levada_csv_fit_file *file)
{
    levada_free(file->map);
    levada_free(file->wrong);
    *file = (levada_csv_fit_file){ 0 };
}

void levada_csv_fit_close(levada_csv_fit *fit)
{
    for (int i = 0; fit->files && i < FIT_FILES; i++) fit_forget(&fit->files[i]);
    levada_free(fit->files);
    levada_buffer_unref(&fit->text);
    levada_free(fit->data);
    levada_free(fit->size);
    levada_free(fit->wrong);
    levada_free(fit->refused);
    levada_free(fit->messages);
    levada_free(fit->fields);
    *fit = (levada_csv_fit){ 0 };
}

/* -- files */

/* Copies the path of the file that a row is of. */
static levada_status fit_path(const levada_csv_fit *fit, const levada_origin *of, char **out,
                              levada_error *err)
{
    levada_run   *run = fit->context->run;
    levada_files  found = { 0 };
    const char   *path = run ? levada_run_file(run, of->source, of->shard) : NULL;
    levada_status st = LEVADA_OK;

    *out = NULL;
    if (run && !path) st = levada_file_names_copy(&run->names, of, out, err);
    if (!run) /* verify: one file */
        st = levada_files_find(fit->context->env, &fit->source->files, &found, err);
    if (!run && st == LEVADA_OK && of->shard < found.n) path = found.path[of->shard];
    if (path) {
        *out = levada_alloc(strlen(path) + 1);
        if (*out) memcpy(*out, path, strlen(path) + 1);
        else st = fit_short(err);
    } else if (st == LEVADA_OK && !*out) {
        st = levada_fail(err, LEVADA_EINTERNAL,
                         "internal error: the name of the file of a row is not known; please "
                         "report it");
    }
    levada_files_clear(&found);
    return st;
}

/* Reads the header of a file, and maps its columns, or keeps what is wrong with it. */
static levada_status fit_learn(const levada_csv_fit *fit, const char *path,
                               levada_csv_fit_file *file, levada_error *err)
{
    levada_value *names = NULL;
    levada_error  why = LEVADA_ERROR_INIT;
    int64_t       n = levada_value_count(fit->args->record_defaults);
    bool          in_order = false;
    levada_status st;

    file->map = levada_alloc((size_t)n * sizeof *file->map);
    if (!file->map) return fit_short(err);
    st = fit->heading(fit->args, fit->context, path, fit->source, &names, &why);
    file->width = levada_value_count(names);
    if (st == LEVADA_OK) st = levada_csv_header_map(fit->args, names, file->map, &in_order, &why);
    levada_value_destroy(&names);
    if (st == LEVADA_EINVALID_ARGUMENT || st == LEVADA_EDATA_LOSS) {
        file->wrong = levada_alloc(strlen(why.message) + 1);
        if (!file->wrong) return fit_short(err);
        memcpy(file->wrong, why.message, strlen(why.message) + 1);
        st = LEVADA_OK;
    }
    if (st != LEVADA_OK && err) *err = why;
    if (in_order) {
        levada_free(file->map);
        file->map = NULL;
    }
    return st;
}

static levada_status fit_find(const levada_csv_fit *fit, const levada_origin *of,
                              const levada_csv_fit_file **out, levada_error *err)
{
    levada_csv_fit_file *file = &fit->files[(uint32_t)(of->shard + of->source) % FIT_FILES];
    char                *path = NULL;
    levada_status        st = LEVADA_OK;

    if (!file->known || file->shard != of->shard || file->source != of->source ||
        file->pass != of->pass) {
        fit_forget(file);
        st = fit_path(fit, of, &path, err);
        if (st == LEVADA_OK) st = fit_learn(fit, path, file, err);
        levada_free(path);
        file->source = of->source;
        file->pass = of->pass;
        file->shard = of->shard;
        file->known = st == LEVADA_OK;
    }
    *out = file;
    return st;
}

/* -- rows */

LEVADA_PRINTF(4, 5)
static levada_status fit_refuse(levada_csv_fit *fit, int64_t row, levada_error *err,
                                const char *format, ...)
{
    va_list list;
    int     n;

    if (!levada_reserve(&fit->messages, &fit->messages_capacity, fit->messages_used + FIT_MESSAGE,
                        1))
        return fit_short(err);
    va_start(list, format);
    n = vsnprintf(fit->messages + fit->messages_used, FIT_MESSAGE, format, list);
    va_end(list);
    fit->wrong[row] = fit->messages_used + 1;
    fit->messages_used += (n < FIT_MESSAGE ? n : FIT_MESSAGE - 1) + 1;
    return LEVADA_OK;
}

static uint8_t *fit_put(uint8_t *to, const void *bytes, int32_t n)
{
    if (n > 0) memcpy(to, bytes, (size_t)n);
    return to + n;
}

/* Reorders the fields of a row in the order of the columns, with the quotes that they have. */
static uint8_t *fit_reorder(const levada_csv_fit *fit, const levada_csv_fit_file *file,
                            const uint8_t *row, uint8_t *to)
{
    levada_csv_rules rules = levada_csv_rules_of(fit->args);
    int64_t          n = levada_value_count(fit->args->record_defaults);

    for (int64_t i = 0; i < n; i++) {
        const levada_csv_field *f = file->map[i] < 0 ? NULL : &fit->fields[file->map[i]];
        bool quoted = f && rules.quotes && f->at > row && f->at[-1] == rules.quote;

        if (i > 0) *to++ = rules.delim;
        if (f) to = fit_put(to, f->at - quoted, f->size + 2 * quoted);
    }
    return to;
}

/* Splits a row of a file. False: it is bad. */
static levada_status fit_split(levada_csv_fit *fit, const levada_csv_fit_file *file,
                               const levada_strings *in, int64_t row, levada_error *err)
{
    levada_csv_rules rules = levada_csv_rules_of(fit->args);
    int64_t          n = 0;
    int32_t          at = 0;
    const char      *wrong;

    if (file->wrong) return fit_refuse(fit, row, err, "%s", file->wrong);
    if (!levada_reserve(&fit->fields, &fit->fields_capacity, file->width, sizeof *fit->fields))
        return fit_short(err);
    wrong = levada_csv_split(&rules, in->data[row], in->size[row], fit->fields, file->width, &n,
                             &at);
    if (wrong)
        return fit_refuse(fit, row, err, "%s (field %lld, byte %d of the row)", wrong, (long long)n,
                          at);
    if (n > file->width)
        return fit_refuse(fit, row, err, "Expect %lld fields but have more in record",
                          (long long)file->width);
    if (n < file->width)
        return fit_refuse(fit, row, err, "Expect %lld fields but have %lld in record",
                          (long long)file->width, (long long)n);
    return LEVADA_OK;
}

/* Writes a row; a bad one has empty fields. */
static levada_status fit_row(levada_csv_fit *fit, const levada_csv_fit_file *file,
                             const levada_strings *in, int64_t row, uint8_t **to,
                             levada_error *err)
{
    int64_t n = levada_value_count(fit->args->record_defaults);

    fit->data[row] = *to;
    fit->wrong[row] = 0;
    if (!file->map) {
        *to = fit_put(*to, in->data[row], in->size[row]);
    } else {
        LEVADA_TRY(fit_split(fit, file, in, row, err));
        if (fit->wrong[row] > 0) memset(*to, fit->args->field_delim[0], (size_t)n - 1);
        *to = fit->wrong[row] > 0 ? *to + n - 1 : fit_reorder(fit, file, in->data[row], *to);
    }
    fit->size[row] = (int32_t)(*to - fit->data[row]);
    *(*to)++ = '\n';
    return LEVADA_OK;
}

static levada_origin fit_origin(const levada_strings *in, int64_t row)
{
    return in->block ? levada_block_origin(in->block, row) : (levada_origin){ 0 };
}

/* Returns true if the rows are of one file, as most blocks are. */
static bool fit_is_one(const levada_block *block)
{
    return !block || (block->kind == LEVADA_BLOCK_DATA && !block->origins.each);
}

/* Sets *moved if some row has to be rewritten. */
static levada_status fit_look(levada_csv_fit *fit, const levada_strings *in, bool *moved,
                              levada_error *err)
{
    const levada_csv_fit_file *file = NULL;
    levada_origin              last = { 0 };
    int64_t                    n = in->n > 0 && fit_is_one(in->block) ? 1 : in->n;

    *moved = false;
    for (int64_t row = 0; row < n && !*moved; row++) {
        levada_origin of = fit_origin(in, row);

        if (!file || of.shard != last.shard || of.source != last.source || of.pass != last.pass)
            LEVADA_TRY(fit_find(fit, &of, &file, err));
        last = of;
        *moved = file->map != NULL;
    }
    return LEVADA_OK;
}

static levada_status fit_reserve(levada_csv_fit *fit, const levada_strings *in, levada_error *err)
{
    int64_t columns = levada_value_count(fit->args->record_defaults), bytes = in->n * columns;

    for (int64_t row = 0; row < in->n; row++) bytes += in->size[row] + 1;
    levada_buffer_unref(&fit->text);
    if (!levada_reserve(&fit->data, &fit->data_capacity, in->n, sizeof *fit->data) ||
        !levada_reserve(&fit->size, &fit->size_capacity, in->n, sizeof *fit->size) ||
        !levada_reserve(&fit->wrong, &fit->wrong_capacity, in->n, sizeof *fit->wrong) ||
        !levada_reserve(&fit->refused, &fit->refused_capacity, in->n, sizeof *fit->refused))
        return fit_short(err);
    fit->messages_used = 0;
    return levada_buffer_create(levada_env_pool(fit->context->env), bytes, &fit->text, err);
}

levada_status levada_csv_fit_rows(levada_csv_fit *fit, const levada_strings *in,
                                  levada_strings *out, const char *const **refused,
                                  levada_error *err)
{
    uint8_t *to;
    bool     moved = false;

    *out = *in;
    *refused = NULL;
    if (!fit->files) return LEVADA_OK;
    LEVADA_TRY(fit_look(fit, in, &moved, err));
    if (!moved) return LEVADA_OK;
    LEVADA_TRY(fit_reserve(fit, in, err));
    to = fit->text->data;
    for (int64_t row = 0; row < in->n; row++) {
        const levada_csv_fit_file *file;
        levada_origin              of = fit_origin(in, row);

        LEVADA_TRY(fit_find(fit, &of, &file, err));
        LEVADA_TRY(fit_row(fit, file, in, row, &to, err));
    }
    for (int64_t row = 0; row < in->n; row++)
        fit->refused[row] = fit->wrong[row] > 0 ? fit->messages + fit->wrong[row] - 1 : NULL;
    *out = (levada_strings){ fit->data, fit->size, in->n, fit->text, in->block };
    *refused = fit->refused;
    return LEVADA_OK;
}
