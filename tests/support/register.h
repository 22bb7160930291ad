/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of one test, without a plug-in around them.
 */
#ifndef TESTS_SUPPORT_REGISTER_H
#define TESTS_SUPPORT_REGISTER_H

#include "registry/registry.h"

/* Registers a descriptor as of the plug-in `plugin` (NULL = built in) and checks its defaults. */
LEVADA_MUST_USE levada_status t_register(levada_env *env, levada_family family, const void *def,
                                         const char *plugin, levada_error *err);
/* Enters a plug-in without descriptors. */
LEVADA_MUST_USE levada_status t_enter_plugin(levada_env *env, const char *name, const char *path,
                                             int64_t version);

#endif
