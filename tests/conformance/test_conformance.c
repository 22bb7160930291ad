/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite (tools/conform.h), that of `levada check`, run on every name that is built
 * in, filters too, with allocations that fail in all of the library, with encoded columns, and with
 * states that were made up.
 */
#include "conform.h"
#include "conformance/fault.h"
#include "registry/registry.h"
#include "state/state_priv.h"
#include "support/forge.h"
#include "support/functions.h"
#include "support/iters.h"
#include <levada/binding.h>
#include <levada/example.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* -- files that examples read, and their changes */

#define CHANGES 3

/* Readable as Example and as SequenceExample. Its size does not depend on `base`, from 0 to 90. */
static void add_sequence(t_bytes *to, levada_example *e, int64_t i, int64_t base)
{
    int64_t        t = base + i;
    const int64_t  tokens[] = { t, t + 1, t + 2, t + 3, t + 4 };
    const float    frame[16] = { (float)i, 0.5F };
    const uint8_t *data = NULL;
    size_t         size = 0;

    levada_example_reset(e);
    assert_int_equal(levada_example_add_i64(e, "tokens", tokens, i % 6, NULL), LEVADA_OK);
    assert_int_equal(levada_example_add_i64(e, "value", &t, 1, NULL), LEVADA_OK);
    assert_int_equal(levada_example_begin_list(e, "frames", NULL), LEVADA_OK);
    for (int64_t k = 0; k < i % 4; k++) {
        assert_int_equal(levada_example_add_f32(e, NULL, frame, 16, NULL), LEVADA_OK);
    }
    assert_int_equal(levada_example_end_list(e, NULL), LEVADA_OK);
    assert_int_equal(levada_example_finish(e, &data, &size, NULL), LEVADA_OK);
    t_add_record(to, data, size);
}

static void write_records(const char *name, int64_t n, int64_t base)
{
    levada_example *e = NULL;
    t_bytes         bytes = { 0 };

    assert_int_equal(levada_example_create(&e, NULL), LEVADA_OK);
    for (int64_t i = 0; i < n; i++) add_sequence(&bytes, e, i, base);
    t_write_file(name, bytes.at, bytes.size);
    t_clear(&bytes);
    levada_example_destroy(&e);
}

/* The files of the folder, and what stands in them: in `how` ways, and as they are (CHANGES). */
typedef struct content {
    const char *name;
    int64_t     records;             /* of a TFRecord file */
    const char *text[CHANGES + 1];
} content;

#define LINES   "one\ntwo\n\nfour\nfive, the last one"
#define TABLE "a,b\n1,x\n2,y\n3,\"z, and more\"\n"
#define IMAGES "0000111122223333444455556666"

static const content contents[] = {
    { "train.tfrecord", 20, { NULL } },
    { "examples.tfrecord", 9, { NULL } },
    { "a.tfrecord", 5, { NULL } },
    { "b.tfrecord", 3, { NULL } },
    { "lines.txt", 0,
      { "ONE\nTWO\n\nFOUR\nFIVE, THE LAST ONE", "one\n", LINES "\nsix", LINES } },
    { "images.bin", 0, { "aaaabbbbccccddddeeeeffffgggg", "0000", IMAGES "7777", IMAGES } },
    { "more.txt", 0, { "A,B\n5,X\n2,y\n3,\"Z, and more\"\n", "a,b\n", TABLE "4,q\n", TABLE } },
    { "table.csv", 0,
      { "a,b\n5,X\n2,y\n3,\"Z, and more\"\n", "a,b\n1,x\n", TABLE "4,q\n", TABLE } },
};

#define CONTENTS ((int32_t)(sizeof contents / sizeof contents[0]))

static void write_content(int32_t which, int32_t how)
{
    const content *c = &contents[which];
    int64_t        more = how == 1 ? -1 : how == 2 ? 1 : 0;

    if (c->records) write_records(c->name, c->records + more, how == 0 ? 60 : 0);
    else t_write_file(c->name, c->text[how], strlen(c->text[how]));
}

/* What a filter of this build reads: train.tfrecord as packed.gzip, ... */
static void write_packed(const levada_filter_def *filter)
{
    t_bytes plain = t_read_file("train.tfrecord"), packed;
    char    name[64];

    (void)snprintf(name, sizeof name, "packed.%s", filter->name);
    packed = t_encode(filter->name, plain.at, plain.size, 0);
    t_write_file(name, packed.at, packed.size);
    t_clear(&packed);
    t_clear(&plain);
}

