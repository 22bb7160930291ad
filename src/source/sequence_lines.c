/* SPDX-License-Identifier: Apache-2.0 */
#include "source/sequence_lines.h"

#include "source/beside.h"

#include <string.h>

int64_t levada_sequence_line(const uint8_t *data, int64_t size, int64_t at, bool at_end,
                             int64_t *end)
{
    const uint8_t *lf = at < size ? memchr(data + at, '\n', (size_t)(size - at)) : NULL;

    if (!lf && (!at_end || at >= size)) return -1;
    *end = lf ? lf - data : size;
    if (*end > at && data[*end - 1] == '\r') --*end;
    return lf ? lf - data + 1 : size;
}

int64_t levada_sequence_blank(const uint8_t *data, int64_t size, int64_t at)
{
    while (at < size && (data[at] == '\n' || data[at] == '\r')) at++;
    return at;
}

int64_t levada_sequence_find(const uint8_t *data, int64_t size, int64_t at, uint8_t mark)
{
    while (++at < size) {
        const uint8_t *found = memchr(data + at, mark, (size_t)(size - at));

        if (!found) return -1;
        if (found[-1] == '\n') return found - data;
        at = found - data;
    }
    return -1;
}

int64_t levada_sequence_rest(const uint8_t *data, int64_t size, bool at_end)
{
    return !at_end && size > 1 && data[size - 1] == '\n' ? size - 1 : size;
}

static bool sequence_is_space(uint8_t c) { return c == ' ' || c == '\t'; }

void levada_sequence_header(const uint8_t *header, int64_t size, levada_text_span *id,
                            levada_text_span *description)
{
    int64_t at = 1, from;

    while (at < size && !sequence_is_space(header[at])) at++;
    *id = (levada_text_span){ .at = header + 1, .size = (int32_t)(at - 1) };
    for (from = at; from < size && sequence_is_space(header[from]);) from++;
    *description =
        (levada_text_span){ .at = header + from, .size = (int32_t)(from < size ? size - from : 0) };
}

/* Returns true if all bytes are printable and no spaces. */
static bool sequence_is_plain(const uint8_t *data, int64_t size)
{
    uint8_t odd = 0;

    for (int64_t i = 0; i < size; i++) odd |= (uint8_t)(data[i] - '!') > '~' - '!';
    return !odd;
}

int64_t levada_sequence_join(const uint8_t *data, int64_t size, bool spaced, uint8_t *to)
{
    int64_t at = 0, made = 0;

    while (at < size) {
        int64_t end = 0, next = levada_sequence_line(data, size, at, true, &end);

        if (sequence_is_plain(data + at, end - at)) {
            memcpy(to + made, data + at, (size_t)(end - at));
            made += end - at;
            at = next;
        }
        for (; at < end; at++) {
            if (spaced && sequence_is_space(data[at])) continue;
            if (data[at] < '!' || data[at] > '~') return -1 - at;
            to[made++] = data[at];
        }
        at = next;
    }
    return made;
}

levada_status levada_sequence_reject(levada_builder *out, int64_t row, const levada_text_span *id,
                                     int64_t at, uint8_t byte, levada_error *err)
{
    levada_error why = LEVADA_ERROR_INIT;
    int          n = id->size < 100 ? id->size : 100;

    (void)levada_fail(&why, LEVADA_EDATA_LOSS,
                      "'%.*s': byte 0x%02x, %lld bytes after the start of the record, is not part "
                      "of a sequence",
                      n, (const char *)id->at, byte, (long long)at);
    return levada_builder_reject(out, row, &why, err);
}

/* -- .fai */

typedef struct sequence_index {
    levada_index_sink *to;
    bool               qualities;
    int64_t            end; /* of the last record */
} sequence_index;

/* Returns where `length` bytes that begin at `from` end, in lines of `each` bytes, `width` with
 * their ends; -1 if that is not within `size`. */
static int64_t sequence_end(int64_t from, int64_t length, int64_t each, int64_t width,
                            int64_t size)
{
    int64_t lines;

    if (from > size || length > size) return -1;
    if (length == 0) return from;
    if (each < 1 || width < each || width > each + 2) return -1;
    lines = (length - 1) / each;
    if (lines > (size - from) / width) return -1;
    from += lines * width + length - lines * each;
    if (from > size) return -1;
    return from + width - each < size ? from + width - each : size;
}

/* Reads a line: length, offset, bases of a line, its width, and for FASTQ the offset of the
 * qualities. */
static levada_status sequence_index_line(void *user, const int64_t *line, levada_error *err)
{
    sequence_index *x = user;
    int64_t         from = line[x->qualities ? 4 : 1], end = -1, begin = x->end;

    if (line[3] >= 0 && from >= 0 && (line[4] < 0 || x->qualities))
        end = sequence_end(from, line[0], line[2], line[3], x->to->size);
    if (end < begin)
        return levada_fail(
            err, LEVADA_EDATA_LOSS,
            "the sequence at byte %lld with %lld letters does not follow byte %lld in a "
            "file of %lld bytes; make the index again with samtools %s",
            (long long)line[1], (long long)line[0], (long long)begin, (long long)x->to->size,
            x->qualities ? "fqidx" : "faidx");
    x->end = end;
    return x->to->add(x->to, begin, end - begin, line[0], err);
}

levada_status levada_sequence_index(levada_env *env, const char *path, bool qualities,
                                    levada_index_sink *to, levada_error *err)
{
    sequence_index x = { .to = to, .qualities = qualities };

    to->field = "seq";
    LEVADA_TRY(levada_beside_lines(env, path, ".fai", true, sequence_index_line, &x, err));
    return levada_beside_check_end(env, path, x.end, err);
}
