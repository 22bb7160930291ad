/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's own JSON, read: short words for levada_value. A missing value reads as 0, "" or
 * NULL.
 */
#ifndef LEVADA_TOOLS_JSON_H
#define LEVADA_TOOLS_JSON_H

#include "buffer.h"
#include <levada/env.h>
#include <levada/value.h>

/* Takes the text (frees it, also where it cannot be read). */
LEVADA_MUST_USE levada_status levada_cli_json_take(char **text, levada_value **out,
                                                   levada_error *err);

/* The tables of all names. A default that is a pipe stays a map: only `env` could make it one. */
LEVADA_MUST_USE levada_status levada_cli_json_stages(levada_env *env, levada_value **out,
                                                     levada_error *err);

int64_t     levada_cli_json_int(const levada_value *map, const char *key);
double      levada_cli_json_float(const levada_value *map, const char *key);
const char *levada_cli_json_string(const levada_value *map, const char *key);
bool        levada_cli_json_bool(const levada_value *map, const char *key);
/* Returns the list or map under that key, NULL if there is none. */
const levada_value *levada_cli_json_get(const levada_value *map, const char *key);

/* The value as compact JSON. */
void levada_cli_json_put(levada_cli_buffer *b, const levada_value *value);
/* A float as the shortest text that reads back as the same number; {"float":"NaN"} where it is not
 * finite ("Infinity", "-Infinity"), which is read back by convert. */
void levada_cli_json_float_put(levada_cli_buffer *b, double value, bool single);

#endif
