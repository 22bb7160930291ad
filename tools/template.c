/* SPDX-License-Identifier: Apache-2.0 */
#include "template.h"

#include <stddef.h>

const char *const levada_cli_template_first[] = {
    "/*",
    " * NAME - WHAT.",
    " *",
    " * Compile it with nothing but levada's headers, then check it:",
    " *",
    " *     cc -shared -fPIC -I INCLUDE NAME.c -o NAME.so",
    " *     levada check ./NAME.so",
    " *     levada --plugin ./NAME.so run 'RUN' --json",
    " *",
    " * INCLUDE is include/ of a checkout. For an installed package, this prints it:",
    " *",
    " *     python -c \"import levada; print(levada.__path__[0] + '/include')\"",
    " */",
    "#define LEVADA_PLUGIN_MAIN",
    "#include <levada/plugin.h>",
    "",
    NULL,
};

const char *const levada_cli_template_last[] = {
    "",
    "levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error "
    "*err)",
    "{",
    "    LEVADA_PLUGIN_BEGIN(host, plugin, \"NAME\", 1);",
    "    return host->add_KIND(plugin, &NAME, err);",
    "}",
    NULL,
};
