/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables: the options of a stage, declared once.
 *
 * The table defines the parser, the `--help` text, the Python signature and type stub, the
 * reference page, the text and JSON of datasets and the fuzz dictionary. The parser stores the
 * values in a struct of the stage ("args"), which is valid and constant as long as the dataset
 * exists; its pointers are borrowed from the dataset. Null selects the default.
 *
 * Example:
 *
 *     typedef struct take_args {
 *         int64_t count;
 *     } take_args;
 *
 *     static const levada_arg take_options[] = {
 *         LEVADA_ARG(INT, take_args, count, .required = true, .positional = true, .min = 0,
 *                    .max = INT64_MAX, .doc = "number of records to emit"),
 *         LEVADA_ARG_END
 *     };
 */
#ifndef LEVADA_OPTION_H
#define LEVADA_OPTION_H

#include <levada/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Type of the option and of the member that it fills. */
typedef enum levada_arg_type {
    LEVADA_ARG_NONE,
    LEVADA_ARG_INT,      /* int64_t; null = LEVADA_NULL_INT if optional                        */
    LEVADA_ARG_SIZE,     /* int64_t; bytes, also written as 4K, 4M, 4G                         */
    LEVADA_ARG_FLOAT,    /* double; null = NaN                                                 */
    LEVADA_ARG_BOOL,     /* bool                                                               */
    LEVADA_ARG_TEXT,     /* const char *; null = NULL                                          */
    LEVADA_ARG_CHOICE,   /* int64_t; index in `choices` ("fail|skip")                          */
    LEVADA_ARG_DTYPE,    /* levada_dtype; null = LEVADA_NONE                                   */
    LEVADA_ARG_INTS,     /* levada_ints; a single value is a list of one; null = {NULL, 0}     */
    LEVADA_ARG_TEXTS,    /* levada_texts; a single value is a list of one                      */
    LEVADA_ARG_VALUE,    /* const levada_value *: any shape, checked by the stage; null = NULL */
    LEVADA_ARG_FUNCTION, /* const levada_function *                                            */
    LEVADA_ARG_BLOCK,    /* const levada_block *: data in memory                               */
    LEVADA_ARG_PIPE,     /* const levada_dataset *: a sub-pipeline in parentheses              */
    LEVADA_ARG_FLOATS    /* levada_floats; a single value is a list of one; null = {NULL, 0}   */
} levada_arg_type;

#define LEVADA_NULL_INT (-9223372036854775807LL - 1)

typedef struct levada_ints {
    const int64_t *at;
    int64_t        n;
} levada_ints;

typedef struct levada_floats {
    const double *at;
    int64_t       n;
} levada_floats;

typedef struct levada_texts {
    const char *const *at;
    int64_t            n;
} levada_texts;

typedef struct levada_arg {
    size_t          struct_size; /* set by LEVADA_ARG                                           */
    const char     *name;        /* as typed in C, text, Python and on the command line         */
    levada_arg_type type;
    size_t          offset;
    bool            required;
    bool            positional; /* may be given without its name; at most one per table     */
    bool            tuning;     /* does not change the records; not part of the fingerprint */
    bool            paths;      /* paths: the fingerprint uses only their last part         */
    int64_t         min, max;   /* limits of INT, SIZE, FLOAT and each item of INTS and FLOATS;
                                 * both 0 = no limits; max = 0 with min > 0 = no maximum */
    const char *otherwise;      /* the default, as in the text of a pipeline; NULL = null */
    const char *choices;        /* values of CHOICE: "a|b|c"; the first is the default    */
    const char *doc;            /* one line, with unit and meaning of null                */
} levada_arg;

#define LEVADA_ARG(kind, args_type, member, ...)                                              \
    {                                                                                         \
        .struct_size = sizeof(levada_arg), .name = #member, .type = LEVADA_ARG_##kind,        \
        .offset = offsetof(args_type, member), __VA_ARGS__                                    \
    }
#define LEVADA_ARG_END                                                                        \
    {                                                                                         \
        0, NULL, LEVADA_ARG_NONE, 0, false, false, false, false, 0, 0, NULL, NULL, NULL       \
    }

/* Declares an option without designated initializers, which C++17 does not have:
 *
 *     LEVADA_OPTION(INT, take_args, count, LEVADA_OPTION_REQUIRED | LEVADA_OPTION_POSITIONAL, 0, 0,
 *                   NULL, "records to pass on"),
 *     LEVADA_OPTION_CHOICE(take_args, where, LEVADA_OPTION_PLAIN, "first|last", "which of them"),
 *
 * `flags` is a sum of these values. */
enum {
    LEVADA_OPTION_PLAIN      = 0,
    LEVADA_OPTION_REQUIRED   = 1,
    LEVADA_OPTION_POSITIONAL = 2,
    LEVADA_OPTION_TUNING     = 4,
    LEVADA_OPTION_PATHS      = 8
};

#define LEVADA_OPTION_OF_(kind, args_type, member, flags, least, most, otherwise, choices, doc)  \
    {                                                                                         \
        sizeof(levada_arg), #member, LEVADA_ARG_##kind, offsetof(args_type, member),          \
            ((flags) & LEVADA_OPTION_REQUIRED) != 0, ((flags) & LEVADA_OPTION_POSITIONAL) != 0, \
            ((flags) & LEVADA_OPTION_TUNING) != 0, ((flags) & LEVADA_OPTION_PATHS) != 0,      \
            (least), (most), (otherwise), (choices), (doc)                                    \
    }
#define LEVADA_OPTION(kind, args_type, member, flags, least, most, otherwise, doc) \
    LEVADA_OPTION_OF_(kind, args_type, member, flags, least, most, otherwise, NULL, doc)
#define LEVADA_OPTION_CHOICE(args_type, member, flags, choices, doc) \
    LEVADA_OPTION_OF_(CHOICE, args_type, member, flags, 0, 0, NULL, choices, doc)
#define LEVADA_OPTION_END LEVADA_ARG_END

#ifdef __cplusplus
}
#endif

#endif
