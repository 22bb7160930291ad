/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What registry.c and registry_batch.c share: names that are not registered yet.
 */
#ifndef LEVADA_CORE_REGISTRY_PRIV_H
#define LEVADA_CORE_REGISTRY_PRIV_H

#include "core/registry_check.h"

/* A copy of the descriptor with its whole table of options; all but the defaults is checked. */
LEVADA_MUST_USE levada_status levada_op_create(levada_family family, const void *def,
                                               const char *plugin, levada_op **out,
                                               levada_error *err);
void                          levada_op_destroy(levada_op **op);
/* The error for a name that `by` has. */
levada_status levada_op_taken(const levada_op *by, levada_error *err);

/* The registered one that stands in the way of `op`; NULL = none. Borrowed. */
const levada_op *levada_registry_find_like(const levada_env *env, const levada_op *op);
/* Takes n >= 1 of them over, all at once: who looks names up sees none or all. */
LEVADA_MUST_USE levada_status levada_registry_insert(levada_registry  *registry,
                                                     levada_op *const *ops, int32_t n,
                                                     levada_error *err);
/* A registry with the names of `from` and n >= 1 more, all of them borrowed. */
LEVADA_MUST_USE levada_status levada_registry_lend(levada_registry *from, levada_op *const *ops,
                                                   int32_t n, levada_registry **out,
                                                   levada_error *err);

#endif
