// SPDX-License-Identifier: Apache-2.0
// A program in C++17 that registers a stage of its own, runs it, and uses a queue. It compiles
// without warnings and exits with 0 when every result is right.
#define LEVADA_PLUGIN_HOST_SIDE
#include <levada/levada.h>
#include <levada/plugin.h>

#include <cstdio>
#include <cstdlib>
#include <string>

static_assert(LEVADA_VERSION_AT_LEAST(0, 1, 0), "the macros are constants");

namespace {

void need(bool holds, const char *what, const levada_error &err = LEVADA_ERROR_INIT)
{
    if (holds) return;
    char text[LEVADA_ERROR_TEXT];
    std::fprintf(stderr, "%s: %s\n", what, levada_error_text(&err, text, sizeof text));
    std::exit(1);
}

struct firsts_args {
    int64_t n, where;
};

struct firsts_state {
    int64_t passed;
};

const levada_arg firsts_options[] = {
    LEVADA_OPTION(INT, firsts_args, n, LEVADA_OPTION_REQUIRED | LEVADA_OPTION_POSITIONAL, 1, 0,
                  nullptr, "records to pass on"),
    LEVADA_OPTION_CHOICE(firsts_args, where, LEVADA_OPTION_PLAIN, "front|back", "currently ignored"),
    LEVADA_OPTION_END,
};

levada_status firsts_next(void *state, const void *args, levada_input *in, levada_block **out,
                          levada_error *err)
{
    auto *s = static_cast<firsts_state *>(state);
    auto *a = static_cast<const firsts_args *>(args);

    if (s->passed == a->n) return LEVADA_END;
    levada_cursor rest = {nullptr, 0};
    levada_status st = levada_cursor_fill(&rest, in, err);
    if (st == LEVADA_OK) st = levada_cursor_take(&rest, a->n - s->passed, out, err);
    levada_cursor_clear(&rest);
    if (st == LEVADA_OK) s->passed += levada_block_rows(*out);
    return st;
}

levada_status firsts_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_state_put_i64(to, "passed", static_cast<const firsts_state *>(state)->passed, err);
}

levada_status firsts_restore(void *state, levada_state_reader *from, levada_error *err)
{
    return levada_state_get_count(from, "passed", LEVADA_COUNT_LIMIT,
                                  &static_cast<firsts_state *>(state)->passed, err);
}

// C++17 has no designated initializers: members are set one by one.
const levada_traits first_traits = [] {
    levada_traits traits = {};
    traits.struct_size = sizeof traits;
    traits.rows = LEVADA_ROWS_SUBSET;
    traits.reads = LEVADA_READS_NONE;
    return traits;
}();

const levada_stage_def firsts = [] {
    levada_stage_def def = {};
    def.struct_size = sizeof def;
    def.name = "firsts";
    def.doc = "the first n records";
    def.example = "range:100 | firsts:3";
    def.mode = LEVADA_MODE_SERIAL;
    def.traits = &first_traits;
    def.args = firsts_options;
    def.args_size = sizeof(firsts_args);
    def.state_size = sizeof(firsts_state);
    def.state_version = 1;
    def.next = firsts_next;
    def.save = firsts_save;
    def.restore = firsts_restore;
    return def;
}();

extern "C" levada_status firsts_main(const levada_host *host, levada_plugin *plugin,
                                     levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "firsts", 1);
    return host->add_stage(plugin, &firsts, err);
}

int64_t count(levada_env *env, const std::string &text)
{
    levada_error err = LEVADA_ERROR_INIT;
    levada_dataset *dataset = nullptr;
    levada_iter *it = nullptr;
    levada_block *block = nullptr;
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_status st = LEVADA_OK;
    int64_t n = 0;

    options.threads = 2;
    need(levada_dataset_parse(env, text.c_str(), &dataset, &err) == LEVADA_OK, "parse", err);
    need(levada_iter_open(dataset, &options, &it, &err) == LEVADA_OK, "open", err);
    while ((st = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        n += levada_block_rows(block);
        levada_block_unref(&block);
    }
    need(st == LEVADA_END, "next", err);
    levada_iter_close(&it);
    levada_dataset_unref(&dataset);
    return n;
}

void use_queue()
{
    levada_error err = LEVADA_ERROR_INIT;
    levada_queue_options options = LEVADA_QUEUE_OPTIONS_INIT;
    const levada_dtype dtype = LEVADA_INT64;
    const levada_shape shape = {0, {0}};
    levada_queue *queue = nullptr;
    const int64_t in[] = {7, 8};
    int64_t out[] = {0, 0}, done = 0;
    const void *from[] = {in};
    void *to[] = {out};

    options.capacity = 4;
    options.ncomponents = 1;
    options.dtypes = &dtype;
    options.shapes = &shape;
    need(levada_queue_create(nullptr, &options, &queue, &err) == LEVADA_OK, "create", err);
    need(levada_queue_enqueue_rows(queue, 2, from, LEVADA_FOREVER, &done, &err) == LEVADA_OK,
         "enqueue", err);
    need(levada_queue_dequeue_rows(queue, 2, false, to, LEVADA_FOREVER, &done, &err) == LEVADA_OK,
         "dequeue", err);
    need(out[0] == 7 && out[1] == 8, "the rows come back");
    levada_queue_unref(&queue);
}

} // namespace

int main()
{
    levada_error err = LEVADA_ERROR_INIT;
    levada_env *env = nullptr;

    need(levada_env_create(nullptr, &env, &err) == LEVADA_OK, "environment", err);
    need(levada_plugin_register(env, firsts_main, nullptr, &err) == LEVADA_OK, "register", err);
    need(count(env, "range:1000 | firsts:300") == 300, "300 records");
    need(count(env, "range:1000 | firsts:5,where=back") == 5, "5 records");
    use_queue();
    levada_env_destroy(&env);
    std::puts("C++ ok");
    return 0;
}
