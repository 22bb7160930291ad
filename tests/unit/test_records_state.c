/* SPDX-License-Identifier: Apache-2.0 */
/* Records that wait are saved as their origins and read again from their files. */
#include "base/alloc.h"
#include "run/iter.h"
#include "state/state_priv.h"
#include "support/functions.h"
#include "support/iters.h"

#include <levada/builder.h>
#include <levada/example.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPEC "{x:{kind:VarLen,dtype:int64},n:{kind:FixedLen,shape:[],dtype:int64}}"

/* An Example: n = i, x = i % 9 times i. */
static void add_example(t_bytes *to, levada_example *e, int64_t i)
{
    int64_t        x[9] = { i, i, i, i, i, i, i, i, i };
    const uint8_t *data = NULL;
    size_t         size = 0;

    levada_example_reset(e);
    assert_int_equal(levada_example_add_i64(e, "x", x, i % 9, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_i64(e, "n", &i, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_example_finish(e, &data, &size, NULL), LEVADA_OK);
    t_add_record(to, data, size);
}

static t_bytes examples(int64_t first, int64_t n)
{
    t_bytes         bytes = { 0 };
    levada_example *e = NULL;

    assert_int_equal(levada_example_create(&e, NULL), LEVADA_OK);
    for (int64_t i = 0; i < n; i++) add_example(&bytes, e, first + i);
    levada_example_destroy(&e);
    return bytes;
}

/* a.tfrecord and b.tfrecord, 40 and 33 records. */
static void write_files(const char *filter)
{
    t_bytes a = examples(0, 40), b = examples(40, 33);

    if (filter) {
        t_bytes plain[2] = { a, b };

        a = t_encode(filter, a.at, a.size, 0);
        b = t_encode(filter, b.at, b.size, 0);
        t_clear(&plain[0]);
        t_clear(&plain[1]);
    }
    t_write_file(t_path("a.tfrecord"), a.at, a.size);
    t_write_file(t_path("b.tfrecord"), b.at, b.size);
    t_clear(&a);
    t_clear(&b);
}

static const char *over(const char *folder, const char *rest)
{
    static char text[1024];

    (void)snprintf(text, sizeof text, "tfrecord:%s/*.tfrecord%s", folder, rest);
    return text;
}

static void files_of_every_kind(void **state)
{
    static const char *const filters[] = { NULL, "gzip", "zlib", "zstd" };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const char *folder;

        if (filters[i] && !levada_registry_filter(NULL, filters[i])) continue;
        folder = t_folder();
        write_files(filters[i]);
        t_iter_sweep(over(folder, " | shuffle:15"), false, 3);
        t_iter_sweep(over(folder, ",shuffle_files=true | shuffle:15 | repeat:2"), false, 7);
        t_iter_sweep(over(folder, " | shuffle:15 | parse_example:" SPEC
                                  " | bucket_by_sequence_length:x,boundaries=[3,6],batch_sizes=4"),
                     true, 2);
        t_folder_drop();
    }
}

static void waiting_behind_a_decoder(void **state)
{
    const char *folder = t_folder();

    (void)state;
    write_files(NULL);
    t_iter_sweep(over(folder, " | parse_example:" SPEC " | shuffle:15 | padded_batch:4"), true, 2);
    t_iter_sweep(over(folder, " | parse_example:" SPEC " | shuffle:15 | shuffle:20 | batch:4"),
                 true, 2);
    t_iter_sweep(over(folder, " | prefetch:2 | shuffle:11 | prefetch:2 | parse_example:" SPEC
                              " | shuffle:9 | repeat:2 | batch:4 | unbatch | shuffle:6 | batch:3"),
                 true, 4);
    t_folder_drop();
}

static void lines(void **state)
{
    t_bytes text = { 0 };
    char    line[64], pipe[256];

    (void)state;
    for (int i = 0; i < 60; i++) {
        t_add(&text, line, (size_t)snprintf(line, sizeof line, "%*d\n", i % 13, i));
    }
    (void)t_folder();
    t_write_file(t_path("a.txt"), text.at, text.size);
    (void)snprintf(pipe, sizeof pipe, "text_lines:%s | shuffle:15 | "
                   "bucket_by_sequence_length:line,boundaries=[4,8],batch_sizes=4",
                   t_path("a.txt"));
    t_iter_sweep(pipe, true, 1);
    t_clear(&text);
    t_folder_drop();
}

static bool holds(t_bytes state, const char *text)
{
    return memmem(state.at, state.size, text, strlen(text)) != NULL;
}

/* By origin a record takes some bytes; by value all of it. */
static void origins_are_small(void **state)
{
    const char  *folder = t_folder();
    levada_iter *it;
    t_bytes      saved, head = { 0 }, record = { 0 }, file = { 0 };
    char        *big = calloc(1, 20000);

    (void)state;
    assert_non_null(big);
    for (int i = 0; i < 40; i++) {
        memset(big, 'a' + i % 26, 20000);
        t_add_record(&file, big, 20000);
    }
    t_write_file(t_path("a.tfrecord"), file.at, file.size);
    it = t_iter_open(over(folder, " | shuffle:20"), 1, 4);
    (void)t_iter_read(it, 1, false, &head);
    saved = t_iter_save(it);
    assert_true(saved.size < 4000);
    assert_false(holds(saved, "aaaaaaaa"));
    levada_iter_close(&it);
    t_clear(&saved);
    t_clear(&head);
    t_clear(&file);
    t_clear(&record);
    free(big);
    t_folder_drop();
}

static size_t written(const levada_state_writer *w)
{
    size_t sum = 0;

    for (int32_t i = 0; i < w->n; i++) sum += w->entries[i].size;
    return sum;
}

/* What is zipped with a stream cannot be read again. What a combiner gathers for a save() that may
 * never come costs no copy of the records; that comes with the save(). */
static void values_are_held_until_they_are_asked_for(void **state)
{
    levada_iter        *it = t_iter_open("zip(range:2000; t_stream:2000 | select:[n])"
                                         " | shuffle:1000",
                                         1, 4);
    levada_state_writer w = { 0 };
    t_bytes             head = { 0 };
    size_t              before;

    (void)state;
    (void)t_iter_read(it, 1, false, &head);
    assert_int_equal(levada_node_save(it->root, &w, NULL), LEVADA_OK);
    before = written(&w);
    assert_true(before < 1000);
    assert_int_equal(levada_records_materialize(&w, it->run->env, &it->run->names, NULL),
                     LEVADA_OK);
    assert_true(written(&w) > before + 1000 * 2 * sizeof(int64_t));
    levada_state_writer_clear(&w);
    levada_iter_close(&it);
    t_clear(&head);
}

/* The state with columns for the records that it holds by value. */
static t_bytes with_columns(t_bytes saved)
{
    int64_t             parts[6 + LEVADA_MAX_DIMS] = { LEVADA_INT8 };
    levada_state_reader r;
    levada_state_writer w = { 0 };
    char                path[64];
    t_bytes             made = { 0 };
    char                key[32], *bytes = NULL, *values = NULL;
    size_t              size = 0;

    assert_int_equal(levada_state_decode(saved.at, saved.size, NULL, &r, NULL), LEVADA_OK);
    for (int32_t i = 0; i < r.n; i++) {
        const levada_entry *e = &r.entries[i];

        if (!values && strstr(e->key, ".0.values")) {
            memcpy(key, e->key, sizeof key);
            memcpy(path, e->path, sizeof path);
            w.scope.version = e->version;
            values = strstr(key, "0.values");
        }
        assert_int_equal(levada_state_move(&w, &r.entries[i], NULL), LEVADA_OK);
    }
    assert_non_null(values);
    w.scope.path = path;
    (void)snprintf(values, 8, "fields");
    assert_int_equal(levada_state_put_i64s(&w, key, parts, 6 + LEVADA_MAX_DIMS, NULL), LEVADA_OK);
    (void)snprintf(values, 8, "names");
    assert_int_equal(levada_state_put_bytes(&w, key, "value", 6, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&w, &r.head, NULL, &bytes, &size, NULL), LEVADA_OK);
    t_add(&made, bytes, size);
    levada_string_free(&bytes);
    levada_state_writer_clear(&w);
    levada_state_reader_clear(&r);
    return made;
}

/* What an input declares is what stages were checked with: a state cannot say otherwise. */
static void columns_of_a_state_are_refused_where_they_are_declared(void **state)
{
    const char  *text = "zip(range:200; t_stream:200 | select:[n]) | shuffle:100 | batch:4";
    levada_iter *it = t_iter_open(text, 1, 4);
    levada_error err = LEVADA_ERROR_INIT;
    t_bytes      head = { 0 }, saved, forged;

    (void)state;
    (void)t_iter_read(it, 3, true, &head);
    saved = t_iter_save(it);
    forged = with_columns(saved);
    assert_int_equal(levada_iter_restore(it, forged.at, forged.size, &err), LEVADA_EDATA_LOSS);
    assert_non_null(strstr(err.message, "columns that the pipeline declares already"));
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err), LEVADA_OK);
    levada_iter_close(&it);
    t_clear(&head);
    t_clear(&saved);
    t_clear(&forged);
}

