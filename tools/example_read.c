/* SPDX-License-Identifier: Apache-2.0 */
#include "example.h"

#include "json.h"

#include <string.h>

/* A stretch of protobuf wire format that is read from the front. */
typedef struct read_wire {
    const uint8_t *at, *end;
    bool           bad;
} read_wire;

static uint64_t example_read_varint(read_wire *w)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 64 && w->at < w->end; shift += 7) {
        uint8_t byte = *w->at++;

        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return value;
    }
    w->bad = true;
    return 0;
}

/* The next n bytes as a stretch of their own. */
static read_wire example_read_part(read_wire *w, uint64_t n)
{
    read_wire part = { w->at, w->at, false };

    if (n > (uint64_t)(w->end - w->at)) {
        w->bad = true;
        return part;
    }
    w->at += n;
    part.end = w->at;
    return part;
}

/* The next field, which must be a message or string with a number up to `most`; 0 at the end. */
static uint32_t example_read_field(read_wire *w, uint32_t most, read_wire *part)
{
    uint64_t tag;

    if (w->bad || w->at == w->end) return 0;
    tag = example_read_varint(w);
    if (tag >> 3 == 0 || tag >> 3 > most || (tag & 7) != 2) w->bad = true;
    if (w->bad) return 0;
    *part = example_read_part(w, example_read_varint(w));
    return w->bad ? 0 : (uint32_t)(tag >> 3);
}

static void example_read_comma(levada_cli_buffer *b, int64_t n)
{
    if (n > 0) levada_cli_puts(b, ",");
}

/* One value of a FloatList (type 2) or Int64List (type 3). */
static void example_read_number(read_wire *w, uint32_t type, levada_cli_buffer *b)
{
    read_wire four;
    float     value = 0;

    if (type == 3) {
        levada_cli_int(b, (int64_t)example_read_varint(w));
        return;
    }
    four = example_read_part(w, sizeof value);
    if (!w->bad) memcpy(&value, four.at, sizeof value);
    levada_cli_json_float_put(b, (double)value, true);
}

/* All values of a FloatList or Int64List: packed, or one by one. */
static int64_t example_read_numbers(read_wire *w, uint32_t type, levada_cli_buffer *b)
{
    int64_t n = 0;

    while (!w->bad && w->at < w->end) {
        uint64_t  tag = example_read_varint(w);
        bool      packed = tag == (1 << 3 | 2);
        read_wire part;

        if (!packed && tag != (type == 2 ? 1 << 3 | 5 : 1 << 3)) w->bad = true;
        if (w->bad) break;
        if (!packed) {
            example_read_comma(b, n++);
            example_read_number(w, type, b);
            continue;
        }
        part = example_read_part(w, example_read_varint(w));
        while (!part.bad && part.at < part.end) {
            example_read_comma(b, n++);
            example_read_number(&part, type, b);
        }
        if (part.bad) w->bad = true;
    }
    return n;
}

static int64_t example_read_strings(read_wire *w, levada_cli_buffer *b)
{
    read_wire part = { NULL, NULL, false };
    int64_t   n = 0;

    while (example_read_field(w, 1, &part) != 0) {
        example_read_comma(b, n++);
        levada_cli_json_text(b, part.at, (size_t)(part.end - part.at));
    }
    return n;
}

/* One Feature as a JSON list; its type and number of values. */
static int64_t example_read_feature(read_wire *w, levada_cli_buffer *b, const char **type)
{
    static const char *const types[] = { "", "bytes", "float", "int64" };
    read_wire                list = { NULL, NULL, false };
    uint32_t                 field;
    int64_t                  n = 0;

    levada_cli_puts(b, "[");
    while ((field = example_read_field(w, 3, &list)) != 0) {
        *type = types[field];
        n += field == 1 ? example_read_strings(&list, b) : example_read_numbers(&list, field, b);
        if (list.bad) w->bad = true;
    }
    levada_cli_puts(b, "]");
    return n;
}

