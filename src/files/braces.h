/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brace expansion of file patterns, as shells do it before they look for files:
 *
 *   {train,valid}-*.tar        train-*.tar valid-*.tar
 *   s{0000..0127}.tar          s0000.tar s0001.tar ... s0127.tar (as wide as the wider end)
 *   {9..1..4} {a..c}           9 5 1, a b c
 *
 * Groups may be nested, and several groups expand from left to right. A group without a comma that
 * is not a range, a brace without a partner, and a brace after a backslash or after [ stay as they
 * are. Nothing is looked for, so the patterns may belong to any opener.
 */
#ifndef LEVADA_FILES_BRACES_H
#define LEVADA_FILES_BRACES_H

#include <levada/error.h>

/* Receives one expanded pattern, borrowed for the call; the first failure ends the expansion. */
typedef levada_status (*levada_braces_take)(void *user, const char *pattern, levada_error *err);

/* Calls take(user, ...) for each pattern that `pattern` expands to, in order; for `pattern` itself
 * if it has no group. ERESOURCE_EXHAUSTED: more than 2^20 patterns, or no memory. */
LEVADA_MUST_USE levada_status levada_braces_expand(const char *pattern, levada_braces_take take,
                                                   void *user, levada_error *err);

#endif
