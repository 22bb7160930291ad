/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a document as JSON again, without white space; numbers keep their bytes. */
#include "rows/json_parser.h"

typedef struct text_writer {
    levada_json_parser *parser;
    levada_text        *out;
    bool                first; /* of a list or an object */
} text_writer;

static void text_comma(text_writer *w)
{
    if (!w->first) levada_text_char(w->out, ',');
    w->first = false;
}

static bool text_item(void *user, levada_json_value item)
{
    text_writer *w = user;

    text_comma(w);
    levada_json_text(w->parser, item, w->out);
    return !w->out->failed;
}

static bool text_member(void *user, const char *name, size_t size, levada_json_value item)
{
    text_writer *w = user;

    text_comma(w);
    levada_text_json(w->out, name, size);
    levada_text_char(w->out, ':');
    levada_json_text(w->parser, item, w->out);
    return !w->out->failed;
}

static void text_odd(levada_json_parser *p, levada_json_value value, levada_text *out)
{
    levada_json_odd odd = levada_json_parser_odd(p, value);

    levada_text_add(out, odd.text, (size_t)odd.size);
}

static void text_string(levada_json_value value, levada_text *out)
{
    size_t         size;
    const uint8_t *bytes = levada_json_as_text(value, &size);

    levada_text_json(out, (const char *)bytes, size);
}

static void text_number(levada_json_parser *p, levada_json_value value, levada_text *out)
{
    const levada_json_number *number = levada_json_parser_number(p, value);

    if (number) levada_text_add(out, number->text, (size_t)number->size);
    else out->failed = true;
}

/* Adds an integer; zero may be "-0". */
static void text_integer(levada_json_parser *p, levada_json_value value, levada_text *out)
{
    int64_t i = levada_json_as_int(value);

    if (i) levada_text_i64(out, i);
    else text_number(p, value, out);
}

void levada_json_text(levada_json_parser *p, levada_json_value value, levada_text *out)
{
    text_writer w = { p, out, true };

    switch (levada_json_kind_of(value)) {
    case LEVADA_JSON_NULL: levada_text_put(out, "null"); break;
    case LEVADA_JSON_BOOL:
        levada_text_put(out, levada_json_as_bool(value) ? "true" : "false");
        break;
    case LEVADA_JSON_INT: text_integer(p, value, out); break;
    case LEVADA_JSON_BIG: text_odd(p, value, out); break;
    case LEVADA_JSON_FLOAT: text_number(p, value, out); break;
    case LEVADA_JSON_TEXT: text_string(value, out); break;
    case LEVADA_JSON_LIST:
        levada_text_char(out, '[');
        (void)levada_json_each(value, text_item, &w);
        levada_text_char(out, ']');
        break;
    case LEVADA_JSON_MAP:
        levada_text_char(out, '{');
        (void)levada_json_each_member(value, text_member, &w);
        levada_text_char(out, '}');
        break;
    }
}