static const levada_filter_def *packed_filter(int32_t i)
{
    const levada_filter_def *filter = i < 0 ? NULL : levada_registry_filter_at(NULL, i);

    return filter && t_can(filter->name) ? filter : NULL;
}

/* The first way keeps the size, the second one makes it smaller, the third one larger. */
static bool change_content(void *user, int32_t which, int32_t how)
{
    const levada_filter_def *filter = packed_filter(which - CONTENTS);

    (void)user;
    if (how >= CHANGES || (which >= CONTENTS && !filter)) return false;
    write_content(filter ? 0 : which, how);
    if (!filter) return true;
    write_packed(filter);
    write_content(0, CHANGES);
    return true;
}

static void undo_content(void *user, int32_t which)
{
    const levada_filter_def *filter = packed_filter(which - CONTENTS);

    (void)user;
    if (filter) write_packed(filter);
    else if (which < CONTENTS) write_content(which, CHANGES);
}

static const levada_conform_files files = { NULL, change_content, undo_content };

static int write_files(void **state)
{
    const char      *folder = t_folder();
    const levada_op *op;

    (void)state;
    assert_int_equal(chdir(folder), 0);
    for (int32_t i = 0; i < CONTENTS; i++) write_content(i, CHANGES);
    t_functions_add(t_iter_env());
    for (int32_t i = 0; packed_filter(i); i++) write_packed(packed_filter(i));
    for (int32_t i = 0; (op = levada_registry_at(NULL, i)); i++) {
        assert_int_equal(levada_conform_write_files(op->example_files, NULL), LEVADA_OK);
    }
    return 0;
}

static int drop_files(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    t_folder_drop();
    return 0;
}

/* -- memory that runs out, all over the library */

/* Of the subject. */
static levada_late_decode late;

static levada_status faults_open(void *user, levada_env **out, levada_error *err)
{
    (void)user;
    LEVADA_TRY(levada_env_create(NULL, out, err));
    t_functions_add(*out);
    levada_env_set_late_decode(*out, late);
    return LEVADA_OK;
}

static void faults_arm(void *user, int64_t number)
{
    (void)user;
    fault_arm(number);
}

static int64_t faults_disarm(void *user)
{
    (void)user;
    return fault_disarm();
}

static int64_t faults_live(void *user)
{
    (void)user;
    return fault_live();
}

static const levada_conform_faults faults = { NULL, faults_open, faults_arm, faults_disarm,
                                              faults_live };

/* -- states that were made up */

/* May be any number: a part of the key of random draws; what a function of the tests keeps. */
static bool any_number(const char *key)
{
    return strcmp(key, "epoch") == 0 || strcmp(key, "function") == 0;
}

static levada_status restore_bytes(const char *text, const char *bytes, size_t size,
                                   levada_error *err)
{
    levada_iter  *it = t_iter_open(text, 1, 4);
    levada_status st;

    st = levada_iter_restore(it, bytes, size, err);
    for (int32_t i = 0; st == LEVADA_OK && i < 300; i++) { /* to the end, or an error */
        levada_block *block = NULL;

        if (levada_iter_next(it, &block, NULL) != LEVADA_OK) break;
        levada_block_unref(&block);
    }
    levada_iter_close(&it);
    return st;
}

static levada_status restore_made_up(const char *text, levada_state_reader *r)
{
    levada_state_writer w = { .entries = r->entries, .n = r->n };
    char               *bytes = NULL;
    size_t              size = 0;
    levada_status       st;

    assert_int_equal(levada_state_encode(&w, &r->head, t_iter_env(), &bytes, &size, NULL),
                     LEVADA_OK);
    st = restore_bytes(text, bytes, size, NULL);
    levada_string_free(&bytes);
    return st;
}

/* The first and the last number of each entry in turn: no harm, and single ones are refused. */
static void make_up(const char *text, levada_state_reader *r, levada_entry *e)
{
    static const int64_t lies[] = { INT64_MIN, -1, INT64_C(1) << 32, INT64_MAX };
    size_t               last = e->size / sizeof(int64_t);
    int64_t              was;

    for (size_t at = 0; at < last; at += last > 1 ? last - 1 : 1) {
        memcpy(&was, e->data + at * sizeof was, sizeof was);
        for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
            levada_status st;

            memcpy(e->data + at * sizeof was, &lies[k], sizeof was);
            st = restore_made_up(text, r);
            if (st != LEVADA_OK || e->type != LEVADA_ENTRY_I64 || any_number(e->key)) continue;
            if (lies[k] == INT64_MIN || lies[k] == INT64_MAX) {
                fail_msg("%s: %s/%s=%lld was restored", text, e->path, e->key, (long long)lies[k]);
            }
        }
        memcpy(e->data + at * sizeof was, &was, sizeof was);
    }
}

