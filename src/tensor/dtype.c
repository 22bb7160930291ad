/* SPDX-License-Identifier: Apache-2.0 */
#include <levada/spec.h>

#include <string.h>

typedef struct dtype_row {
    const char *name;
    int64_t     size;
} dtype_row;

static const dtype_row dtype_table[] = {
    [LEVADA_NONE] = { "?", 0 },
#define DTYPE_ROW(name, NAME, bytes, code, numpy) [LEVADA_##NAME] = { #name, bytes },
    LEVADA_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
    [LEVADA_BYTES] = { "string", 0 },
    [LEVADA_TEXT] = { "text", 0 },
};

#define DTYPE_COUNT ((int)(sizeof dtype_table / sizeof dtype_table[0]))

static bool dtype_known(levada_dtype dtype)
{
    return (int)dtype >= 0 && (int)dtype < DTYPE_COUNT;
}

int64_t levada_dtype_size(levada_dtype dtype)
{
    return dtype_known(dtype) ? dtype_table[dtype].size : 0;
}

const char *levada_dtype_name(levada_dtype dtype)
{
    return dtype_known(dtype) ? dtype_table[dtype].name : "?";
}

levada_dtype levada_dtype_find(const char *name)
{
    if (!name) return LEVADA_NONE;
    if (strcmp(name, "bytes") == 0) return LEVADA_BYTES;
    for (int i = LEVADA_NONE + 1; i < DTYPE_COUNT; i++) {
        if (strcmp(dtype_table[i].name, name) == 0) return (levada_dtype)i;
    }
    return LEVADA_NONE;
}
