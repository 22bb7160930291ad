/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include "file.h"

#include <string.h>

/* Ends of names, without ".gz" and the like. */
static const char *const source_ends[][2] = {
    { ".tfrecord", "tfrecord" },  { ".tfrecords", "tfrecord" }, { ".tfrec", "tfrecord" },
    { ".txt", "text_lines" },     { ".csv", "text_lines" },     { ".tsv", "text_lines" },
    { ".jsonl", "text_lines" },   { ".json", "text_lines" },    { ".ndjson", "text_lines" },
    { ".log", "text_lines" },     { ".py", "text_lines" },      { ".c", "text_lines" },
    { ".md", "text_lines" },      { ".tar", "tar" },            { ".tgz", "tar" },
    { NULL, NULL },
};

static const char *const source_packed[] = { ".gz", ".zst", ".zz", ".lz4", NULL };

/* Bytes of the path without the end that a compression gave it. */
static size_t source_plain(const char *path)
{
    for (int i = 0; source_packed[i]; i++)
        if (levada_cli_file_ends(path, source_packed[i]))
            return strlen(path) - strlen(source_packed[i]);
    return strlen(path);
}

bool levada_cli_source_described(const char *word)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz_0123456789");

    return n > 0 && word[n] == ':' && strncmp(word + n, "://", 3) != 0 &&
           levada_cli_file_size(word) < 0;
}

/* {"files": [path]} */
static levada_status source_options(const char *path, levada_value **out, levada_error *err)
{
    levada_value *files = levada_value_list(), *text = levada_value_text(path, strlen(path));
    levada_status status = LEVADA_ERESOURCE_EXHAUSTED;

    *out = levada_value_map();
    if (!files || !text || !*out) levada_fail(err, status, "no memory");
    else status = levada_value_push(files, &text, err);
    if (status == LEVADA_OK) status = levada_value_set(*out, "files", &files, err);
    levada_value_destroy(&text);
    levada_value_destroy(&files);
    if (status != LEVADA_OK) levada_value_destroy(out);
    return status;
}

levada_status levada_cli_source_open(levada_cli_pipe *p, levada_env *env, const char *source,
                                     const char *path, const char *errors, levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_value       *values = NULL;
    levada_status       status = source ? source_options(path, &values, err)
                                        : levada_dataset_parse(env, path, &p->dataset, err);

    options.threads = 1;
    options.seed = 0;
    options.errors = errors;
    if (status == LEVADA_OK && source)
        status = levada_dataset_append(env, source, values, NULL, 0, &p->dataset, err);
    if (status == LEVADA_OK) status = levada_iter_open(p->dataset, &options, &p->it, err);
    if (status != LEVADA_OK) levada_dataset_unref(&p->dataset);
    levada_value_destroy(&values);
    return status;
}

/* True when the file begins with a good record of that kind. */
static bool source_begins(levada_env *env, const char *source, const char *path)
{
    levada_cli_pipe p = { 0 };
    levada_block   *block = NULL;
    bool            good = false;

    if (levada_cli_source_open(&p, env, source, path, NULL, NULL) == LEVADA_OK)
        good = levada_cli_pipe_next(&p, &block, NULL) == LEVADA_OK;
    levada_block_unref(&block);
    levada_cli_pipe_close(&p);
    return good;
}

const char *levada_cli_source_guess(levada_env *env, const char *path)
{
    size_t n = source_plain(path);

    for (int i = 0; source_ends[i][0]; i++) {
        size_t m = strlen(source_ends[i][0]);
        if (n >= m && memcmp(path + n - m, source_ends[i][0], m) == 0) return source_ends[i][1];
    }
    /* Every record of a TFRecord has a checksum: text does not look like one by accident. */
    return source_begins(env, "tfrecord", path) || levada_cli_file_size(path) <= 0 ? "tfrecord"
                                                                                   : "text_lines";
}
