// SPDX-License-Identifier: Apache-2.0
// The only file that knows simdjson. No exception leaves it: simdjson is built without them here.
#define SIMDJSON_EXCEPTIONS 0
#include <simdjson.h>

#include "rows/json_reader.h"

#include <cstring>
#include <new>

namespace dom = simdjson::dom;

struct levada_json_reader {
    dom::parser parser;
};

static_assert(sizeof(dom::element) == sizeof(levada_json_value), "a value holds an element");
static_assert(simdjson::SIMDJSON_PADDING <= 64, "rows have 64 readable bytes after them");

static levada_json_value reader_value(const dom::element &element)
{
    levada_json_value value;

    std::memcpy(static_cast<void *>(&value), static_cast<const void *>(&element), sizeof value);
    return value;
}

static dom::element reader_element(levada_json_value value)
{
    dom::element element;

    std::memcpy(static_cast<void *>(&element), static_cast<const void *>(&value), sizeof value);
    return element;
}

levada_status levada_json_reader_create(levada_json_reader **out, levada_error *err)
{
    *out = new (std::nothrow) levada_json_reader;
    if (*out) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a reader of JSON");
}

void levada_json_reader_destroy(levada_json_reader **reader)
{
    delete *reader;
    *reader = nullptr;
}

levada_status levada_json_reader_reserve(levada_json_reader *reader, size_t size,
                                         levada_error *err)
{
    size_t capacity = 4096;

    while (capacity < size) capacity *= 2; /* rows of growing sizes do not allocate each time */
    if (reader->parser.capacity() >= capacity) return LEVADA_OK;
    if (reader->parser.allocate(capacity) == simdjson::SUCCESS) return LEVADA_OK;
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a document of %zu bytes",
                       size);
}

const char *levada_json_reader_parse(levada_json_reader *reader, const uint8_t *text, size_t size,
                                     levada_json_value *out)
{
    dom::element         root;
    simdjson::error_code code = reader->parser.parse(text, size, false).get(root);

    if (code != simdjson::SUCCESS) return simdjson::error_message(code);
    *out = reader_value(root);
    return nullptr;
}

levada_json_kind levada_json_kind_of(levada_json_value value)
{
    switch (reader_element(value).type()) {
    case dom::element_type::BOOL: return LEVADA_JSON_BOOL;
    case dom::element_type::INT64: return LEVADA_JSON_INT;
    case dom::element_type::UINT64: return LEVADA_JSON_BIG;
    case dom::element_type::DOUBLE: return LEVADA_JSON_FLOAT;
    case dom::element_type::STRING: return LEVADA_JSON_TEXT;
    case dom::element_type::ARRAY: return LEVADA_JSON_LIST;
    case dom::element_type::OBJECT: return LEVADA_JSON_MAP;
    default: return LEVADA_JSON_NULL;
    }
}

bool levada_json_as_bool(levada_json_value value)
{
    return reader_element(value).get_bool().value_unsafe();
}

int64_t levada_json_as_int(levada_json_value value)
{
    return reader_element(value).get_int64().value_unsafe();
}

uint64_t levada_json_as_big(levada_json_value value)
{
    return reader_element(value).get_uint64().value_unsafe();
}

double levada_json_as_float(levada_json_value value)
{
    return reader_element(value).get_double().value_unsafe();
}

const uint8_t *levada_json_as_text(levada_json_value value, size_t *size)
{
    std::string_view text = reader_element(value).get_string().value_unsafe();

    *size = text.size();
    return reinterpret_cast<const uint8_t *>(text.data());
}

bool levada_json_find(levada_json_value map, const char *name, size_t size,
                      levada_json_value *out)
{
    dom::element element = reader_element(map);
    dom::object  members = element.get_object().value_unsafe();
    bool         found = false;

    for (dom::key_value_pair field : members) {
        if (field.key.size() != size || std::memcmp(field.key.data(), name, size) != 0) continue;
        *out = reader_value(field.value);
        found = true;
    }
    return found;
}

bool levada_json_each(levada_json_value list, bool (*see)(void *user, levada_json_value item),
                      void *user)
{
    dom::element element = reader_element(list);
    dom::array   items = element.get_array().value_unsafe();

    for (dom::element item : items) {
        if (!see(user, reader_value(item))) return false;
    }
    return true;
}

bool levada_json_each_member(levada_json_value map,
                             bool (*see)(void *user, const char *name, size_t size,
                                         levada_json_value item),
                             void *user)
{
    dom::element element = reader_element(map);
    dom::object  members = element.get_object().value_unsafe();

    for (dom::key_value_pair field : members) {
        if (!see(user, field.key.data(), field.key.size(), reader_value(field.value)))
            return false;
    }
    return true;
}
