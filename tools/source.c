/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include "file.h"

#include <stdio.h>
#include <string.h>

bool levada_cli_source_described(const char *word)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz_0123456789");

    return n > 0 && (word[n] == ':' || word[n] == '(') && strncmp(word + n, "://", 3) != 0 &&
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

bool levada_cli_source_note(levada_cli_buffer *b, const char *source, const char *content,
                            bool guessed, const char *option)
{
    if (guessed)
        levada_cli_printf(b, "   unknown format, read as %s (%s NAME chooses another)", source,
                          option);
    else if (*content)
        levada_cli_printf(b, "   read as %s, but its first bytes look like %s (%s %s reads them)",
                          source, content, option, content);
    return guessed || *content;
}

void levada_cli_source_warn(const char *path, const levada_file_kind *kind, const char *option)
{
    levada_cli_buffer note = { 0 };

    if (levada_cli_source_note(&note, kind->source, kind->content, kind->guessed, option))
        levada_cli_say("%s%.*s", path, (int)note.size, note.at);
    levada_cli_buffer_clear(&note);
}
