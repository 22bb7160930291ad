/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada ckpt: prints a saved position, or the differences between two.
 *
 * The file (little endian): "LVDASTAT", format u16, flags u16, fingerprint 16 bytes, seed i64,
 * epoch i64, count u32, entries sorted by path and key, crc32c u32. An entry: path and key (length
 * u8, bytes), version u32, type u8, size u32, bytes. Integers are zigzag varints.
 *
 * Files that Python writes have such ones inside: saved.h.
 */
#include "cli.h"
#include "escape.h"
#include "file.h"
#include "saved.h"
#include <levada/dataset.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const levada_cli_option cmd_ckpt_options[] = {
    { "part", 0, "NAME", "the part to use, if the checkpoint has several" },
    LEVADA_CLI_OPTION_END
};

enum { CKPT_I64 = 1, CKPT_BYTES, CKPT_I64S }; /* types of entries */

typedef struct ckpt_entry {
    char           name[520]; /* "1.shuffle/slots" */
    uint32_t       version;
    uint8_t        type;
    const uint8_t *at;
    size_t         size;
} ckpt_entry;

typedef struct ckpt_state {
    uint32_t       format, count;
    const uint8_t *fingerprint;
    int64_t        seed, epoch;
    uint64_t       drop;       /* records after the position */
    const uint8_t *next, *end; /* entries that are still to come */
    uint32_t       left;
} ckpt_state;

static levada_status cmd_ckpt_begin(ckpt_state *state, const levada_cli_part *part,
                                    levada_error *err)
{
    levada_cli_position position;
    const uint8_t      *at;

    LEVADA_TRY(levada_cli_part_position(part, &position, err));
    at = position.state;
    if (position.size < 52)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "the checkpoint is corrupt: it is truncated; use an earlier one");
    state->format = (uint32_t)levada_cli_le(at + 8, 2);
    if (state->format != 4)
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "the checkpoint has format %u; this version of levada reads format 4; "
                           "use the version that saved it",
                           state->format);
    state->fingerprint = at + 12;
    state->seed = (int64_t)levada_cli_le(at + 28, 8);
    state->epoch = (int64_t)levada_cli_le(at + 36, 8);
    state->count = state->left = (uint32_t)levada_cli_le(at + 44, 4);
    state->drop = position.drop;
    state->next = at + 48;
    state->end = at + position.size - 4;
    return LEVADA_OK;
}

/* One of the two parts of a name. */
static bool cmd_ckpt_word(ckpt_state *state, levada_cli_buffer *name)
{
    size_t n;

    if (state->next == state->end) return false;
    n = *state->next++;
    if (n > (size_t)(state->end - state->next)) return false;
    levada_cli_add(name, state->next, n);
    state->next += n;
    return true;
}

/* The next entry; END after the last one. */
static levada_status cmd_ckpt_next(ckpt_state *state, ckpt_entry *e, levada_error *err)
{
    levada_cli_buffer name = { 0 };
    bool              good;

    if (state->left == 0) return LEVADA_END;
    good = cmd_ckpt_word(state, &name);
    levada_cli_puts(&name, "/");
    good = good && cmd_ckpt_word(state, &name) && state->end - state->next >= 9;
    snprintf(e->name, sizeof e->name, "%s", name.at);
    levada_cli_buffer_clear(&name);
    if (good) {
        e->version = (uint32_t)levada_cli_le(state->next, 4);
        e->type = state->next[4];
        e->size = (size_t)levada_cli_le(state->next + 5, 4);
        e->at = state->next + 9;
        good = e->size <= (size_t)(state->end - e->at);
    }
    if (!good) return levada_fail(err, LEVADA_EDATA_LOSS,
                                  "the checkpoint is corrupt: it is truncated; use an earlier one");
    state->next = e->at + e->size;
    state->left--;
    return LEVADA_OK;
}