/* A FeatureList: one JSON list a step. */
static int64_t example_read_steps(read_wire *w, levada_cli_buffer *b, const char **type)
{
    read_wire step = { NULL, NULL, false };
    int64_t   n = 0;

    levada_cli_puts(b, "[");
    while (example_read_field(w, 1, &step) != 0) {
        example_read_comma(b, n++);
        example_read_feature(&step, b, type);
        if (step.bad) w->bad = true;
    }
    levada_cli_puts(b, "]");
    return n;
}

typedef void (*read_visit)(void *user, const levada_cli_feature *feature);

/* One entry of a map from names to features or feature lists. */
static void example_read_entry(read_wire *entry, levada_cli_feature *f, read_visit visit,
                               void *user)
{
    read_wire part = { NULL, NULL, false };
    uint32_t  field;

    f->name = "";
    f->name_size = 0;
    f->type = "";
    f->count = 0;
    f->values.size = 0;
    while ((field = example_read_field(entry, 2, &part)) != 0) {
        if (field == 1) {
            f->name = (const char *)part.at;
            f->name_size = (size_t)(part.end - part.at);
            if (!levada_cli_is_utf8(part.at, f->name_size)) entry->bad = true;
            continue;
        }
        f->values.size = 0;
        f->count = f->sequence ? example_read_steps(&part, &f->values, &f->type)
                               : example_read_feature(&part, &f->values, &f->type);
        if (part.bad) entry->bad = true;
    }
    if (f->values.size == 0) levada_cli_puts(&f->values, "[]");
    if (visit && !entry->bad) visit(user, f);
    f->first = false;
}

static void example_read_map(read_wire *map, bool sequence, read_visit visit, void *user)
{
    levada_cli_feature f = { .first = true, .sequence = sequence };
    read_wire          entry = { NULL, NULL, false };

    while (example_read_field(map, 1, &entry) != 0) {
        example_read_entry(&entry, &f, visit, user);
        if (entry.bad) map->bad = true;
    }
    levada_cli_buffer_clear(&f.values);
}

static levada_cli_message example_read(const uint8_t *record, size_t size, read_visit visit,
                                       void *user)
{
    read_wire w = { record, record + size, false }, map = { NULL, NULL, false };
    uint32_t  field;
    bool      sequence = false;

    while ((field = example_read_field(&w, 2, &map)) != 0) {
        sequence = sequence || field == 2;
        example_read_map(&map, field == 2, visit, user);
        if (map.bad) w.bad = true;
    }
    return w.bad ? LEVADA_CLI_OTHER : sequence ? LEVADA_CLI_SEQUENCE : LEVADA_CLI_EXAMPLE;
}

levada_cli_message levada_cli_example_kind(const uint8_t *record, size_t size)
{
    return example_read(record, size, NULL, NULL);
}

void levada_cli_example_each(const uint8_t *record, size_t size,
                             void (*visit)(void *user, const levada_cli_feature *feature),
                             void *user)
{
    example_read(record, size, visit, user);
}

typedef struct read_json {
    levada_cli_buffer *out;
    bool               sections; /* it is a SequenceExample */
    bool               in_sequence;
} read_json;

static void example_read_to_json(void *user, const levada_cli_feature *f)
{
    read_json *json = user;

    if (f->sequence && !json->in_sequence) {
        levada_cli_puts(json->out, "},\"sequence\":{");
        json->in_sequence = true;
    }
    if (!f->first) levada_cli_puts(json->out, ",");
    levada_cli_json_text(json->out, f->name, f->name_size);
    levada_cli_puts(json->out, ":");
    levada_cli_add(json->out, f->values.at, f->values.size);
}

void levada_cli_example_json(levada_cli_buffer *b, const uint8_t *record, size_t size)
{
    levada_cli_message kind = levada_cli_example_kind(record, size);
    read_json          json = { b, kind == LEVADA_CLI_SEQUENCE, false };

    if (kind == LEVADA_CLI_OTHER) {
        levada_cli_puts(b, "{\"record\":");
        levada_cli_json_text(b, record, size);
        levada_cli_puts(b, "}");
        return;
    }
    levada_cli_puts(b, json.sections ? "{\"context\":{" : "{");
    levada_cli_example_each(record, size, example_read_to_json, &json);
    if (json.sections && !json.in_sequence) levada_cli_puts(b, "},\"sequence\":{");
    levada_cli_puts(b, json.sections ? "}}" : "}");
}