/* -- files that are not what they were */

static t_bytes saved_in_the_middle(const char *text)
{
    levada_iter *it = t_iter_open(text, 1, 4);
    t_bytes      head = { 0 }, saved;

    (void)t_iter_read(it, 3, false, &head);
    saved = t_iter_save(it);
    t_clear(&head);
    levada_iter_close(&it);
    return saved;
}

/* The iterator that refuses continues as if nothing had been asked. */
static void expect_refused(const char *text, t_bytes saved, const char *message)
{
    levada_iter  *it = t_iter_open(text, 1, 4);
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = levada_iter_restore(it, saved.at, saved.size, &err);
    char          all[512];

    if (st != LEVADA_EFAILED_PRECONDITION) {
        fail_msg("%s: %s", levada_status_name(st), err.message);
    }
    (void)levada_error_text(&err, all, sizeof all);
    if (!strstr(all, message)) fail_msg("'%s' is not in '%s'", message, all);
    levada_iter_close(&it);
}

static void a_changed_file_is_refused_by_name(void **state)
{
    const char *folder = t_folder();
    char        text[1024];
    t_bytes     saved, changed, other;

    (void)state;
    write_files(NULL);
    (void)snprintf(text, sizeof text, "%s", over(folder, " | shuffle:30"));
    saved = saved_in_the_middle(text);
    changed = t_read_file(t_path("a.tfrecord"));
    changed.at[20] ^= 1; /* in the first record, same size */
    t_write_file(t_path("a.tfrecord"), changed.at, changed.size);
    expect_refused(text, saved, "a.tfrecord");
    changed.at[20] ^= 1;
    t_write_file(t_path("a.tfrecord"), changed.at, changed.size - 200); /* shorter */
    expect_refused(text, saved, "a.tfrecord");
    other = examples(0, 41);
    t_write_file(t_path("a.tfrecord"), other.at, other.size); /* longer */
    expect_refused(text, saved, "a.tfrecord");
    assert_int_equal(remove(t_path("a.tfrecord")), 0); /* gone: one file less */
    expect_refused(text, saved, "1 file, but 2 when");
    t_clear(&saved);
    t_clear(&changed);
    t_clear(&other);
    t_folder_drop();
}