/* The state of the example after a block. */
static levada_state_reader state_of_example(const levada_conform *c)
{
    levada_iter        *it = t_iter_open(c->example, 1, 4);
    t_bytes             head = { 0 }, saved;
    levada_state_reader r;

    (void)t_iter_read(it, 1, c->want.batches, &head);
    saved = t_iter_save(it);
    assert_int_equal(levada_state_decode(saved.at, saved.size, t_iter_env(), &r, NULL), LEVADA_OK);
    levada_iter_close(&it);
    t_clear(&saved);
    t_clear(&head);
    return r;
}

static levada_conform_verdict refuses_numbers_that_were_made_up(levada_conform *c)
{
    levada_conform_verdict verdict = levada_conform_prepare(c);
    levada_state_reader    r;

    if (verdict != LEVADA_CONFORM_GOOD) return verdict;
    r = state_of_example(c);
    for (int32_t i = 0; i < r.n; i++) {
        if (r.entries[i].type != LEVADA_ENTRY_BYTES) make_up(c->example, &r, &r.entries[i]);
    }
    levada_state_reader_clear(&r);
    return LEVADA_CONFORM_GOOD;
}

/* -- entries that were forged */

static void refuse_forged(const char *text, const levada_state_reader *r, int32_t at, t_form form)
{
    const levada_entry *e = &r->entries[at];
    levada_error        err = LEVADA_ERROR_INIT;
    char               *bytes = NULL;
    size_t              size = 0;

    if (!t_forge(r, at, form, &bytes, &size)) return;
    if (restore_bytes(text, bytes, size, &err) != LEVADA_OK && !t_names_an_entry(r, at, &err)) {
        fail_msg("%s: %s/%s in form %d: %s", text, e->path, e->key, (int)form, err.message);
    }
    levada_string_free(&bytes);
}

static levada_conform_verdict names_entries_that_were_forged(levada_conform *c)
{
    levada_conform_verdict verdict = levada_conform_prepare(c);
    levada_state_reader    r;

    if (verdict != LEVADA_CONFORM_GOOD) return verdict;
    r = state_of_example(c);
    for (int32_t i = 0; i < r.n; i++) {
        for (int form = 0; form < T_FORMS; form++) {
            refuse_forged(c->example, &r, i, (t_form)form);
        }
    }
    levada_state_reader_clear(&r);
    return LEVADA_CONFORM_GOOD;
}

/* -- all names, all checks */

static const levada_conform_check changed = {
    "changed", "goes on over a changed file as a run over it, or not at all", levada_conform_changed
};

static const levada_conform_check made_up = { "made up", "refuses numbers that were made up",
                                              refuses_numbers_that_were_made_up };

static const levada_conform_check forged = { "forged", "names entries that were forged",
                                             names_entries_that_were_forged };

typedef struct subject {
    const char                 *name, *stage; /* the stage: whose options are tried */
    const char                 *example;
    const levada_conform_check *check;
    const levada_filter_def    *filter; /* of the checks of filters */
    const levada_format_def    *format; /* NULL: another family */
    bool                        left_out;
    levada_late_decode          late;
    char                        claim[160], packed[320]; /* an example that was put together */
} subject;

/* A name without an example, or one whose files are not there, has failed. */
static void conforms(void **state)
{
    const subject         *s = *state;
    levada_conform         c = { .env = t_iter_env(), .name = s->stage, .example = s->example,
                                 .faults = &faults, .filter = s->filter,
                                 .files = &files, .format = s->format != NULL, .def = s->format,
                                 .own_files = true };
    levada_conform_verdict verdict;

    if (s->left_out) skip();
    late = s->late;
    levada_env_set_late_decode(c.env, late);
    verdict = s->check->run(&c);
    levada_conform_clear(&c);
    if (verdict == LEVADA_CONFORM_SKIPPED && strstr(c.what, "was built without")) skip();
    if (verdict != LEVADA_CONFORM_GOOD) fail_msg("%s: %s; look at %s", s->name, c.what, c.where);
}

/* Blocks in memory cannot be written down: tests/source/test_memory.c. */
static subject of_op(const levada_op *op)
{
    return (subject){ .name = op->name, .stage = op->name, .example = op->example,
                      .left_out = strcmp(op->name, "memory") == 0,
                      .format = op->family == LEVADA_FAMILY_FORMAT ? &op->def.format : NULL };
}