/* A number, or how many there are, or how many bytes. */
static void cmd_ckpt_value(levada_cli_buffer *b, const ckpt_entry *e)
{
    uint64_t zigzag = 0;
    int64_t  n = 0;

    if (e->type == CKPT_BYTES) {
        levada_cli_bytes(b, (int64_t)e->size);
        return;
    }
    for (size_t i = 0; i < e->size; i++) n += e->at[i] < 0x80;
    if (e->type == CKPT_I64S) {
        levada_cli_counted(b, n, "number", "numbers");
        levada_cli_puts(b, " in ");
        levada_cli_bytes(b, (int64_t)e->size);
        return;
    }
    for (size_t i = 0; i < e->size && i < 10; i++)
        zigzag |= (uint64_t)(e->at[i] & 0x7F) << (7 * i);
    levada_cli_int(b, (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1));
}

/* The dataset that was saved, as text. */
static void cmd_ckpt_dataset(levada_env *env, levada_cli_buffer *b, const ckpt_entry *e)
{
    levada_cli_buffer json = { 0 };
    levada_dataset   *dataset = NULL;
    char             *text = NULL;

    levada_cli_add(&json, e->at, e->size);
    if (levada_dataset_parse(env, json.at, &dataset, NULL) == LEVADA_OK
        && levada_dataset_text(dataset, &text, NULL) == LEVADA_OK)
        levada_cli_printf(b, "dataset      %s\n", text);
    else
        levada_cli_printf(b, "dataset      %s\n", json.at);
    levada_string_free(&text);
    levada_dataset_unref(&dataset);
    levada_cli_buffer_clear(&json);
}

/* Records to skip after the position. */
static void cmd_ckpt_drop(levada_cli_buffer *b, const char *sign, uint64_t n)
{
    levada_cli_printf(b, "%sskip         ", sign);
    levada_cli_counted(b, (int64_t)n, "record", "records");
    levada_cli_puts(b, "\n");
}

static void cmd_ckpt_head(levada_cli_buffer *b, const ckpt_state *state, size_t size)
{
    levada_cli_puts(b, "fingerprint  ");
    for (int i = 0; i < 16; i++) levada_cli_printf(b, "%02x", state->fingerprint[i]);
    levada_cli_printf(b, "\nseed         %" PRId64 "\nepoch        %" PRId64 "\nsize         ",
                      state->seed, state->epoch);
    levada_cli_bytes(b, (int64_t)size);
    levada_cli_puts(b, "\n");
    if (state->drop > 0) cmd_ckpt_drop(b, "", state->drop);
}

static levada_status cmd_ckpt_show_state(levada_env *env, const levada_cli_part *part,
                                         levada_cli_buffer *b, levada_error *err)
{
    ckpt_state    state = { 0 };
    ckpt_entry    e;
    levada_status status;

    LEVADA_TRY(cmd_ckpt_begin(&state, part, err));
    cmd_ckpt_head(b, &state, part->size);
    while ((status = cmd_ckpt_next(&state, &e, err)) == LEVADA_OK) {
        if (strcmp(e.name, "dataset/json") == 0) {
            cmd_ckpt_dataset(env, b, &e);
            continue;
        }
        levada_cli_puts(b, "  ");
        levada_cli_show_padded(b, e.name, strlen(e.name), 40);
        levada_cli_puts(b, " ");
        cmd_ckpt_value(b, &e);
        levada_cli_puts(b, "\n");
    }
    return status == LEVADA_END ? LEVADA_OK : status;
}

/* Name, size, whether it is a saved position. */
static void cmd_ckpt_part(levada_cli_buffer *b, const char *sign, const levada_cli_part *part)
{
    levada_cli_printf(b, "%s ", sign);
    levada_cli_show_padded(b, part->name, part->name_size, 40);
    levada_cli_puts(b, " ");
    levada_cli_bytes(b, (int64_t)part->size);
    levada_cli_puts(b, levada_cli_part_is_position(part) ? ", a saved position\n" : "\n");
}