/* Far beyond what the table of files knows by its hash: the record itself tells. */
static void a_changed_record_is_refused(void **state)
{
    const char *folder = t_folder();
    char        text[1024];
    t_bytes     saved, file;

    (void)state;
    file = examples(0, 400);
    t_write_file(t_path("a.tfrecord"), file.at, file.size);
    (void)snprintf(text, sizeof text, "%s", over(folder, " | shuffle:300"));
    {
        levada_iter *it = t_iter_open(text, 1, 16);
        t_bytes      head = { 0 };

        (void)t_iter_read(it, 1, false, &head);
        saved = t_iter_save(it);
        t_clear(&head);
        levada_iter_close(&it);
    }
    for (size_t at = 6000; at < 14000; at += 16) file.at[at] ^= 0x55;
    t_write_file(t_path("a.tfrecord"), file.at, file.size);
    expect_refused(text, saved, "a.tfrecord");
    t_clear(&saved);
    t_clear(&file);
    t_folder_drop();
}

/* Lines of 20 bytes; of those from `changed` on another letter. */
static void write_lines(int64_t n, int64_t changed)
{
    t_bytes file = { 0 };
    char    line[32];

    for (int64_t i = 0; i < n; i++) {
        (void)snprintf(line, sizeof line, "%c %017lld\n", i < changed ? 'a' : 'b', (long long)i);
        t_add(&file, line, 20);
    }
    t_write_file(t_path("a.txt"), file.at, file.size);
    t_clear(&file);
}

