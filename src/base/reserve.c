/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <string.h>

bool levada_reserve(void *array, int64_t *capacity, int64_t count, size_t size)
{
    int64_t more = *capacity > INT64_MAX / 2 ? INT64_MAX : 2 * *capacity;
    size_t  bytes;
    void   *memory;

    if (count <= *capacity) return true;
    if (more < 8) more = 8;
    if (more < count) more = count;
    if (!levada_size_of((size_t)more, size, 0, &bytes) || bytes > PTRDIFF_MAX) return false;
    memcpy(&memory, array, sizeof(memory)); /* a pointer of any type */
    memory = levada_realloc(memory, bytes);
    if (memory == NULL) return false;
    memcpy(array, &memory, sizeof(memory));
    *capacity = more;
    return true;
}