/* Lists all parts, or shows the requested one. */
static levada_status cmd_ckpt_show_file(levada_env *env, const levada_cli_buffer *file,
                                        const char *name, levada_cli_buffer *b, levada_error *err)
{
    levada_cli_parts parts;
    levada_cli_part  part;
    levada_status    status;

    LEVADA_TRY(levada_cli_parts_open(&parts, file, err));
    if (name || !parts.named) {
        LEVADA_TRY(levada_cli_saved_part(file, name, &part, err));
        return cmd_ckpt_show_state(env, &part, b, err);
    }
    while ((status = levada_cli_parts_next(&parts, &part, err)) == LEVADA_OK)
        cmd_ckpt_part(b, " ", &part);
    return status == LEVADA_END ? LEVADA_OK : status;
}

static levada_status cmd_ckpt_show(levada_env *env, const char *path, const char *name,
                                   levada_cli_buffer *b, levada_error *err)
{
    levada_cli_buffer bytes = { 0 };
    levada_status     status = levada_cli_file_read(path, &bytes, err);

    if (status == LEVADA_OK) {
        status = cmd_ckpt_show_file(env, &bytes, name, b, err);
        if (status != LEVADA_OK) levada_error_wrap(err, "cannot show %s", path);
    }
    levada_cli_buffer_clear(&bytes);
    return status;
}

static bool cmd_ckpt_same(const ckpt_entry *a, const ckpt_entry *b)
{
    return a->type == b->type && a->version == b->version && a->size == b->size
           && memcmp(a->at, b->at, a->size) == 0;
}

static void cmd_ckpt_line(levada_cli_buffer *out, const char *sign, const ckpt_entry *e)
{
    levada_cli_printf(out, "%s ", sign);
    if (strcmp(e->name, "dataset/json") == 0) {
        cmd_ckpt_dataset(NULL, out, e);
        return;
    }
    levada_cli_show_padded(out, e->name, strlen(e->name), 40);
    levada_cli_puts(out, " ");
    cmd_ckpt_value(out, e);
    levada_cli_puts(out, "\n");
}

/* Compares by path, then by key: the slash between them counts as less than any letter. */
static int cmd_ckpt_order(const char *a, const char *b)
{
    while (*a == *b && *a) {
        a++;
        b++;
    }
    return (*a == '/' ? 1 : (uint8_t)*a) - (*b == '/' ? 1 : (uint8_t)*b);
}

/* Both lists are sorted by name: they are walked side by side. */
static levada_status cmd_ckpt_entries(ckpt_state *one, ckpt_state *two, levada_cli_buffer *out,
                                      levada_error *err)
{
    ckpt_entry    a, b;
    levada_status sa = cmd_ckpt_next(one, &a, err), sb = cmd_ckpt_next(two, &b, err);

    while (sa >= 0 && sb >= 0 && (sa == LEVADA_OK || sb == LEVADA_OK)) {
        int order = sa == LEVADA_END ? 1 : sb == LEVADA_END ? -1 : cmd_ckpt_order(a.name, b.name);

        if (order < 0 || (order == 0 && !cmd_ckpt_same(&a, &b))) cmd_ckpt_line(out, "-", &a);
        if (order > 0 || (order == 0 && !cmd_ckpt_same(&a, &b))) cmd_ckpt_line(out, "+", &b);
        if (order <= 0) sa = cmd_ckpt_next(one, &a, err);
        if (order >= 0) sb = cmd_ckpt_next(two, &b, err);
    }
    return sa < 0 ? sa : sb < 0 ? sb : LEVADA_OK;
}

static levada_status cmd_ckpt_states(const levada_cli_part *a, const levada_cli_part *b,
                                     levada_cli_buffer *out, levada_error *err)
{
    ckpt_state one = { 0 }, two = { 0 };

    LEVADA_TRY(cmd_ckpt_begin(&one, a, err));
    LEVADA_TRY(cmd_ckpt_begin(&two, b, err));
    if (memcmp(one.fingerprint, two.fingerprint, 16) != 0)
        levada_cli_puts(out, "the datasets differ\n");
    if (one.seed != two.seed || one.epoch != two.epoch)
        levada_cli_printf(out,
                          "- seed %" PRId64 ", epoch %" PRId64 "\n+ seed %" PRId64
                          ", epoch %" PRId64 "\n",
                          one.seed, one.epoch, two.seed, two.epoch);
    if (one.drop != two.drop) {
        cmd_ckpt_drop(out, "- ", one.drop);
        cmd_ckpt_drop(out, "+ ", two.drop);
    }
    return cmd_ckpt_entries(&one, &two, out, err);
}

