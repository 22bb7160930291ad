/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files of a pattern in a storage that can list names, such as s3://bucket/train/a-*.gz.
 *
 * In the names of these storages * stands for any characters but a slash, and ** for any; ? and [
 * are characters like others, because URLs and keys have them. The opener lists all names that
 * begin as the pattern does before its first star (opener.h), and this module chooses. Names that
 * end with a slash are no files. A listing that fails for a while is repeated like other requests
 * (io.attempts). The calling thread waits, and Ctrl-C ends it.
 */
#ifndef LEVADA_FILES_LISTING_H
#define LEVADA_FILES_LISTING_H

#include "files/glob.h"
#include "files/opener.h"

/* Calls add(to, name) for each file that fits, in any order and perhaps more than once.
 * EUNIMPLEMENTED: the opener does not list. */
LEVADA_MUST_USE levada_status levada_listing_find(const levada_env *env, const char *pattern,
                                                  levada_list_add *add, void *to,
                                                  levada_error *err);
/* Returns true if the pattern, with * and **, fits the whole name. */
bool levada_listing_fits(const char *pattern, const char *name);

#endif