/* Nothing checks a line of text, and the table of files knows the first 4 KiB and the size. */
static void a_changed_line_is_refused_by_name(void **state)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_iter  *it;
    t_bytes       head = { 0 }, saved;
    char          text[256];

    (void)state;
    (void)t_folder();
    write_lines(1000, 1000);
    (void)snprintf(text, sizeof text, "text_lines:%s | shuffle:900", t_path("a.txt"));
    it = t_iter_open(text, 1, 16);
    (void)t_iter_read(it, 2, false, &head);
    saved = t_iter_save(it);
    write_lines(1000, 300);
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "buffered record has changed"));
    assert_non_null(strstr(err.file, "a.txt"));
    assert_in_range(err.record, 300, 999);
    assert_int_equal(err.offset, 20 * err.record);
    write_lines(1000, 1000);
    t_iter_restore(it, saved);
    levada_iter_close(&it);
    t_clear(&saved);
    t_clear(&head);
    t_folder_drop();
}

/* Of a few records that wait, each one is looked at. */
static void every_record_of_a_few_is_checked(void **state)
{
    levada_iter *it;
    t_bytes      saved, file, head = { 0 };
    char         text[256];

    (void)state;
    (void)t_folder();
    (void)snprintf(text, sizeof text, "text_lines:%s | skip:400 | shuffle:64", t_path("a.txt"));
    write_lines(420, 420);
    it = t_iter_open(text, 1, 1);
    (void)t_iter_read(it, 1, false, &head); /* the others wait */
    saved = t_iter_save(it);
    levada_iter_close(&it);
    file = t_read_file(t_path("a.txt"));
    for (size_t at = 400 * 20; at < file.size; at += 20) {
        if (memmem(head.at, head.size, file.at + at, 19)) continue;
        file.at[at] = 'x';
        t_write_file(t_path("a.txt"), file.at, file.size);
        expect_refused(text, saved, "a.txt");
        file.at[at] = 'a';
    }
    t_clear(&file);
    t_clear(&saved);
    t_clear(&head);
    t_folder_drop();
}

static void a_function_that_only_says_it_is_pure_is_found_out(void **state)
{
    const char   *text = "range:500 | map:{c:liar} | shuffle:100";
    levada_error  err = LEVADA_ERROR_INIT;
    levada_iter  *it;
    t_bytes       head = { 0 }, saved;

    (void)state;
    t_functions_add(t_iter_env());
    it = t_iter_open(text, 1, 16);
    (void)t_iter_read(it, 2, false, &head);
    saved = t_iter_save(it);
    assert_int_equal(levada_iter_restore(it, saved.at, saved.size, &err),
                     LEVADA_EFAILED_PRECONDITION);
    assert_non_null(strstr(err.message, "its function is not pure"));
    assert_true(err.record >= 0);
    levada_iter_close(&it);
    t_clear(&saved);
    t_clear(&head);
}

/* -- damage that is skipped */

static void damage_before_and_behind_the_cut(void **state)
{
    const char         *folder = t_folder();
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    char                text[1024];
    t_bytes             file, want = { 0 };
    levada_iter        *it;
    int64_t             blocks;

    (void)state;
    file = examples(0, 300);
    for (size_t at = 500; at < file.size; at += 1500) file.at[at] ^= 0xff;
    t_write_file(t_path("a.tfrecord"), file.at, file.size);
    (void)snprintf(text, sizeof text, "%s", over(folder, " | shuffle:40 | parse_example:" SPEC
                                                 " | shuffle:30 | padded_batch:6"));
    o.seed = 11;
    o.threads = 1;
    o.errors = "skip";
    it = t_iter_open_with(text, &o);
    blocks = t_iter_read(it, -1, true, &want);
    assert_true(t_iter_stat(it, "skipped_records") + t_iter_stat(it, "damaged_bytes") > 0);
    levada_iter_close(&it);
    for (int64_t cut = 0; cut <= blocks; cut += 3) {
        levada_iter *other;
        t_bytes      got = { 0 }, saved;

        o.threads = cut % 2 ? 1 : 4;
        it = t_iter_open_with(text, &o);
        o.threads = cut % 2 ? 4 : 1;
        other = t_iter_open_with(text, &o);
        (void)t_iter_read(it, cut, true, &got);
        saved = t_iter_save(it);
        t_iter_restore(other, saved);
        (void)t_iter_read(other, -1, true, &got);
        t_bytes_equal(want, got, "with damage");
        t_clear(&got);
        t_clear(&saved);
        levada_iter_close(&it);
        levada_iter_close(&other);
    }
    t_clear(&file);
    t_clear(&want);
    t_folder_drop();
}

