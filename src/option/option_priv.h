/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options: a table describes the members of an args struct, and binding fills the struct from a map
 * of values. The table is an array of levada_arg that ends with a row without a name. For each row
 * in order, binding takes the value from the map, or asks for the default, converts it to the type
 * of the row and checks its limits. Errors begin with "name=value" and end with the place in the
 * text where one is known.
 */
#ifndef LEVADA_OPTION_OPTION_PRIV_H
#define LEVADA_OPTION_OPTION_PRIV_H

#include "option/value_priv.h"
#include <levada/option.h>

#define LEVADA_MAX_OPTIONS 64 /* in a table */

/* Writes " at column 14" (or " at line 2 column 5", " of FILE") for an offset in the text. */
typedef struct levada_where {
    char text[96];
} levada_where;
levada_where levada_where_is(const char *text, size_t size, const char *file, size_t offset);

/* Where the options of a stage stand in the text that is read, for messages. */
typedef struct levada_places {
    const char *text;
    size_t      size;
    const char *file;                   /* NULL = the description itself          */
    size_t      at[LEVADA_MAX_OPTIONS]; /* of each option of the table; 0 = none */
} levada_places;

/* The default of one option as a value of its type; null if there is none. */
typedef levada_status (*levada_option_default)(void *user, const levada_arg *arg,
                                               levada_value **out, levada_error *err);

/* What options are bound by. */
typedef struct levada_binding {
    const levada_arg     *args;
    size_t                args_size; /* of the struct                 */
    const levada_places  *places;    /* NULL = the options stand nowhere */
    levada_option_default otherwise; /* is asked for options without a value */
    void                 *user;      /* of otherwise                  */
} levada_binding;

/* What binding makes; see levada_dataset. */
typedef struct levada_bound {
    levada_value *options;
    void         *args;
    void        **memory;
    int32_t       nmemory;
} levada_bound;

/* Moves what it needs out of `given` (a map, or NULL). */
LEVADA_MUST_USE levada_status levada_option_bind(const levada_binding *by, levada_value *given,
                                                 levada_bound *out, levada_error *err);
void levada_bound_clear(levada_bound *bound);

/* Makes a value what the table says (a word of a choice, a list of a single value); the message of
 * the error begins with "name=value". An optional null stays null. */
LEVADA_MUST_USE levada_status levada_option_convert(const levada_arg *arg, levada_value **value,
                                                    levada_error *err);
/* Returns the index of a text among "a|b|c", -1 where it is not there. */
int32_t levada_option_choice(const char *choices, const char *text, size_t size);

/* Returns the index in the table, -1 if there is none. */
int32_t levada_option_find(const levada_arg *args, const char *name);
/* Returns the index of the positional option, -1 if there is none. */
int32_t levada_option_positional(const levada_arg *args);
/* Returns the error for a name that is not in the table. `where` is " at column 14" or "". */
levada_status levada_option_unknown(const levada_arg *args, const char *name, const char *where,
                                    levada_error *err);
/* Returns true for INTS, FLOATS and TEXTS. */
bool levada_option_is_list(levada_arg_type type);
/* Returns true if a word of a description is text, whatever it looks like. */
bool levada_option_holds_text(levada_arg_type type);
/* Returns how a value of this option prints in text: PLAIN or TEXT. */
levada_print levada_option_print(const levada_arg *arg);
/* Refuses a table that breaks the contract, with the reason; its defaults are not looked at. */
LEVADA_MUST_USE levada_status levada_option_check_table(const levada_arg *args, size_t args_size,
                                                        levada_error *err);

#endif
