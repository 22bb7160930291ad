/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of descriptors, checked at registration: registry_check.c.
 */
#ifndef LEVADA_REGISTRY_REGISTRY_CHECK_H
#define LEVADA_REGISTRY_REGISTRY_CHECK_H

#include "registry/registry.h"

/* Checks that op->def is complete and consistent; the message begins with the name. */
LEVADA_MUST_USE levada_status levada_registry_check(const levada_op *op, levada_error *err);

#endif
