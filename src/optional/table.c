/* SPDX-License-Identifier: Apache-2.0 */
#include "optional/functions.h"

#include <levada/version.h>

#define TABLE_ENTRY(name) .name = levada_##name,

const levada_optional_table levada_optional = {
    .version = LEVADA_VERSION,
    LEVADA_OPTIONAL_FUNCTIONS(TABLE_ENTRY)
};
