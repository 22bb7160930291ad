/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada ckpt: what stands in a saved position, and in what two of them differ.
 *
 * The file (little endian): "LVDASTAT", format u16, flags u16, fingerprint 16 bytes, seed i64,
 * epoch i64, count u32, entries sorted by path and key, crc32c u32. An entry: path and key (length
 * u8, bytes), version u32, type u8, size u32, bytes. Integers are zigzag varints.
 *
 * Files that Python writes have such ones inside (docs/file-formats.md): a position between the
 * records of a block, and the parts of a checkpoint.
 */
#include "cli.h"
#include "file.h"
#include <levada/dataset.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const levada_cli_option cmd_ckpt_options[] = {
    LEVADA_CLI_OPTION_END
};

enum { CKPT_I64 = 1, CKPT_BYTES, CKPT_I64S }; /* types of entries */

typedef struct ckpt_entry {
    char           name[128]; /* "1.shuffle/slots" */
    uint32_t       version;
    uint8_t        type;
    const uint8_t *at;
    size_t         size;
} ckpt_entry;

typedef struct ckpt_file {
    levada_cli_buffer bytes;
    uint32_t          format, count;
    const uint8_t    *fingerprint;
    int64_t           seed, epoch;
    uint64_t          drop; /* records after the position, from "LVDROWS1" */
    const uint8_t    *next, *end; /* entries that are still to come */
    uint32_t          left;
} ckpt_file;

