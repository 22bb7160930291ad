/* SPDX-License-Identifier: Apache-2.0 */
#include "files/lines.h"

#include "base/alloc.h"
#include "files/pipes.h"

#include <string.h>
#include <sys/stat.h>

enum { LINES_CHUNK = 1 << 16 };
#define LINES_MOST (INT64_C(4) << 30)

static int64_t lines_in(const uint8_t *data, int64_t size)
{
    int64_t n = 0;

    for (const uint8_t *at = data, *end = data + size;
         at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        n++;
    return n;
}

int64_t levada_file_line(levada_env *env, const char *path, const levada_bytes_options *options,
                         int64_t offset)
{
    levada_bytes *bytes = NULL;
    uint8_t      *chunk;
    int64_t       line = 1;
    struct stat   st;

    if (offset < 0 || offset > LINES_MOST || stat(path, &st) != 0) return 0;
    /* A pipe that was not read could wait forever; the first bytes of one that was are kept. */
    if (!S_ISREG(st.st_mode) && !levada_pipes_known(env, &st)) return 0;
    chunk = levada_alloc(LINES_CHUNK);
    if (!chunk || levada_bytes_open(env, path, options, &bytes, NULL) != LEVADA_OK) offset = -1;
    while (offset > 0) {
        int64_t want = offset < LINES_CHUNK ? offset : LINES_CHUNK, made = 0;

        if (levada_bytes_read(bytes, chunk, want, &made, NULL) != LEVADA_OK || made < want)
            made = 0;
        line += lines_in(chunk, made);
        offset = made > 0 ? offset - made : -1;
    }
    levada_bytes_close(&bytes);
    levada_free(chunk);
    return offset < 0 ? 0 : line;
}

int64_t levada_line_leave_out(void *state, const void *args, const uint8_t *data, int64_t size,
                              bool at_end, bool *done)
{
    const uint8_t *end = size > 0 ? memchr(data, '\n', (size_t)size) : NULL;

    (void)state, (void)args;
    *done = end || at_end;
    return end ? end + 1 - data : size;
}
