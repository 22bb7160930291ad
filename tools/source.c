/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include "escape.h"
#include "file.h"

#include <stdio.h>
#include <string.h>

bool levada_cli_source_described(const char *word)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz_0123456789");

    return n > 0 && (word[n] == ':' || word[n] == '(') && strncmp(word + n, "://", 3) != 0 &&
           levada_cli_file_size(word) < 0;
}

/* Appends the pattern that finds just this file. URLs have no quotes. */
static void source_literal(levada_cli_buffer *b, const char *path)
{
    bool special = strpbrk(path, "*?[{") != NULL, remote = strstr(path, "://") != NULL;

    for (; *path; path++) {
        if (!remote && strchr("*?[{", *path)) levada_cli_printf(b, "[%c]", *path);
        else levada_cli_printf(b, special && *path == '\\' ? "\\%c" : "%c", *path);
    }
}

/* The source with the options that its word has. */
static levada_status source_parse(levada_env *env, const char *word, const char *path,
                                  const char *encoding, levada_dataset **out, levada_error *err)
{
    levada_cli_buffer text = { 0 }, file = { 0 };
    int               n = (int)strcspn(word, ":");
    levada_status     status;

    source_literal(&file, path);
    levada_cli_printf(&text, "%.*s:", n, word);
    levada_cli_json_text(&text, file.at, file.size);
    levada_cli_buffer_clear(&file);
    levada_cli_printf(&text, ",%s", word + n + 1);
    if (*encoding && !strstr(word, "encoding")) /* the option overrides the mark */
        levada_cli_printf(&text, ",encoding=%s", encoding);
    status = levada_dataset_parse(env, text.at, out, err);
    levada_cli_buffer_clear(&text);
    return status;
}

levada_status levada_cli_source_dataset(levada_env *env, const char *source, const char *path,
                                        levada_value **options, levada_dataset **out,
                                        levada_error *err)
{
    levada_file_kind  kind = LEVADA_FILE_KIND_INIT;
    levada_cli_buffer name = { 0 };
    levada_status     found = levada_inspect_kind(env, path, source, &kind, err);

    if (found == LEVADA_EINVALID_ARGUMENT) kind.encoding[0] = '\0'; /* no format: of no encoding */
    else if (found != LEVADA_OK) return found;
    if (strchr(source, ':')) return source_parse(env, source, path, kind.encoding, out, err);

    source_literal(&name, path);
    levada_value *files = levada_value_list(), *text = levada_value_text(name.at, name.size);
    levada_value *map = options ? *options : levada_value_map();
    levada_status status = LEVADA_OK;

    levada_cli_buffer_clear(&name);
    if (options) *options = NULL;
    if (!files || !text || !map) status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                                      "out of memory");
    if (status == LEVADA_OK) status = levada_value_push(files, &text, err);
    if (status == LEVADA_OK) status = levada_value_set(map, "files", &files, err);
    if (status == LEVADA_OK && kind.encoding[0])
        status = levada_value_set_text(map, "encoding", kind.encoding, err);
    if (status == LEVADA_OK) status = levada_dataset_append(env, source, map, NULL, 0, out, err);
    levada_value_destroy(&text);
    levada_value_destroy(&files);
    levada_value_destroy(&map);
    return status;
}

levada_status levada_cli_source_open(levada_cli_pipe *p, levada_env *env, const char *source,
                                     const char *path, int64_t record_bytes, levada_error *err)
{
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_status       status;

    options.threads = 1;
    options.seed = 0;
    options.max_record_bytes = record_bytes;
    status = source ? levada_cli_source_dataset(env, source, path, NULL, &p->dataset, err)
                    : levada_dataset_parse(env, path, &p->dataset, err);
    if (status == LEVADA_OK) status = levada_iter_open(p->dataset, &options, &p->it, err);
    if (status != LEVADA_OK) levada_dataset_unref(&p->dataset);
    return status;
}

bool levada_cli_source_note(levada_cli_buffer *b, const char *source, const char *content,
                            bool guessed, const char *option)
{
    if (guessed)
        levada_cli_printf(b, "   unknown format, read as %s (set another with %s NAME)", source,
                          option);
    else if (strcmp(content, source) == 0)
        levada_cli_printf(b, "   read as %s, as the checksums in it show (%s NAME chooses another)",
                          source, option);
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
