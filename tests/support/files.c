/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"

#include "base/kernels.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char files_folder[64];

/* -- bytes */

/* Exact while small, so that a sanitizer sees reads after the end; later realloc, which copies
 * under a sanitizer, must be rare. */
static size_t files_reserve(size_t size)
{
    size_t capacity = 1 << 14;

    if (size < capacity) return size + 1;
    while (capacity <= size) capacity *= 2;
    return capacity;
}

void t_add(t_bytes *bytes, const void *data, size_t size)
{
    size_t capacity = files_reserve(bytes->size + size);

    if (!bytes->at || capacity != files_reserve(bytes->size)) {
        bytes->at = realloc(bytes->at, capacity);
        assert_non_null(bytes->at);
    }
    if (size > 0) memcpy(bytes->at + bytes->size, data, size);
    bytes->size += size;
    bytes->at[bytes->size] = 0;
}

static void files_add_number(t_bytes *bytes, uint64_t value, int size)
{
    uint8_t raw[8];

    for (int i = 0; i < size; i++) raw[i] = (uint8_t)(value >> 8 * i);
    t_add(bytes, raw, (size_t)size);
}

void t_add_record(t_bytes *bytes, const void *data, size_t size)
{
    const levada_kernels *k = levada_kernels_for(LEVADA_CPU_PORTABLE);
    size_t                at = bytes->size;

    files_add_number(bytes, size, 8);
    files_add_number(bytes, levada_crc32c_mask(k->crc32c(0, bytes->at + at, 8)), 4);
    t_add(bytes, data, size);
    files_add_number(bytes, levada_crc32c_mask(k->crc32c(0, data, size)), 4);
}

void t_clear(t_bytes *bytes)
{
    free(bytes->at);
    *bytes = (t_bytes){0};
}

void t_write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    if (size > 0) assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

t_bytes t_read_file(const char *path)
{
    t_bytes bytes = {0};
    char    part[4096];
    size_t  n;
    FILE   *file = fopen(path, "rb");

    assert_non_null(file);
    t_add(&bytes, NULL, 0);
    while ((n = fread(part, 1, sizeof part, file)) > 0) t_add(&bytes, part, n);
    (void)fclose(file);
    return bytes;
}

static void files_encode_part(const levada_filter_def *filter, void *state, t_bytes *out,
                              levada_filter_step step)
{
    static uint8_t buffer[1024];

    for (;;) {
        step.out = buffer;
        step.out_size = sizeof buffer;
        assert_int_equal(filter->encode(state, &step, NULL), LEVADA_OK);
        t_add(out, buffer, step.made);
        step.in += step.used;
        step.in_size -= step.used;
        if (step.in_ended ? step.finished : step.in_size == 0 && step.made < sizeof buffer) return;
    }
}

bool t_has(const char *library)
{
    char         *json = NULL;
    levada_value *value = NULL;
    bool          has;

    assert_int_equal(levada_config_describe(NULL, &json, NULL), LEVADA_OK);
    assert_int_equal(levada_value_parse_json(json, strlen(json), &value, NULL), LEVADA_OK);
    has = levada_value_kind_of(levada_value_get(value, library)) == LEVADA_VALUE_TEXT;
    levada_string_free(&json);
    levada_value_destroy(&value);
    return has;
}

bool t_can(const char *name)
{
    const levada_filter_def *filter = name ? levada_registry_filter(NULL, name) : NULL;
    void                    *state;
    levada_status            st;

    if (!name) return true;
    assert_non_null(filter);
    state = calloc(1, filter->state_size);
    st = filter->open_encoder(state, -1, 0, NULL);
    if (st == LEVADA_OK) filter->close_encoder(state);
    free(state);
    return st == LEVADA_OK;
}

t_bytes t_encode(const char *name, const void *data, size_t size, size_t flush_at)
{
    const levada_filter_def *filter = levada_registry_filter(NULL, name);
    void                    *state;
    t_bytes                  out = {0};
    const uint8_t           *in = data;
    levada_status            st;

    assert_non_null(filter);
    if (!filter->open_encoder) skip(); /* built without its library */
    state = calloc(1, filter->state_size);
    st = filter->open_encoder(state, -1, 0, NULL);
    if (st == LEVADA_EUNIMPLEMENTED) skip();
    assert_int_equal(st, LEVADA_OK);
    if (flush_at > 0) {
        files_encode_part(filter, state, &out,
                          (levada_filter_step){.in = in, .in_size = flush_at, .flush = true});
    }
    files_encode_part(filter, state, &out,
                      (levada_filter_step){
                          .in = in + flush_at, .in_size = size - flush_at, .in_ended = true});
    filter->close_encoder(state);
    free(state);
    return out;
}

/* -- folders */

const char *t_folder(void)
{
    const char *where = getenv("TMPDIR");

    (void)snprintf(files_folder, sizeof files_folder, "%s/levada-XXXXXX", where ? where : "/tmp");
    assert_non_null(mkdtemp(files_folder));
    return files_folder;
}

