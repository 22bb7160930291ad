/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder `option`: values, functions and tables of options. A value is a number, a text, a list
 * or a map, as JSON has them, or a function, a block or a pipe. A table of options names the
 * members of a struct; binding fills the struct from a map of values.
 *
 * A value has one owner. Nesting is bounded, so functions on values may recurse: a value of a
 * dataset nests at most LEVADA_NEST_VALUE deep (pipes included). While it is being read, the limit
 * is LEVADA_NEST_RAW, since JSON spends several brackets on a pipe. Functions that make a value
 * return NULL when memory is short. Values have no lock: one thread at a time, or read only.
 */
#ifndef LEVADA_OPTION_VALUE_PRIV_H
#define LEVADA_OPTION_VALUE_PRIV_H

#include "base/text.h"
#include <levada/value.h>

#define LEVADA_NEST_VALUE 64
#define LEVADA_NEST_TEXT 144 /* brackets in a text that a dataset may print as  */
#define LEVADA_NEST_RAW 400  /* the same in JSON                                */

/* How values print. TEXT is for descriptions; PLAIN is TEXT for an option that holds text anyway,
 * so that words need no quotes; HASH is JSON for fingerprints. */
typedef enum levada_print {
    LEVADA_PRINT_JSON,
    LEVADA_PRINT_TEXT,
    LEVADA_PRINT_PLAIN,
    LEVADA_PRINT_HASH
} levada_print;

void levada_value_print(levada_text *text, const levada_value *value, levada_print how);

#define LEVADA_VALUE_SHOWN 49

/* Prints a value for a message, cut to fit; "?" if memory is short. Returns `text`. */
const char *levada_value_shown(const levada_value *value, levada_print how,
                               char text[LEVADA_VALUE_SHOWN]);

/* Returns the hash of the records of a block, for fingerprints. */
int64_t levada_value_block_hash(const levada_value *value);

/* Returns NULL if memory is short. */
levada_value *levada_value_copy(const levada_value *value);
/* Counts levels of lists, maps and pipes: 0 for a number, 1 for a list of them. */
int32_t levada_value_nest(const levada_value *value);

/* Datasets are made of values, so a value knows a dataset that it holds by these functions only. */
typedef struct levada_pipe_hooks {
    levada_dataset *(*ref)(const levada_dataset *pipe);
    void (*unref)(levada_dataset **pipe);
    void (*print)(levada_text *text, const levada_dataset *pipe, levada_print how);
} levada_pipe_hooks;

/* Holds a pipe that nests `nest` levels deep, counting itself. Keeps a reference to it, and `hooks`
 * as they are. Returns NULL if out of memory. */
levada_value *levada_value_hold_pipe(const levada_dataset *pipe, int32_t nest,
                                     const levada_pipe_hooks *hooks);
/* Prints the stages of a value that is a pipe, without brackets. */
void levada_value_print_pipe(levada_text *text, const levada_value *pipe, levada_print how);

/* Returns the number of bytes of the name of a function without the hash of its code; see
 * levada_function_def. */
size_t levada_function_name_size(const char *name);
/* Returns true if its name says all that its results depend on. */
bool levada_function_is_known(const levada_function *function);
/* Returns the number of bytes of its name for messages: without arguments, too. */
int levada_function_name_shown(const char *name);

/* Moves an entry or item out, leaving null there; needs no memory. NULL if there is none. */
levada_value *levada_value_take(levada_value *map, const char *key);
levada_value *levada_value_take_at(levada_value *list_or_map, int64_t i);
/* Puts *item where the i-th item or entry is; takes it. */
void levada_value_replace_at(levada_value *list_or_map, int64_t i, levada_value **item);

/* Returns true for the keys that mean something: {"base64": ...} and similar values are written as
 * maps of one entry, and a map that looks like one is printed as {"map": {...}}. */
bool levada_value_marks(const char *key);

#endif