/* More records than are read in one piece; each one once, in their places. */
static void many_records_in_pieces(void **state)
{
    levada_iter *it = t_iter_open("t_rows:30000,bare=true | shuffle:20000", 1, 256);
    levada_iter *other = t_iter_open("t_rows:30000,bare=true | shuffle:20000", 2, 100);
    t_bytes      head = { 0 }, a = { 0 }, b = { 0 }, saved;

    (void)state;
    (void)t_iter_read(it, 3, false, &head);
    saved = t_iter_save(it);
    t_iter_restore(other, saved);
    (void)t_iter_read(it, -1, false, &a);
    (void)t_iter_read(other, -1, false, &b);
    t_bytes_equal(a, b, "pieces");
    t_clear(&head);
    t_clear(&a);
    t_clear(&b);
    t_clear(&saved);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

/* Two rows of [3] with these lengths, saved and read back. */
static levada_status lengths_again(bool padded, int32_t first, int32_t second)
{
    static const levada_state_head head;
    const levada_field   field = { .name = "x", .dtype = LEVADA_INT32, .ndim = 1, .dims = { 3 },
                                   .padded = padded };
    levada_state_writer  to = { .scope = { .path = "t" } };
    levada_state_reader  from;
    levada_spec         *spec = NULL;
    levada_builder      *b = NULL;
    levada_block        *block = NULL, *again = NULL;
    int32_t             *lengths = NULL;
    int64_t              dims[] = { 3 };
    void                *values = NULL;
    char                *bytes = NULL;
    size_t               size = 0;
    levada_status        st;

    assert_int_equal(levada_spec_create(&field, 1, 0, &spec, NULL), LEVADA_OK);
    assert_int_equal(levada_builder_create(t_iter_env(), spec, 2, &b, NULL), LEVADA_OK);
    levada_builder_dims(b, 0, dims);
    assert_int_equal(levada_builder_lengths(b, 0, &lengths, NULL), LEVADA_OK);
    lengths[0] = first;
    lengths[1] = second;
    assert_int_equal(levada_builder_values(b, 0, 6, &values, NULL), LEVADA_OK);
    memset(values, 0, 6 * sizeof(int32_t));
    assert_int_equal(levada_builder_publish(&b, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_rows_put(&to, "rows", block, false, NULL, NULL), LEVADA_OK);
    assert_int_equal(levada_state_encode(&to, &head, t_iter_env(), &bytes, &size, NULL),
                     LEVADA_OK);
    assert_int_equal(levada_state_decode(bytes, size, t_iter_env(), &from, NULL), LEVADA_OK);
    from.scope = to.scope;
    st = levada_rows_get(&from, "rows", spec, &again, NULL);
    levada_block_unref(&again);
    levada_block_unref(&block);
    levada_builder_destroy(&b);
    levada_spec_unref(&spec);
    levada_string_free(&bytes);
    levada_state_reader_clear(&from);
    levada_state_writer_clear(&to);
    return st;
}

static void lengths_are_of_padded_columns_and_fit(void **state)
{
    (void)state;
    assert_int_equal(lengths_again(true, 0, 3), LEVADA_OK);
    assert_int_equal(lengths_again(true, 2, 4), LEVADA_EDATA_LOSS);
    assert_int_equal(lengths_again(true, -1, 3), LEVADA_EDATA_LOSS);
    assert_int_equal(lengths_again(false, 0, 3), LEVADA_EDATA_LOSS);
}

/* The record of the first pipe, by value: another path, the origin of the first. */
static t_bytes forge_path(t_bytes saved, const char *path)
{
    levada_state_writer to = { .scope = { .path = "1.interleave", .version = 1 } }, all = { 0 };
    levada_state_reader from;
    levada_iter        *it = t_iter_open(path, 1, 1);
    levada_block       *block = NULL;
    t_bytes             made = { 0 };
    char               *bytes = NULL;
    size_t              size = 0;

    assert_int_equal(levada_iter_next(it, &block, NULL), LEVADA_OK);
    assert_int_equal(levada_rows_put(&to, "record0", block, false, NULL, NULL), LEVADA_OK);
    assert_int_equal(levada_state_decode(saved.at, saved.size, t_iter_env(), &from, NULL),
                     LEVADA_OK);
    for (int32_t i = 0; i < from.n; i++) {
        levada_entry *e = &from.entries[i];

        if (strcmp(e->key, "record0") == 0 || strcmp(e->key, "record0.sums") == 0) continue;
        assert_int_equal(levada_state_move(&all, e, NULL), LEVADA_OK);
    }
    for (int32_t i = 0; i < to.n; i++) {
        assert_int_equal(levada_state_move(&all, &to.entries[i], NULL), LEVADA_OK);
    }
    assert_int_equal(levada_state_encode(&all, &from.head, t_iter_env(), &bytes, &size, NULL),
                     LEVADA_OK);
    t_add(&made, bytes, size);
    levada_string_free(&bytes);
    levada_block_unref(&block);
    levada_iter_close(&it);
    levada_state_reader_clear(&from);
    levada_state_writer_clear(&to);
    levada_state_writer_clear(&all);
    return made;
}

static void a_state_does_not_choose_the_files_of_a_pipe(void **state)
{
    const char *const honest = "files:%s/a.txt | interleave:(text_lines:\"{path}\"),cycle_length=2";
    const char  *folder = t_folder();
    char         text[512], path[512];
    levada_error err = LEVADA_ERROR_INIT;
    levada_iter *it;
    t_bytes      head = { 0 }, saved, forged;

    (void)state;
    t_write_file(t_path("a.txt"), "1\n2\n3\n4\n", 8);
    t_write_file(t_path("secret"), "5\n6\n7\n8\n", 8);
    (void)snprintf(text, sizeof text, honest, folder);
    it = t_iter_open(text, 1, 1);
    (void)t_iter_read(it, 1, false, &head);
    saved = t_iter_save(it);
    levada_iter_close(&it);
    for (int i = 0; i < 2; i++) { /* what the dataset names is read again; nothing else is */
        (void)snprintf(path, sizeof path, "files:%s/%s", folder, i ? "secret" : "a.txt");
        forged = forge_path(saved, path);
        it = t_iter_open(text, 1, 1);
        assert_int_equal(levada_iter_restore(it, forged.at, forged.size, &err),
                         i ? LEVADA_EFAILED_PRECONDITION : LEVADA_OK);
        levada_iter_close(&it);
        t_clear(&forged);
    }
    t_clear(&head);
    t_clear(&saved);
    t_folder_drop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_of_padded_columns_and_fit),
        cmocka_unit_test(a_state_does_not_choose_the_files_of_a_pipe),
        cmocka_unit_test(files_of_every_kind),
        cmocka_unit_test(waiting_behind_a_decoder),
        cmocka_unit_test(lines),
        cmocka_unit_test(origins_are_small),
        cmocka_unit_test(values_are_held_until_they_are_asked_for),
        cmocka_unit_test(columns_of_a_state_are_refused_where_they_are_declared),
        cmocka_unit_test(a_changed_file_is_refused_by_name),
        cmocka_unit_test(a_changed_record_is_refused),
        cmocka_unit_test(a_changed_line_is_refused_by_name),
        cmocka_unit_test(every_record_of_a_few_is_checked),
        cmocka_unit_test(a_function_that_only_says_it_is_pure_is_found_out),
        cmocka_unit_test(damage_before_and_behind_the_cut),
        cmocka_unit_test(many_records_in_pieces),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
