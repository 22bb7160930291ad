/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairs - a file format with headers of variable length and two columns:
 *
 *     cc -shared -fPIC -I include plugins/example/pairs.c -o pairs.so
 *
 * A record is "KEY_SIZE,VALUE_SIZE:" in decimal digits, then the bytes of the key and the value.
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

#define PAIRS_DIGITS 9 /* of a size: below 1 GB */

/* Reads digits up to `stop`. Returns the bytes read with it, 0 if the window ends before it, and -1
 * if something else stands there. */
static int64_t pairs_size(const uint8_t *p, int64_t size, char stop, int64_t *out)
{
    *out = 0;
    for (int64_t i = 0; i < size; i++) {
        if (p[i] == (uint8_t)stop) return i > 0 ? i + 1 : -1;
        if (i == PAIRS_DIGITS || p[i] < '0' || p[i] > '9') return -1;
        *out = *out * 10 + (p[i] - '0');
    }
    return 0;
}

/* Returns the bytes of the header at p: 0 if it is not complete, -1 if it is not a header. */
static int64_t pairs_header(const uint8_t *p, int64_t size, int64_t *key, int64_t *value)
{
    int64_t first = pairs_size(p, size, ',', key), second;

    if (first <= 0) return first;
    second = pairs_size(p + first, size - first, ':', value);
    return second <= 0 ? second : first + second;
}

static levada_status pairs_next(void *state, const void *args, const uint8_t *data, int64_t size,
                                bool at_end, levada_spans *out, levada_error *err)
{
    int64_t at = 0, header = 0, key = 0, value = 0;
    int32_t n = 0;

    (void)state, (void)args;
    out->need = 0;
    while (n < out->capacity && at < size) {
        header = pairs_header(data + at, size - at, &key, &value);
        if (header <= 0 || header + key + value > size - at) break;
        out->frame[n] = (int32_t)at;
        out->begin[n] = (int32_t)(at += header);
        out->begin[out->stride + n] = out->end[n] = (int32_t)(at += key);
        out->end[out->stride + n] = (int32_t)(at += value);
        n++;
    }
    out->n = n;
    out->used = at;
    if (n > 0 || at == size) return LEVADA_OK; /* damage returns with the next call */
    if (header < 0)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "a pair must begin with the lengths of its key and value");
    if (header > 0) out->need = header + key + value;
    if (!at_end) return LEVADA_OK;
    out->need = 0;
    return levada_fail(err, LEVADA_EDATA_LOSS, "the file ends inside a record");
}

static const char *const pairs_fields[] = { "key", "value", NULL };

static const levada_example_file pairs_files[] = {
    { "words.pairs", "3,5:onefirst" "0,12:twelve bytes" "11,0:eleven ones" "1,1:ab", 51 },
    { NULL, NULL, 0 },
};

static const levada_format_def pairs = {
    .struct_size = sizeof(levada_format_def),
    .name = "pairs",
    .doc = "pairs of a key and a value, with their sizes in decimal digits",
    .example = "pairs:words.pairs",
    .example_files = pairs_files,
    .fields = pairs_fields,
    .frames = true,
    .next = pairs_next,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "pairs", 1);
    return host->add_format(plugin, &pairs, err);
}