/* Before main(): where a shell ignores SIGCHLD, a test would not hear how its child ended. */
__attribute__((constructor)) static void files_hear_of_children(void)
{
    (void)signal(SIGCHLD, SIG_DFL);
}

void t_folder_drop(void)
{
    char command[128];

    assert_true(strstr(files_folder, "levada-") != NULL);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", files_folder);
    assert_int_equal(system(command), 0);
}

int t_folder_set_up(void **state)
{
    (void)state;
    return t_folder() == NULL;
}

int t_folder_tear_down(void **state)
{
    (void)state;
    t_folder_drop();
    return 0;
}

const char *t_path(const char *name)
{
    static _Thread_local char slots[8][256];
    static _Thread_local int  next;
    char                     *slot = slots[next++ % 8];

    (void)snprintf(slot, sizeof slots[0], "%s/%s", files_folder, name);
    return slot;
}

/* -- readers */

static void files_set(const t_reader *t, const levada_op *op, uint8_t *args)
{
    const struct {
        const char *name;
        int64_t     number;
        bool        flag;
    } given[] = {
        { "verify", 0, !t->unverified },
        { "drop_partial", 0, t->drop_partial },
        { "skip_lines", t->skip_lines, false },
        { "record_bytes", t->record_bytes, false },
        { "header_bytes", t->header_bytes, false },
        { "footer_bytes", t->footer_bytes, false },
        { "hop_bytes", t->hop_bytes, false },
    };

    for (const levada_arg *a = op->args; a->name; a++) {
        for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
            void *to = args + a->offset;

            if (strcmp(a->name, given[i].name) != 0) continue;
            if (a->type == LEVADA_ARG_BOOL) *(bool *)to = given[i].flag;
            if (a->type != LEVADA_ARG_BOOL) *(int64_t *)to = given[i].number;
        }
    }
}

levada_status t_open(t_reader *t)
{
    const levada_op  *op = levada_registry_find(t->env, t->format);
    levada_file_args *files;

    assert_non_null(op);
    levada_error_clear(&t->err);
    t->args = calloc(1, op->args_size);
    files_set(t, op, t->args);
    files = (void *)((uint8_t *)t->args + op->core_offset);
    files->files.at = t->paths;
    while (files->files.n < 8 && t->paths[files->files.n]) files->files.n++;
    files->compression = t->compression ? t->compression : "auto";
    files->shuffle_files = t->shuffle;
    files->errors = t->errors;
    t->context = (levada_context){
        .struct_size = sizeof t->context,
        .env = t->env,
        .seed = t->seed,
        .block_rows = t->block_rows > 0 ? t->block_rows : 256,
        .threads = t->threads > 0 ? t->threads : 1,
        .max_record_bytes = t->max_record_bytes > 0 ? t->max_record_bytes : INT64_C(256) << 20,
    };
    return levada_file_reader_create(&t->context, op, t->args, 3, NULL, &t->reader,
                                     &t->err);
}

void t_close(t_reader *t)
{
    levada_file_reader_destroy(&t->reader);
    free(t->args);
    t->args = NULL;
}

void t_rows(const levada_block *block, t_bytes *text)
{
    const levada_column *column;

    assert_int_equal(levada_spec_count(levada_block_spec(block)), 1);
    for (int64_t i = 0; i < levada_block_rows(block); i++) {
        int64_t              size = 0, row = i;
        char                 at[32];
        const levada_block  *data = levada_block_row(block, i, &row);
        const uint8_t       *bytes;
        int                  n;

        column = levada_block_at(data, 0);
        bytes = levada_column_bytes(column, row, &size);
        t_add(text, bytes, (size_t)size);
        n = snprintf(at, sizeof at, "@%lld ", (long long)levada_block_origin(block, i).offset);
        t_add(text, at, (size_t)n);
    }
}

levada_status t_drain(t_reader *t, t_bytes *text)
{
    levada_status st = LEVADA_OK;

    t_add(text, NULL, 0);
    while (st == LEVADA_OK) {
        levada_block *block = NULL;

        st = levada_file_reader_next(t->reader, &block, &t->err);
        if (st != LEVADA_OK) break;
        assert_in_range(levada_block_rows(block), 1, t->context.block_rows);
        t_rows(block, text);
        levada_block_unref(&block);
    }
    return st;
}

void t_expect(t_reader *t, const char *rows, levada_status status)
{
    t_bytes text = {0};

    assert_int_equal(t_open(t), LEVADA_OK);
    assert_int_equal(t_drain(t, &text), status);
    assert_string_equal((char *)text.at, rows);
    assert_int_equal(t_drain(t, &text), status); /* it is repeated */
    assert_string_equal((char *)text.at, rows);
    t_clear(&text);
    t_close(t);
}
