/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding: a map of options becomes the args struct of a stage, by its table.
 */
#ifndef LEVADA_CORE_OPTION_PRIV_H
#define LEVADA_CORE_OPTION_PRIV_H

#include "core/registry.h"
#include "core/value_priv.h"

#define LEVADA_MAX_OPTIONS 64 /* in a table */

/* Where the options of a stage stand in the text that is read, for messages. */
typedef struct levada_places {
    const char *text;
    size_t      size;
    const char *file;                   /* NULL = the description itself          */
    size_t      at[LEVADA_MAX_OPTIONS]; /* of each option of the table; 0 = none */
} levada_places;

/* Writes " at column 14" (or " at line 2 column 5", " of FILE") for an offset in the text. */
typedef struct levada_where {
    char text[96];
} levada_where;
levada_where levada_where_is(const char *text, size_t size, const char *file, size_t offset);

/* What binding makes; see levada_dataset. */
typedef struct levada_bound {
    levada_value *options;
    void         *args;
    void        **memory;
    int32_t       nmemory;
} levada_bound;

/* Moves what it needs out of `given` (a map, or NULL). */
LEVADA_MUST_USE levada_status levada_option_bind(levada_env *env, const levada_op *op,
                                                 levada_value *given, const levada_places *places,
                                                 levada_bound *out, levada_error *err);
void levada_bound_clear(levada_bound *bound);

/* Makes a value what the table says (a word of a choice, a list of a single value); the message of
 * the error begins with "name=value". An optional null stays null. */
LEVADA_MUST_USE levada_status levada_option_convert(const levada_arg *arg, levada_value **value,
                                                    levada_error *err);
/* Index of a text among "a|b|c", -1 where it is not there. */
int32_t levada_option_choice(const char *choices, const char *text, size_t size);

/* Index in the table, -1 where there is none. */
int32_t levada_option_find(const levada_op *op, const char *name);
/* Index of the positional option, -1 where there is none. */
int32_t levada_option_positional(const levada_op *op);
/* The error for a name that is not in the table. `where` is " at column 14" or "". */
levada_status levada_option_unknown(const levada_op *op, const char *name, const char *where,
                                    levada_error *err);
/* The default as a value of its type; null where there is none. */
LEVADA_MUST_USE levada_status levada_option_default(levada_env *env, const levada_arg *arg,
                                                    levada_value **out, levada_error *err);
/* True where a word of a description is text, whatever it looks like. */
bool levada_option_holds_text(levada_arg_type type);
/* How a value of this option prints in text: PLAIN or TEXT. */
levada_print levada_option_print(const levada_arg *arg);
/* A table that breaks the contract is refused with the reason. */
LEVADA_MUST_USE levada_status levada_option_check_table(const levada_op *op, levada_error *err);
/* The same of its defaults, which may be pipes of stages that `env` knows. */
LEVADA_MUST_USE levada_status levada_option_check_defaults(levada_env *env, const levada_op *op,
                                                           levada_error *err);
/* Whether a default may have names of stages in it. */
bool levada_option_names_stages(const levada_op *op);

#endif