/* Filters have no dataset of their own: a file that went through them, read and read again. */
static subject of_filter(const levada_filter_def *filter)
{
    subject s = { .name = filter->name, .stage = "tfrecord", .left_out = !t_can(filter->name) };

    (void)snprintf(s.packed, sizeof s.packed, "tfrecord:packed.%s,compression=%s | shuffle:7",
                   filter->name, filter->name);
    return s;
}

static size_t add_filter_checks(struct CMUnitTest *tests, subject *subjects, size_t n,
                                const levada_filter_def *filter, const char *wanted)
{
    const levada_conform_check *check = levada_conform_filter_checks;

    if (wanted && strcmp(wanted, filter->name) != 0) return n;
    for (; check->name; check++, n++) {
        subject *s = &subjects[n];

        *s = (subject){ .name = filter->name, .stage = filter->name, .check = check,
                        .filter = filter, .left_out = !t_can(filter->name) };
        (void)snprintf(s->claim, sizeof s->claim, "%s %s", s->name, check->claim);
        tests[n] = (struct CMUnitTest){ .name = s->claim, .test_func = conforms,
                                        .initial_state = s };
    }
    return n;
}

#define DECODED                                                                                  \
    "tfrecord:examples.tfrecord | parse_sequence_example:{frames:{kind:FixedLenSequence,"        \
    "shape:[16],dtype:float32}},context={tokens:{kind:VarLen,dtype:int64},"                      \
    "value:{kind:FixedLen,shape:[],dtype:int64}} "

/* A stage that reads encoded columns, downstream of a decoder that leaves them encoded. False: its
 * example needs other columns. */
static bool of_encoded(subject *s, levada_env *env, const levada_op *op)
{
    const char     *bar = op->example ? strchr(op->example, '|') : NULL;
    levada_dataset *dataset = NULL;
    bool            fits;

    if (op->family != LEVADA_FAMILY_STAGE || !levada_op_core(op)->late || !bar) return false;
    *s = (subject){ .name = op->name, .stage = op->name, .late = LEVADA_LATE_DECODE_ALWAYS };
    (void)snprintf(s->packed, sizeof s->packed, DECODED "%s%s", bar,
                   op->traits.rows == LEVADA_ROWS_BATCHES ? "" : " | batch:2");
    fits = levada_dataset_parse(env, s->packed, &dataset, NULL) == LEVADA_OK;
    levada_dataset_unref(&dataset);
    return fits;
}

#define NAMES 256
#define SUITE 6
#define FORMAT 3
#define CHECKS (SUITE + FORMAT + 3) /* and three of ours */

/* Number k of them, or NULL: a check of formats, and this is not one. */
static const levada_conform_check *suite(const subject *s, int k)
{
    if (k < SUITE) return &levada_conform_checks[k];
    if (k < SUITE + FORMAT) return s->format ? &levada_conform_format_checks[k - SUITE] : NULL;
    if (k == SUITE + FORMAT) return &changed;
    return k == SUITE + FORMAT + 1 ? &made_up : &forged;
}

static size_t add_checks(struct CMUnitTest *tests, subject *subjects, size_t n, subject of,
                         const char *wanted)
{
    if (wanted && strcmp(wanted, of.name) != 0) return n;
    for (int k = 0; k < CHECKS && n < CHECKS * NAMES; k++) {
        subject *s = &subjects[n];

        *s = of;
        s->check = suite(s, k);
        if (!s->check) continue;
        if (!s->example && s->packed[0]) s->example = s->packed;
        (void)snprintf(s->claim, sizeof s->claim, "%s %s", s->name, s->check->claim);
        tests[n] = (struct CMUnitTest){ .name = s->claim, .test_func = conforms,
                                        .initial_state = s };
        n++;
    }
    return n;
}

/* Pipelines that read files and hold records: only changes of files are tried. */
static const char *const pipes[] = {
    "tfrecord:[a.tfrecord,b.tfrecord,train.tfrecord] | shuffle:5",
    "tfrecord:[a.tfrecord,train.tfrecord],shuffle_files=true | repeat:2 | batch:4",
    "tfrecord:[a.tfrecord,b.tfrecord] | repeat:3 | shuffle:4 | batch:3 | prefetch:2",
    "tfrecord:train.tfrecord | parse_sequence_example:context={tokens:{kind:VarLen,dtype:int64}} | "
    "bucket_by_sequence_length:tokens,boundaries=[2,4],batch_sizes=[2,3,2] | prefetch:3",
    "text_lines:[lines.txt,more.txt] | shuffle:3 | prefetch:2",
    "zip(text_lines:lines.txt; tfrecord:a.tfrecord) | shuffle:3",
    "mix(text_lines:[lines.txt,more.txt]; text_lines:table.csv):weights=[2,1],seed=3 | shuffle:3",
    "concat(text_lines:lines.txt; text_lines:table.csv) | batch:2",
    "files:*.tfrecord | interleave:(tfrecord:\"{path}\"),cycle_length=2 | prefetch:2",
    "files:[lines.txt,more.txt] | repeat:2 | interleave:(text_lines:\"{path}\" | shuffle:2),"
    "cycle_length=2 | shuffle:3 | batch:2",
};

