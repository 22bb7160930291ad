/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines, read by a table of options.
 *
 *     static const levada_cli_option options[] = {
 *         { "json", 0, NULL, "one JSON line a batch" },
 *         { "limit", 'n', "N", "stop after N batches" },
 *         LEVADA_CLI_OPTION_END
 *     };
 *
 * --name value, --name=value and the letter are understood anywhere before "--". A value called "N"
 * must be a whole number that is not negative, and one called "BYTES" a limit of records. The help
 * is printed from the same table.
 */
#ifndef LEVADA_TOOLS_ARGS_H
#define LEVADA_TOOLS_ARGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct levada_cli_option {
    const char *name;
    char        letter; /* 0 = none                                     */
    const char *value;  /* what it takes, as the help writes it; NULL = nothing */
    const char *doc;
} levada_cli_option;

#define LEVADA_CLI_OPTION_END   \
    {                           \
        NULL, 0, NULL, NULL     \
    }

#define LEVADA_CLI_MAX_OPTIONS  18
#define LEVADA_CLI_RECORD_BYTES (1 << 30) /* the longest record that levada reads */

typedef struct levada_cli_args {
    const levada_cli_option *options;
    const char              *values[LEVADA_CLI_MAX_OPTIONS]; /* "" for a flag; NULL = not given */
    char                   **words; /* the other arguments, in their order */
    int                      nwords;
    bool                     help; /* --help or -h was among them         */
    char                     message[256]; /* what is wrong                        */
} levada_cli_args;

/* Reads argv[0..argc), which it puts in another order. False: `message` says why. */
bool levada_cli_args_read(levada_cli_args *args, const levada_cli_option *options, int argc,
                          char **argv);

bool        levada_cli_flag(const levada_cli_args *args, const char *name);
const char *levada_cli_value(const levada_cli_args *args, const char *name); /* NULL = not given */
int64_t     levada_cli_number(const levada_cli_args *args, const char *name, int64_t otherwise);

/* Returns true if the text is a whole number that is not negative. */
bool levada_cli_whole(const char *text, int64_t *out);

/* Returns the name nearest to `text` of those that next(user, i) returns until NULL; NULL = none is
 * near. */
const char *levada_cli_nearest(const char *text, const char *(*next)(const void *user, int i),
                               const void *user);

#endif
