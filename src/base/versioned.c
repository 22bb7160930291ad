/* SPDX-License-Identifier: Apache-2.0 */
#include "base/versioned.h"

#include <string.h>

/* No struct is as long: a larger struct_size is garbage, and reading up to it would crash. */
#define VERSIONED_LIMIT 4096

static size_t versioned_size(const void *theirs)
{
    size_t size;

    memcpy(&size, theirs, sizeof(size));
    return size;
}

levada_status levada_versioned_check(const void *theirs, size_t size, const char *name,
                                     levada_error *err)
{
    const unsigned char *bytes = theirs;
    size_t               given = versioned_size(theirs);

    if (given < sizeof(size_t) || given > VERSIONED_LIMIT) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "struct_size=%zu of %s must be sizeof(%s)", given, name, name);
    }
    for (size_t i = size; i < given; i++) {
        if (bytes[i] == 0) continue;
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s has struct_size=%zu, and byte %zu is not zero: this version knows "
                           "the first %zu bytes only",
                           name, given, i, size);
    }
    return LEVADA_OK;
}

levada_status levada_versioned_read(void *ours, size_t size, const void *theirs, const char *name,
                                    levada_error *err)
{
    size_t given;

    LEVADA_TRY(levada_versioned_check(theirs, size, name, err));
    given = versioned_size(theirs);
    memcpy(ours, theirs, given < size ? given : size);
    memcpy(ours, &size, sizeof(size));
    return LEVADA_OK;
}

void levada_versioned_write(void *theirs, const void *ours, size_t size)
{
    size_t given = versioned_size(theirs);

    memcpy(theirs, ours, given < size ? given : size);
    memcpy(theirs, &given, sizeof(given));
}

void levada_versioned_init(void *theirs, size_t given, const void *defaults, size_t size)
{
    if (theirs == NULL || given < sizeof(size_t) || given > VERSIONED_LIMIT) return;
    memset(theirs, 0, given);
    memcpy(theirs, defaults, given < size ? given : size);
    memcpy(theirs, &given, sizeof(given));
}
