/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of levada/plugin.h, in two halves: plugin.c loads, plugin_table.c is the table
 * that plug-ins are handed. The table names functions of all folders of the core, so this folder
 * builds on them, and none of them knows it.
 */
#ifndef LEVADA_PLUGIN_PLUGIN_H
#define LEVADA_PLUGIN_PLUGIN_H

#define LEVADA_PLUGIN_HOST_SIDE
#include "registry/registry.h"
#include <levada/plugin.h>

/* Adds a descriptor of a library that is being loaded. If it is refused, so is the library. */
LEVADA_MUST_USE levada_status levada_plugin_add(levada_plugin *plugin, levada_family family,
                                                const void *def, levada_error *err);
LEVADA_MUST_USE levada_status levada_plugin_add_function(levada_plugin             *plugin,
                                                         const levada_function_def *def, void *user,
                                                         levada_error              *err);

#endif
