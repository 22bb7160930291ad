/* SPDX-License-Identifier: Apache-2.0 */
#include <simdjson.h>

extern "C" {
#include "ondemand.h"
}

namespace {

/* The bytes of all texts; text_of(line, size, out) finds the one of a line, or returns true. */
template <typename Text>
int64_t texts_of(const uint8_t *data, size_t size, int64_t *lines, Text text_of)
{
    const char *at = reinterpret_cast<const char *>(data), *end = at + size;
    int64_t     sum = 0;

    for (; at < end; ++*lines) {
        const char      *stop = static_cast<const char *>(memchr(at, '\n', end - at));
        std::string_view text;

        if (text_of(at, static_cast<size_t>(stop - at), text)) return -1;
        sum += static_cast<int64_t>(text.size());
        at = stop + 1;
    }
    return sum;
}

} // namespace

void *levada_bench_ondemand_create(void) { return new simdjson::ondemand::parser; }

void *levada_bench_whole_create(void) { return new simdjson::dom::parser; }

int64_t levada_bench_ondemand_texts(void *parser, const uint8_t *data, size_t size, int64_t *lines)
{
    auto *p = static_cast<simdjson::ondemand::parser *>(parser);

    return texts_of(data, size, lines, [p](const char *at, size_t n, std::string_view &text) {
        simdjson::ondemand::document line;

        return p->iterate(at, n, n + simdjson::SIMDJSON_PADDING).get(line) ||
               line["text"].get_string().get(text);
    });
}

int64_t levada_bench_whole_texts(void *parser, const uint8_t *data, size_t size, int64_t *lines)
{
    auto *p = static_cast<simdjson::dom::parser *>(parser);

    return texts_of(data, size, lines, [p](const char *at, size_t n, std::string_view &text) {
        return p->parse(at, n, false)["text"].get_string().get(text);
    });
}
