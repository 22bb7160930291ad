/* SPDX-License-Identifier: Apache-2.0 */
#include "args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_LONGEST = 40 }; /* longer words are near to nothing */

static int args_min(int a, int b) { return a < b ? a : b; }

/* Edits between two words (Levenshtein, with neighbors that changed places as one edit). */
static int args_distance(const char *a, const char *b)
{
    int rows[3][ARGS_LONGEST + 1];
    int n = (int)strlen(a), m = (int)strlen(b);

    if (n > ARGS_LONGEST || m > ARGS_LONGEST) return ARGS_LONGEST;
    for (int j = 0; j <= m; j++) rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

        row[0] = i;
        for (int j = 1; j <= m; j++) {
            bool same = a[i - 1] == b[j - 1];
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];

            row[j] = args_min(above[j - 1] + !same, 1 + args_min(above[j], row[j - 1]));
            if (swapped) row[j] = args_min(row[j], before[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

const char *levada_cli_nearest(const char *text, const char *(*next)(const void *user, int i),
                               const void *user)
{
    const char *best = NULL;
    int         least = 1 + (int)strlen(text) / 3;
    const char *name;

    for (int i = 0; (name = next(user, i)) != NULL; i++) {
        int  edits = args_distance(text, name);
        bool begins = strlen(text) >= 2 && strncmp(text, name, strlen(text)) == 0;

        if (begins) edits = 1;
        if (edits > least || (best && edits == least)) continue;
        least = edits;
        best = name;
    }
    return best;
}

bool levada_cli_whole(const char *text, int64_t *out)
{
    char *end = NULL;

    errno = 0;
    *out = strtoll(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static const char *args_option_name(const void *user, int i)
{
    const levada_cli_option *options = user;
    return options[i].name;
}

/* Returns the index of the option that `word` (without dashes, up to n bytes) names, or -1. */
static int args_find(const levada_cli_args *args, const char *word, size_t n)
{
    for (int i = 0; args->options[i].name; i++) {
        const levada_cli_option *option = &args->options[i];
        bool letter = n == 1 && word[0] == option->letter;

        if (letter || (strlen(option->name) == n && memcmp(option->name, word, n) == 0)) return i;
    }
    return -1;
}

static bool args_unknown(levada_cli_args *args, const char *word, const char *name)
{
    const char *near = levada_cli_nearest(name, args_option_name, args->options);

    if (near)
        snprintf(args->message, sizeof args->message, "unknown option %s; did you mean --%s?", word,
                 near);
    else
        snprintf(args->message, sizeof args->message, "unknown option %s", word);
    return false;
}

static bool args_set(levada_cli_args *args, int i, const char *value)
{
    const levada_cli_option *option = &args->options[i];
    int64_t                  number;

    args->values[i] = value;
    if (option->value && strcmp(option->value, "BYTES") == 0) {
        if (levada_cli_whole(value, &number) && number >= 1 && number <= LEVADA_CLI_RECORD_BYTES)
            return true;
        snprintf(args->message, sizeof args->message, "--%s must be from 1 to %d, got '%s'",
                 option->name, LEVADA_CLI_RECORD_BYTES, value);
        return false;
    }
    if (!option->value || strcmp(option->value, "N") != 0) return true;
    if (levada_cli_whole(value, &number)) return true;
    snprintf(args->message, sizeof args->message, "--%s must be an integer, got '%s'",
             option->name, value);
    return false;
}

/* One option at argv[*i]; moves *i past its value. */
static bool args_option(levada_cli_args *args, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    const char *name = word + (word[1] == '-' ? 2 : 1);
    const char *equals = strchr(name, '=');
    size_t      n = equals ? (size_t)(equals - name) : strlen(name);
    int         found;

    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return args->help = true;
    found = args_find(args, name, n);
    if (found < 0 && word[1] != '-' && n > 1) { /* -n1 */
        found = args_find(args, name, 1);
        if (found >= 0 && args->options[found].value) return args_set(args, found, name + 1);
        found = -1;
    }
    /* A letter takes one dash, a name two. */
    if (found < 0 || (n == 1) != (word[1] != '-')) return args_unknown(args, word, name);
    if (!args->options[found].value && equals) {
        snprintf(args->message, sizeof args->message, "--%s does not take a value",
                 args->options[found].name);
        return false;
    }
    if (!args->options[found].value) return args_set(args, found, "");
    if (equals) return args_set(args, found, equals + 1);
    if (*i + 1 >= argc) {
        snprintf(args->message, sizeof args->message, "--%s needs a value (%s)",
                 args->options[found].name, args->options[found].value);
        return false;
    }
    *i += 1;
    return args_set(args, found, argv[*i]);
}

bool levada_cli_args_read(levada_cli_args *args, const levada_cli_option *options, int argc,
                          char **argv)
{
    *args = (levada_cli_args){ .options = options, .words = argv };
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            for (i++; i < argc; i++) argv[args->nwords++] = argv[i];
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            if (!args_option(args, argc, argv, &i)) return false;
        } else {
            argv[args->nwords++] = argv[i];
        }
    }
    return true;
}

const char *levada_cli_value(const levada_cli_args *args, const char *name)
{
    int i = args_find(args, name, strlen(name));
    return i < 0 ? NULL : args->values[i];
}

bool levada_cli_flag(const levada_cli_args *args, const char *name)
{
    return levada_cli_value(args, name) != NULL;
}

int64_t levada_cli_number(const levada_cli_args *args, const char *name, int64_t otherwise)
{
    const char *value = levada_cli_value(args, name);
    int64_t     number;

    return value && levada_cli_whole(value, &number) ? number : otherwise;
}
