/* SPDX-License-Identifier: Apache-2.0 */
/*
 * my_reader - a source of one's own: ten records "MyReader!0" .. "MyReader!9", which can be saved
 * and restored. Compile it with nothing but levada's headers:
 *
 *     cc -shared -fPIC -I include plugins/example/my_reader.c -o my_reader.so
 */
#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

typedef struct my_reader_state {
    const levada_context *context;
    int64_t               at;
} my_reader_state;

static levada_status my_reader_check(const void *args, levada_spec **out, levada_error *err)
{
    levada_field record = { .name = "record", .dtype = LEVADA_BYTES };

    (void)args;
    return levada_spec_create(&record, 1, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status my_reader_open(void *state, const void *args, const levada_context *context,
                                    levada_error *err)
{
    (void)args, (void)err;
    ((my_reader_state *)state)->context = context;
    return LEVADA_OK;
}

static levada_status my_reader_next(void *state, const void *args, levada_block **out,
                                    levada_error *err)
{
    my_reader_state *s = state;
    levada_builder  *b = NULL;
    levada_status    st;
    char             text[] = "MyReader!0";

    (void)args;
    if (s->at == 10) return LEVADA_END;
    text[9] = (char)('0' + s->at);
    LEVADA_TRY(levada_builder_create(s->context->env, s->context->out, -1, &b, err));
    st = levada_builder_push_bytes(b, 0, text, 10, err);
    if (st == LEVADA_OK) st = levada_builder_publish(&b, out, err);
    if (st == LEVADA_OK) s->at++;
    levada_builder_destroy(&b);
    return st;
}

static levada_status my_reader_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "at", ((const my_reader_state *)state)->at, err);
}

static levada_status my_reader_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_state_get_count(from, "at", 10, &((my_reader_state *)state)->at, err);
}

static const levada_source_def my_reader = {
    .struct_size = sizeof(levada_source_def),
    .name = "my_reader",
    .doc = "ten records \"MyReader!\"",
    .example = "my_reader",
    .state_size = sizeof(my_reader_state),
    .state_version = 1,
    .check = my_reader_check,
    .open = my_reader_open,
    .next = my_reader_next,
    .save = my_reader_save,
    .restore = my_reader_restore,
};

levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin, levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "my_reader", 1);
    return host->add_source(plugin, &my_reader, err);
}
