/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of callers that begin with struct_size, compiled with an older or a newer header.
 *
 * Members that a shorter struct lacks keep their defaults. Members of a longer struct that this
 * version does not know must be zero: it cannot honor them and must not ignore them. A struct_size
 * of 0 is an error, since it would hide every member.
 */
#ifndef LEVADA_BASE_VERSIONED_H
#define LEVADA_BASE_VERSIONED_H

#include <levada/error.h>

/* Checks that `theirs`, a struct of type `name`, can be read into `size` bytes of ours. Otherwise
 * EINVALID_ARGUMENT with the name. */
LEVADA_MUST_USE levada_status levada_versioned_check(const void *theirs, size_t size,
                                                     const char *name, levada_error *err);
/* Checks, then copies the members that both have and sets struct_size to `size`. On failure `ours`
 * does not change. */
LEVADA_MUST_USE levada_status levada_versioned_read(void *ours, size_t size, const void *theirs,
                                                    const char *name, levada_error *err);
/* Copies the members that both structs have, except struct_size, to a struct that the caller reads.
 * Call levada_versioned_check first. */
void levada_versioned_write(void *theirs, const void *ours, size_t size);

/* Implements _init functions: sets `given` bytes of a caller's struct to their defaults, and
 * members that this version does not know to zero. Ignores NULL and a size that no struct has. */
void levada_versioned_init(void *theirs, size_t given, const void *defaults, size_t size);

/* Defines TYPE_init from its _INIT macro. */
#define LEVADA_VERSIONED_INIT(function, type, initializer)             \
    void function(type *all, size_t size)                              \
    {                                                                  \
        static const type defaults = initializer;                            \
                                                                       \
        levada_versioned_init(all, size, &defaults, sizeof(defaults)); \
    }

/* LEVADA_TRY(LEVADA_VERSIONED_READ(all, options, levada_queue_options, err)); */
#define LEVADA_VERSIONED_READ(ours, theirs, type, err) \
    levada_versioned_read(&(ours), sizeof(type), (theirs), #type, (err))

#endif
