/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/function.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/refs.h"
#include "base/versioned.h"
#include "option/value_priv.h"

#include <stdatomic.h>
#include <string.h>

struct levada_function {
    atomic_int          refs;
    levada_function_def def; /* its strings are ours */
    char               *kind, *name;
    void               *user;
};

static void function_free(levada_function *function)
{
    levada_free(function->kind);
    levada_free(function->name);
    levada_free(function);
}

static levada_status function_no_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a function");
}

levada_status levada_function_create(const levada_function_def *def, void *user,
                                     levada_function **out, levada_error *err)
{
    levada_function_def own = { 0 };

    LEVADA_TRY(levada_require(def != NULL, "def", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(LEVADA_VERSIONED_READ(own, def, levada_function_def, err));
    if (own.kind == NULL || (strcmp(own.kind, "c") != 0 && strcmp(own.kind, "py") != 0)) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "kind=%s must be c or py",
                           own.kind != NULL ? own.kind : "NULL");
    }
    if (own.call == NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "a function needs call()");
    }
    levada_function *function = levada_alloc_zero(sizeof(*function));
    if (function == NULL) return function_no_memory(err);
    function->def = own;
    function->kind = levada_strdup(own.kind);
    function->name = own.name != NULL ? levada_strdup(own.name) : NULL;
    if (function->kind == NULL || (own.name != NULL && function->name == NULL)) {
        function_free(function);
        return function_no_memory(err);
    }
    function->def.kind = function->kind;
    function->def.name = function->name;
    function->user = user;
    atomic_init(&function->refs, 1);
    *out = function;
    return LEVADA_OK;
}

levada_function *levada_function_ref(const levada_function *function)
{
    if (!function) return NULL;
    levada_function *same = (levada_function *)(uintptr_t)function; /* counts are not content */

    levada_refs_add(&same->refs);
    return same;
}

void levada_function_unref(levada_function **function)
{
    if (!function) return;
    levada_function *gone = *function;

    *function = NULL;
    if (gone == NULL || !levada_refs_drop(&gone->refs)) return;
    if (gone->def.release != NULL) gone->def.release(gone->user);
    function_free(gone);
}

const levada_function_def *levada_function_info(const levada_function *function)
{
    return function != NULL ? &function->def : NULL;
}

void *levada_function_user(const levada_function *function)
{
    return function != NULL ? function->user : NULL;
}

#define FUNCTION_HASH_DIGITS 16

size_t levada_function_name_size(const char *name)
{
    const char *hash = strrchr(name, '#');

    if (hash == NULL) return strlen(name);
    bool known = strspn(hash + 1, "0123456789abcdef") == FUNCTION_HASH_DIGITS &&
                 hash[1 + FUNCTION_HASH_DIGITS] == '\0';
    return known || strcmp(hash, "#?") == 0 ? (size_t)(hash - name) : strlen(name);
}

bool levada_function_is_known(const levada_function *function)
{
    const char *name = levada_function_info(function)->name;

    return name != NULL && strcmp(name + levada_function_name_size(name), "#?") != 0;
}

int levada_function_name_shown(const char *name) { return (int)strcspn(name, "[(#"); }