static uint64_t cmd_ckpt_le(const uint8_t *at, int size)
{
    uint64_t value = 0;

    for (int i = 0; i < size; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* Of file->bytes. */
static levada_status cmd_ckpt_begin(ckpt_file *file, const char *path, levada_error *err)
{
    const uint8_t *at = (const uint8_t *)file->bytes.at, *end = at + file->bytes.size;

    if (end - at >= 20 && memcmp(at, "LVDROWS1", 8) == 0) {
        file->drop = cmd_ckpt_le(at + 12, 8);
        at += 20;
    }
    if (end - at < 52 || memcmp(at, "LVDASTAT", 8) != 0)
        return levada_fail(err, LEVADA_EDATA_LOSS, "%s is no saved position", path);
    file->format = (uint32_t)cmd_ckpt_le(at + 8, 2);
    if (file->format != 2)
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION, "%s has format %u, this is made for 2",
                           path, file->format);
    file->fingerprint = at + 12;
    file->seed = (int64_t)cmd_ckpt_le(at + 28, 8);
    file->epoch = (int64_t)cmd_ckpt_le(at + 36, 8);
    file->count = file->left = (uint32_t)cmd_ckpt_le(at + 44, 4);
    file->next = at + 48;
    file->end = end - 4;
    return LEVADA_OK;
}

static levada_status cmd_ckpt_open(ckpt_file *file, const char *path, levada_error *err)
{
    LEVADA_TRY(levada_cli_file_read(path, &file->bytes, err));
    return cmd_ckpt_begin(file, path, err);
}

/* One of the two parts of a name. */
static bool cmd_ckpt_part(ckpt_file *file, levada_cli_buffer *name)
{
    size_t n;

    if (file->next == file->end) return false;
    n = *file->next++;
    if (n > (size_t)(file->end - file->next)) return false;
    levada_cli_add(name, file->next, n);
    file->next += n;
    return true;
}

/* The next entry; END after the last one. */
static levada_status cmd_ckpt_next(ckpt_file *file, ckpt_entry *e, levada_error *err)
{
    levada_cli_buffer name = { 0 };
    bool              good;

    if (file->left == 0) return LEVADA_END;
    good = cmd_ckpt_part(file, &name);
    levada_cli_puts(&name, "/");
    good = good && cmd_ckpt_part(file, &name) && file->end - file->next >= 9;
    snprintf(e->name, sizeof e->name, "%s", name.at);
    levada_cli_buffer_clear(&name);
    if (good) {
        e->version = (uint32_t)cmd_ckpt_le(file->next, 4);
        e->type = file->next[4];
        e->size = (size_t)cmd_ckpt_le(file->next + 5, 4);
        e->at = file->next + 9;
        good = e->size <= (size_t)(file->end - e->at);
    }
    if (!good) return levada_fail(err, LEVADA_EDATA_LOSS, "the saved position is damaged");
    file->next = e->at + e->size;
    file->left--;
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
        levada_cli_count(b, n);
        levada_cli_puts(b, " numbers in ");
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

static void cmd_ckpt_head(levada_cli_buffer *b, const ckpt_file *file)
{
    levada_cli_puts(b, "fingerprint  ");
    for (int i = 0; i < 16; i++) levada_cli_printf(b, "%02x", file->fingerprint[i]);
    levada_cli_printf(b, "\nseed         %" PRId64 "\nepoch        %" PRId64 "\nsize         ",
                      file->seed, file->epoch);
    levada_cli_bytes(b, (int64_t)file->bytes.size);
    levada_cli_puts(b, "\n");
    if (file->drop > 0) levada_cli_printf(b, "and then     %" PRIu64 " records\n", file->drop);
}

/* The parts of a checkpoint, in their order: name, size, whether it is a saved position. */
static levada_status cmd_ckpt_parts(const levada_cli_buffer *bytes, levada_cli_buffer *b,
                                    levada_error *err)
{
    const uint8_t *at = (const uint8_t *)bytes->at + 16, *end = at - 16 + bytes->size;

    while (at < end) {
        uint64_t name = end - at < 12 ? UINT64_MAX : cmd_ckpt_le(at, 4);
        uint64_t size = end - at < 12 ? 0 : cmd_ckpt_le(at + 4, 8),
                 rest = (uint64_t)(end - at) - 12;
        bool     state;

        if (name > rest || size > rest - name)
            return levada_fail(err, LEVADA_EDATA_LOSS, "the checkpoint is damaged");
        at += 12;
        levada_cli_printf(b, "  %-40.*s ", (int)name, (const char *)at);
        at += name;
        state = size >= 8 && (memcmp(at, "LVDASTAT", 8) == 0 || memcmp(at, "LVDROWS1", 8) == 0);
        levada_cli_bytes(b, (int64_t)size);
        levada_cli_puts(b, state ? ", a saved position\n" : "\n");
        at += size;
    }
    return LEVADA_OK;
}

static levada_status cmd_ckpt_show(levada_env *env, const char *path, levada_cli_buffer *b,
                                   levada_error *err)
{
    ckpt_file     file = { 0 };
    ckpt_entry    e;
    levada_status status = levada_cli_file_read(path, &file.bytes, err);

    if (status == LEVADA_OK && file.bytes.size >= 16
        && memcmp(file.bytes.at, "LVDACKPT", 8) == 0) {
        status = cmd_ckpt_parts(&file.bytes, b, err);
        levada_cli_buffer_clear(&file.bytes);
        return status;
    }
    if (status == LEVADA_OK) status = cmd_ckpt_begin(&file, path, err);
    if (status == LEVADA_OK) cmd_ckpt_head(b, &file);
    while (status == LEVADA_OK && (status = cmd_ckpt_next(&file, &e, err)) == LEVADA_OK) {
        if (strcmp(e.name, "dataset/json") == 0) {
            cmd_ckpt_dataset(env, b, &e);
            continue;
        }
        levada_cli_printf(b, "  %-40s ", e.name);
        cmd_ckpt_value(b, &e);
        levada_cli_puts(b, "\n");
    }
    levada_cli_buffer_clear(&file.bytes);
    return status == LEVADA_END ? LEVADA_OK : status;
}

static bool cmd_ckpt_same(const ckpt_entry *a, const ckpt_entry *b)
{
    return a->type == b->type && a->version == b->version && a->size == b->size
           && memcmp(a->at, b->at, a->size) == 0;
}

static void cmd_ckpt_line(levada_cli_buffer *out, const char *sign, const ckpt_entry *e)
{
    levada_cli_printf(out, "%s %-40s ", sign, e->name);
    cmd_ckpt_value(out, e);
    levada_cli_puts(out, "\n");
}

/* By path, then by key: the slash between them counts as less than any letter. */
static int cmd_ckpt_order(const char *a, const char *b)
{
    while (*a == *b && *a) {
        a++;
        b++;
    }
    return (*a == '/' ? 1 : (uint8_t)*a) - (*b == '/' ? 1 : (uint8_t)*b);
}

/* Both lists are sorted by name: they are walked side by side. */
static levada_status cmd_ckpt_compare(ckpt_file *one, ckpt_file *two, levada_cli_buffer *out,
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

static levada_status cmd_ckpt_diff(char **paths, levada_cli_buffer *out, levada_error *err)
{
    ckpt_file     one = { 0 }, two = { 0 };
    levada_status status = cmd_ckpt_open(&one, paths[0], err);

    if (status == LEVADA_OK) status = cmd_ckpt_open(&two, paths[1], err);
    if (status == LEVADA_OK && memcmp(one.fingerprint, two.fingerprint, 16) != 0)
        levada_cli_puts(out, "the datasets differ\n");
    if (status == LEVADA_OK && (one.seed != two.seed || one.epoch != two.epoch))
        levada_cli_printf(out,
                          "- seed %" PRId64 ", epoch %" PRId64 "\n+ seed %" PRId64
                          ", epoch %" PRId64 "\n",
                          one.seed, one.epoch, two.seed, two.epoch);
    if (status == LEVADA_OK) status = cmd_ckpt_compare(&one, &two, out, err);
    levada_cli_buffer_clear(&one.bytes);
    levada_cli_buffer_clear(&two.bytes);
    return status;
}

static levada_cli_status cmd_ckpt(levada_env *env, const levada_cli_args *args)
{
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_buffer out = { 0 };
    levada_cli_status status = LEVADA_CLI_DONE;
    levada_status     done;
    bool              diff = strcmp(args->words[0], "diff") == 0;

    if ((!diff && strcmp(args->words[0], "show") != 0) || args->nwords != 2 + diff) {
        levada_cli_say("ckpt: it is ckpt show FILE or ckpt diff FILE FILE");
        return LEVADA_CLI_USAGE;
    }
    done = diff ? cmd_ckpt_diff(args->words + 1, &out, &err)
                : cmd_ckpt_show(env, args->words[1], &out, &err);
    if (done != LEVADA_OK) status = levada_cli_fail(&err);
    else if (diff && out.size > 0) status = LEVADA_CLI_FAILED;
    levada_cli_out(&out);
    levada_cli_buffer_clear(&out);
    return status;
}

const levada_cli_command levada_cli_ckpt = {
    .name = "ckpt",
    .words = "show FILE | diff A B",
    .doc = "what stands in a saved position, or differs in two",
    .more = "diff gives exit status 1 where there is a difference, as diff does.",
    .options = cmd_ckpt_options,
    .min_words = 2,
    .max_words = 3,
    .run = cmd_ckpt,
};
