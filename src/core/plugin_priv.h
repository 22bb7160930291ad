/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two halves of the host's side of levada/plugin.h: loading, and the table.
 */
#ifndef LEVADA_CORE_PLUGIN_PRIV_H
#define LEVADA_CORE_PLUGIN_PRIV_H

#define LEVADA_PLUGIN_HOST_SIDE
#include "core/registry.h"
#include <levada/plugin.h>

/* A descriptor of a library that is being loaded. One that is refused is the library's end. */
LEVADA_MUST_USE levada_status levada_plugin_add(levada_plugin *plugin, levada_family family,
                                                const void *def, levada_error *err);

#endif