/* Two parts of the same name. Their differences follow a line with their name. */
static levada_status cmd_ckpt_compare(const levada_cli_part *a, const levada_cli_part *b,
                                      levada_cli_buffer *out, levada_error *err)
{
    levada_cli_buffer lines = { 0 };
    levada_status     status = LEVADA_OK;
    bool              same = a->size == b->size && memcmp(a->at, b->at, a->size) == 0;

    if (same) return LEVADA_OK;
    if (levada_cli_part_is_position(a) && levada_cli_part_is_position(b)) {
        status = cmd_ckpt_states(a, b, &lines, err);
    } else {
        cmd_ckpt_part(&lines, "-", a);
        cmd_ckpt_part(&lines, "+", b);
    }
    if (lines.size > 0 && a->name_size > 0) {
        levada_cli_puts(out, "part ");
        levada_cli_show(out, a->name, a->name_size);
        levada_cli_puts(out, "\n");
    }
    levada_cli_add(out, lines.at, lines.size);
    levada_cli_buffer_clear(&lines);
    return status;
}

/* The parts of a file by name; of those with one name the first one counts. */
typedef struct ckpt_index {
    levada_cli_part *at;
    size_t           n;
} ckpt_index;

static int cmd_ckpt_by_name(const levada_cli_part *a, const levada_cli_part *b)
{
    if (a->name_size != b->name_size) return a->name_size < b->name_size ? -1 : 1;
    return a->name_size == 0 ? 0 : memcmp(a->name, b->name, a->name_size);
}

static int cmd_ckpt_by_place(const void *a, const void *b)
{
    const levada_cli_part *x = a, *y = b;
    int                    order = cmd_ckpt_by_name(x, y);

    return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

static levada_status cmd_ckpt_count(const levada_cli_buffer *file, ckpt_index *index,
                                    levada_error *err)
{
    levada_cli_parts parts;
    levada_cli_part  part;
    levada_status    status = levada_cli_parts_open(&parts, file, err);

    index->n = 0;
    while (status == LEVADA_OK &&
           (status = levada_cli_parts_next(&parts, &part, err)) == LEVADA_OK) {
        if (index->at) index->at[index->n] = part;
        index->n++;
    }
    return status == LEVADA_END ? LEVADA_OK : status;
}

static levada_status cmd_ckpt_index(const levada_cli_buffer *file, ckpt_index *index,
                                    levada_error *err)
{
    LEVADA_TRY(cmd_ckpt_count(file, index, err));
    index->at = malloc((index->n + 1) * sizeof *index->at);
    if (!index->at) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    LEVADA_TRY(cmd_ckpt_count(file, index, err));
    qsort(index->at, index->n, sizeof *index->at, cmd_ckpt_by_place);
    return LEVADA_OK;
}

/* Returns the first part of this name; NULL where the file has none. */
static const levada_cli_part *cmd_ckpt_find(const ckpt_index *index, const levada_cli_part *like)
{
    size_t low = 0, high = index->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (cmd_ckpt_by_name(&index->at[mid], like) < 0) low = mid + 1;
        else high = mid;
    }
    return low < index->n && cmd_ckpt_by_name(&index->at[low], like) == 0 ? &index->at[low] : NULL;
}

/* The parts of `one` that `two` has not, and, where `both`, what differs in the others. */
static levada_status cmd_ckpt_parts(const levada_cli_buffer *one, const levada_cli_buffer *two,
                                    bool both, levada_cli_buffer *out, levada_error *err)
{
    ckpt_index       index = { 0 };
    levada_cli_parts parts;
    levada_cli_part  a;
    levada_status    status = levada_cli_parts_open(&parts, one, err);

    if (status == LEVADA_OK) status = cmd_ckpt_index(two, &index, err);
    while (status == LEVADA_OK && (status = levada_cli_parts_next(&parts, &a, err)) == LEVADA_OK) {
        const levada_cli_part *b = cmd_ckpt_find(&index, &a);

        if (!b) cmd_ckpt_part(out, both ? "-" : "+", &a);
        else if (both) status = cmd_ckpt_compare(&a, b, out, err);
    }
    free(index.at);
    return status == LEVADA_END ? LEVADA_OK : status;
}

