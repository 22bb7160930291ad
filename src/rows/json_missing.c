/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for json_reader.cpp where the build did not find simdjson. */
#include "rows/json_reader.h"

levada_status levada_json_reader_create(levada_json_reader **out, levada_error *err)
{
    *out = NULL;
    return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                       "JSON: levada was built without simdjson (on Debian: apt install "
                       "libsimdjson-dev)");
}

void levada_json_reader_destroy(levada_json_reader **reader) { *reader = NULL; }

levada_status levada_json_reader_reserve(levada_json_reader *reader, size_t size,
                                         levada_error *err)
{
    (void)size;
    return levada_json_reader_create(&reader, err);
}

const char *levada_json_reader_parse(levada_json_reader *reader, const uint8_t *text, size_t size,
                                     levada_json_value *out)
{
    (void)reader, (void)text, (void)size, (void)out;
    return "levada was built without simdjson";
}

levada_json_kind levada_json_kind_of(levada_json_value value)
{
    (void)value;
    return LEVADA_JSON_NULL;
}

bool levada_json_as_bool(levada_json_value value)
{
    (void)value;
    return false;
}

int64_t levada_json_as_int(levada_json_value value)
{
    (void)value;
    return 0;
}

uint64_t levada_json_as_big(levada_json_value value)
{
    (void)value;
    return 0;
}

double levada_json_as_float(levada_json_value value)
{
    (void)value;
    return 0;
}

const uint8_t *levada_json_as_text(levada_json_value value, size_t *size)
{
    (void)value;
    *size = 0;
    return NULL;
}

bool levada_json_find(levada_json_value map, const char *name, size_t size,
                      levada_json_value *out)
{
    (void)map, (void)name, (void)size, (void)out;
    return false;
}

bool levada_json_each(levada_json_value list, bool (*see)(void *user, levada_json_value item),
                      void *user)
{
    (void)list, (void)see, (void)user;
    return true;
}

bool levada_json_each_member(levada_json_value map,
                             bool (*see)(void *user, const char *name, size_t size,
                                         levada_json_value item),
                             void *user)
{
    (void)map, (void)see, (void)user;
    return true;
}
