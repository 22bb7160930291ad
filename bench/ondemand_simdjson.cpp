/* SPDX-License-Identifier: Apache-2.0 */
#include <simdjson.h>

extern "C" {
#include "ondemand.h"
}

using Parser = simdjson::ondemand::parser;

void *levada_bench_ondemand_create(void) { return new Parser; }

int64_t levada_bench_ondemand_texts(void *parser, const uint8_t *data, size_t size, int64_t *lines)
{
    auto       *p = static_cast<Parser *>(parser);
    const char *at = reinterpret_cast<const char *>(data), *end = at + size;
    int64_t     sum = 0;

    for (; at < end; ++*lines) {
        const char                    *stop = static_cast<const char *>(memchr(at, '\n', end - at));
        size_t                         n = static_cast<size_t>(stop - at);
        simdjson::ondemand::document   line;
        std::string_view               text;

        if (p->iterate(at, n, n + simdjson::SIMDJSON_PADDING).get(line) ||
            line["text"].get_string().get(text))
            return -1;
        sum += static_cast<int64_t>(text.size());
        at = stop + 1;
    }
    return sum;
}
