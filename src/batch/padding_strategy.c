/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/padding_strategy.h"

#include "base/alloc.h"
#include <levada/builder.h>

#include <string.h>

static levada_status strategy_memory(levada_error *err)
{
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a report");
}

/* -- the records, of which only the lengths are known */

/* Makes a dataset of this block. */
static levada_status strategy_source(const levada_block *block, levada_dataset **out,
                                                  levada_error *err)
{
    levada_value *options = levada_value_map(), *data = levada_value_block(block);
    levada_status st = options && data ? LEVADA_OK : strategy_memory(err);

    if (st == LEVADA_OK) st = levada_value_set(options, "data", &data, err);
    if (st == LEVADA_OK) st = levada_dataset_append(NULL, "memory", options, NULL, 0, out, err);
    levada_value_destroy(&data);
    levada_value_destroy(&options);
    return st;
}

levada_status levada_padding_lengths(const char *name, const int64_t *lengths, int64_t n,
                                     levada_dataset **out, levada_error *err)
{
    levada_field    field = { .name = name, .dtype = LEVADA_INT64 };
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL;
    void           *values = NULL;
    levada_status   st = levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err);

    if (st == LEVADA_OK) st = levada_builder_create(NULL, spec, n, &b, err);
    if (st == LEVADA_OK) st = levada_builder_values(b, 0, n, &values, err);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        ((int64_t *)values)[i] = lengths[i] > 0 ? lengths[i] : 0;
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &block, err);
    if (st == LEVADA_OK) st = strategy_source(block, out, err);
    levada_block_unref(&block);
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    return st;
}

levada_status levada_padding_sequences(const char *name, const int64_t *lengths, int64_t n,
                                       int64_t most, levada_dataset **out, double *pieces,
                                       levada_error *err)
{
    levada_field    field = { .name = name, .dtype = LEVADA_UINT8, .depth = 1 };
    levada_spec    *spec = NULL;
    levada_builder *b = NULL;
    levada_block   *block = NULL;
    int32_t        *begin = NULL, *end = NULL;
    void           *values = NULL;
    levada_status   st = levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, &spec, err);

    if (st == LEVADA_OK) st = levada_builder_create(NULL, spec, n, &b, err);
    if (st == LEVADA_OK) st = levada_builder_ranges(b, 0, 0, n, &begin, &end, err);
    if (st == LEVADA_OK) st = levada_builder_values(b, 0, most, &values, err);
    if (st == LEVADA_OK) memset(values, 0, (size_t)most);
    for (int64_t i = 0; st == LEVADA_OK && i < n; i++) {
        int64_t length = lengths[i] > 0 ? lengths[i] : 0;
        int64_t whole = length > most ? length / most : 0;

        begin[i] = 0;
        end[i] = (int32_t)(length - whole * most);
        *pieces += (double)whole;
    }
    if (st == LEVADA_OK) st = levada_builder_publish(&b, &block, err);
    if (st == LEVADA_OK) st = strategy_source(block, out, err);
    levada_block_unref(&block);
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    return st;
}

/* -- a strategy, and how users write it */

void levada_padding_strategy_clear(levada_padding_strategy *s)
{
    for (int i = 0; i < LEVADA_PADDING_STAGES; i++) levada_text_clear(&s->options[i]);
    levada_text_clear(&s->text);
    levada_text_clear(&s->call);
}

/* Calls name(first, second=..., ...) */
static levada_status strategy_call(levada_text *to, const char *name,
                                           const levada_value *options, levada_error *err)
{
    levada_text_format(to, "%s%s(", to->size ? "." : "", name);
    for (int64_t i = 0; i < levada_value_count(options); i++) {
        char *value = NULL;

        LEVADA_TRY(levada_value_json(levada_value_item(options, i), &value, err));
        if (i > 0) levada_text_format(to, ", %s=", levada_value_key(options, i));
        levada_text_put(to, value);
        levada_string_free(&value);
    }
    levada_text_char(to, ')');
    return LEVADA_OK;
}

/* Appends one stage of a strategy. */
static levada_status strategy_append(levada_padding_strategy *s, int i, levada_dataset **dataset,
                                             levada_error *err)
{
    const levada_dataset *in = *dataset;
    levada_dataset       *out = NULL;
    levada_value         *value = NULL;
    levada_text           map = { 0 };
    levada_status         st;

    levada_text_format(&map, "{%s}", s->options[i].at ? s->options[i].at : "");
    st = map.failed || s->options[i].failed ? strategy_memory(err)
                                            : levada_value_parse(map.at, &value, err);
    if (st == LEVADA_OK) st = strategy_call(&s->call, s->stage[i], value, err);
    if (st == LEVADA_OK) st = levada_dataset_append(NULL, s->stage[i], value, &in, 1, &out, err);
    levada_value_destroy(&value);
    levada_text_clear(&map);
    if (st != LEVADA_OK) return st;
    levada_dataset_unref(dataset);
    *dataset = out;
    return LEVADA_OK;
}

levada_status levada_padding_strategy_make(levada_padding_strategy *s, const levada_dataset *in,
                                           levada_dataset **out, levada_error *err)
{
    levada_dataset *made = levada_dataset_ref(in);
    char           *text = NULL;
    const char     *stage;
    levada_status   st = LEVADA_OK;

    for (int i = 0; st == LEVADA_OK && i < LEVADA_PADDING_STAGES && s->stage[i]; i++) {
        st = strategy_append(s, i, &made, err);
    }
    if (st == LEVADA_OK) st = levada_dataset_text(made, &text, err);
    if (st == LEVADA_OK) {
        stage = strstr(text, " | ");
        levada_text_put(&s->text, stage ? stage + 3 : text);
        if (s->text.failed) st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    }
    if (st == LEVADA_OK) *out = made;
    else levada_dataset_unref(&made);
    levada_string_free(&text);
    return st;
}
