/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the openers of src/web turn names into URLs.
 */
#ifndef LEVADA_WEB_NAMES_H
#define LEVADA_WEB_NAMES_H

#include "web/web.h"

/* Takes a URL as it is. Refuses one with a user and a password in it, which would appear in states
 * and messages. */
levada_status levada_web_locate_url(const char *path, levada_web_target *out, levada_error *err);

/* Copies a setting of the environment, the first of two names that is set, or `otherwise`; `other`
 * may be NULL. Returns false if it does not fit. */
bool levada_web_setting(const char *name, const char *other, const char *otherwise, char *out,
                        size_t size);
/* Appends the name of an object to a URL, with the characters escaped that have a meaning there. */
LEVADA_MUST_USE levada_status levada_web_append_key(levada_web_target *target, const char *key,
                                                    levada_error *err);
/* Appends a value of a query, where a slash is escaped, too. */
LEVADA_MUST_USE levada_status levada_web_append_value(levada_web_target *target, const char *value,
                                                      levada_error *err);
/* Appends a part of a URL that is not data. */
LEVADA_MUST_USE levada_status levada_web_append(levada_web_target *target, const char *text,
                                                levada_error *err);

#endif
