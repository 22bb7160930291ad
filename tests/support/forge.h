/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States in which one entry was forged under a good checksum, and whether an error names it.
 */
#ifndef LEVADA_TESTS_SUPPORT_FORGE_H
#define LEVADA_TESTS_SUPPORT_FORGE_H

#include "state/state_priv.h"

typedef enum t_form {
    T_FORGED_SHORT,   /* a value less */
    T_FORGED_LONG,    /* a value more */
    T_FORGED_TYPE,    /* bytes as numbers, or numbers as bytes */
    T_FORGED_MISSING, /* not there */
    T_FORGED_NAME,    /* under a name that nothing reads */
    T_FORGED_TWICE,   /* there two times */
    T_FORMS
} t_form;

/* The bytes of the state with entry `at` in this form, for levada_string_free. false = an entry of
 * its type has no such form. */
bool t_forge(const levada_state_reader *r, int32_t at, t_form form, char **bytes, size_t *size);
/* Whether the message names an entry of the path that entry `at` has, or the error a file. */
bool t_names_an_entry(const levada_state_reader *r, int32_t at, const levada_error *err);

#endif