#define PIPES (sizeof pipes / sizeof pipes[0])

/* Pipelines whose states have entries that those of no example have. */
static const char *const held[] = {
    "range:9 | map:{c:twice} | shuffle:4",
    "zip(range:9 | shuffle:3 | rename:{value:x}; range:9) | shuffle:4 | batch:2",
    "text_lines:lines.txt | bucket_by_sequence_length:line,num_buckets=2,max_tokens=40",
    "range:20 | shard:1,count=3,equal=pad | batch:2 | prefetch:3",
    "range:30 | group_by_window:\"value % 3\",window_size=4 | unbatch | enumerate | batch:2",
};

#define HELD (sizeof held / sizeof held[0])

static size_t add_pipe(struct CMUnitTest *tests, subject *subjects, size_t n, size_t number,
                       const char *pipe, const levada_conform_check *check)
{
    subject *s = &subjects[n];

    *s = (subject){ .name = pipe, .stage = "tfrecord", .example = pipe, .check = check };
    (void)snprintf(s->claim, sizeof s->claim, "pipe %zu %s", number, check->claim);
    tests[n] = (struct CMUnitTest){ .name = s->claim, .test_func = conforms, .initial_state = s };
    return n + 1;
}

static size_t add_pipes(struct CMUnitTest *tests, subject *subjects, size_t n)
{
    for (size_t i = 0; i < PIPES + HELD; i++) {
        const char *pipe = i < PIPES ? pipes[i] : held[i - PIPES];

        if (i < PIPES) n = add_pipe(tests, subjects, n, i, pipe, &changed);
        n = add_pipe(tests, subjects, n, i, pipe, &forged);
    }
    return n;
}

static size_t add_encoded(struct CMUnitTest *tests, subject *subjects, size_t n, levada_env *env,
                          const char *wanted)
{
    const levada_op *op;

    for (int32_t i = 0; (op = levada_registry_at(env, i)); i++) {
        subject of;

        if ((wanted && strcmp(wanted, op->name) != 0) || !of_encoded(&of, env, op)) continue;
        for (int k = 0; levada_conform_checks[k].run != levada_conform_limits; k++, n++) {
            subject *s = &subjects[n];

            *s = of;
            s->check = &levada_conform_checks[k];
            s->example = s->packed;
            (void)snprintf(s->claim, sizeof s->claim, "%s of encoded columns %s", s->name,
                           s->check->claim);
            tests[n] = (struct CMUnitTest){ .name = s->claim, .test_func = conforms,
                                            .initial_state = s };
        }
    }
    return n;
}

/* A misspelled name must not pass because it has no checks. */
static int not_registered(const char *wanted)
{
    (void)fprintf(stderr, "unknown name '%s'; is it in src/meson.build, and its file in src?\n",
                  wanted);
    return 1;
}

/* With a name as the argument: the checks of that one. */
int main(int argc, char **argv)
{
    static struct CMUnitTest tests[CHECKS * NAMES];
    static subject           subjects[CHECKS * NAMES];
    const char              *wanted = argc > 1 ? argv[1] : NULL;
    const levada_op         *op;
    const levada_filter_def *filter;
    levada_env              *env = NULL;
    size_t                   n = 0;
    int                      failed;

    if (levada_env_create(NULL, &env, NULL) != LEVADA_OK) return 1;
    for (int32_t i = 0; (op = levada_registry_at(env, i)); i++) {
        n = add_checks(tests, subjects, n, of_op(op), wanted);
    }
    for (int32_t i = 0; (filter = levada_registry_filter_at(env, i)); i++) {
        n = add_checks(tests, subjects, n, of_filter(filter), wanted);
        n = add_filter_checks(tests, subjects, n, filter, wanted);
    }
    n = add_encoded(tests, subjects, n, env, wanted);
    if (!wanted) n = add_pipes(tests, subjects, n);
    if (n == 0) return not_registered(wanted);
    /* a check that nobody runs */
    if (levada_conform_checks[SUITE].name || levada_conform_format_checks[FORMAT].name) return 1;
    failed = _cmocka_run_group_tests("conformance", tests, n, write_files, drop_files);
    levada_env_destroy(&env);
    return failed;
}