static levada_status cmd_ckpt_open(const char *path, levada_cli_buffer *bytes, bool *named,
                                   levada_error *err)
{
    levada_cli_parts parts = { 0 };
    levada_status    status = levada_cli_file_read(path, bytes, err);

    if (status != LEVADA_OK) return status;
    status = levada_cli_parts_open(&parts, bytes, err);
    if (status != LEVADA_OK) levada_error_wrap(err, "cannot read %s", path);
    *named = parts.named;
    return status;
}

/* The part of one file that is compared with one of another. */
static levada_status cmd_ckpt_pick(const levada_cli_buffer *file, const char *path,
                                   const char *name, levada_cli_part *out, levada_error *err)
{
    levada_cli_position position;
    levada_status       status = levada_cli_saved_part(file, name, out, err);

    if (status == LEVADA_OK && !name) status = levada_cli_part_position(out, &position, err);
    if (status != LEVADA_OK) levada_error_wrap(err, "cannot compare %s", path);
    return status;
}

/* Checkpoints part by part; a position alone with the one that the other file has. */
static levada_status cmd_ckpt_diff(char **paths, const char *name, levada_cli_buffer *out,
                                   levada_error *err)
{
    levada_cli_buffer one = { 0 }, two = { 0 };
    levada_cli_part   a, b;
    bool              parts[2] = { false, false };
    levada_status     status = cmd_ckpt_open(paths[0], &one, &parts[0], err);

    if (status == LEVADA_OK) status = cmd_ckpt_open(paths[1], &two, &parts[1], err);
    if (status == LEVADA_OK && parts[0] && parts[1] && !name) {
        status = cmd_ckpt_parts(&one, &two, true, out, err);
        if (status == LEVADA_OK) status = cmd_ckpt_parts(&two, &one, false, out, err);
    } else if (status == LEVADA_OK) {
        status = cmd_ckpt_pick(&one, paths[0], parts[0] ? name : NULL, &a, err);
        if (status == LEVADA_OK)
            status = cmd_ckpt_pick(&two, paths[1], parts[1] ? name : NULL, &b, err);
        if (status == LEVADA_OK) status = cmd_ckpt_compare(&a, &b, out, err);
    }
    levada_cli_buffer_clear(&one);
    levada_cli_buffer_clear(&two);
    return status;
}

static levada_cli_status cmd_ckpt(levada_env *env, const levada_cli_args *args)
{
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_buffer out = { 0 };
    levada_cli_status status = LEVADA_CLI_DONE;
    levada_status     done;
    const char       *part = levada_cli_value(args, "part");
    bool              diff = strcmp(args->words[0], "diff") == 0;

    if ((!diff && strcmp(args->words[0], "show") != 0) || args->nwords != 2 + diff) {
        levada_cli_say("ckpt: use ckpt show FILE or ckpt diff FILE FILE");
        return LEVADA_CLI_USAGE;
    }
    done = diff ? cmd_ckpt_diff(args->words + 1, part, &out, &err)
                : cmd_ckpt_show(env, args->words[1], part, &out, &err);
    if (done != LEVADA_OK) status = levada_cli_fail(&err);
    else if (diff && out.size > 0) status = LEVADA_CLI_FAILED;
    levada_cli_out(&out);
    levada_cli_buffer_clear(&out);
    return status;
}

const levada_cli_command levada_cli_ckpt = {
    .name = "ckpt",
    .words = "show FILE | diff A B",
    .doc = "show a checkpoint, or compare two",
    .more = "Like diff, ckpt diff exits with status 1 if the files differ.",
    .choices = "show diff",
    .options = cmd_ckpt_options,
    .min_words = 2,
    .max_words = 3,
    .run = cmd_ckpt,
};
