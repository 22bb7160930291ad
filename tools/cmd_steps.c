/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada steps: which records a step of training had, from a log of levada.RecordLog.
 *
 * The file: "LVDSTEPS", version u32; then frames of size u32, CRC32 u32 and as many bytes. A frame
 * is "F" and the name of the next file, or "S", step i64, lanes u8 and for each record and lane a
 * u64: number of the file << 40 | number of the record. Little endian.
 */
#include "cli.h"
#include "escape.h"
#include "saved.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_HEAD = 12, STEPS_FRAME = 8, STEPS_STEP = 10, STEPS_BITS = 40 };
#define STEPS_NO_FILE ((UINT64_C(1) << 24) - 1) /* of a lane that a record lacks */

static const levada_cli_option cmd_steps_options[] = {
    { "step", 's', "N", "print the records of this step (default: what the log has)" },
    { "json", 0, NULL, "print one JSON object" },
    LEVADA_CLI_OPTION_END
};

typedef struct steps_log {
    FILE              *file;
    const char        *path;
    levada_cli_buffer  body;  /* of the frame that was read last */
    levada_cli_buffer *names; /* of the files */
    size_t             nnames, capacity;
    int64_t            end;      /* of the whole frames */
    int64_t            steps, records, first, last;
    levada_cli_buffer  found; /* the last entry of the step that is looked for */
    bool               has;
} steps_log;

static uint64_t steps_size(const steps_log *log)
{
    uint64_t lanes = (uint8_t)log->body.at[STEPS_STEP - 1];

    return lanes ? (log->body.size - STEPS_STEP) / 8 / lanes : 0;
}

/* Reads a frame that is whole into the body; false where the log ends, or is damaged. */
static bool steps_frame(steps_log *log)
{
    uint8_t  head[STEPS_FRAME];
    uint64_t size;

    if (fread(head, 1, sizeof head, log->file) < sizeof head) return false;
    size = levada_cli_le(head, 4);
    log->body.size = 0;
    while (log->body.size < size) { /* memory grows as bytes arrive: the size may be forged */
        size_t more = size - log->body.size < 65536 ? size - log->body.size : 65536;
        char  *to = levada_cli_buffer_reserve(&log->body, more + 1);

        if (fread(to, 1, more, log->file) < more) return false;
        log->body.size += more;
    }
    if (size == 0) return false;
    return levada_cli_crc32(0, (const uint8_t *)log->body.at, size) == levada_cli_le(head + 4, 4);
}

static void steps_name(steps_log *log)
{
    if (log->nnames == log->capacity) {
        size_t             capacity = log->capacity * 2 + 16;
        levada_cli_buffer *names = realloc(log->names, capacity * sizeof *names);

        if (!names) abort(); /* as levada_cli_buffer_reserve */
        log->names = names;
        log->capacity = capacity;
    }
    log->names[log->nnames] = (levada_cli_buffer){ 0 };
    levada_cli_add(&log->names[log->nnames++], log->body.at + 1, log->body.size - 1);
}

/* Counts a step, and keeps it if it is the one that is wanted. */
static void steps_step(steps_log *log, bool wanted, int64_t step)
{
    int64_t at = (int64_t)levada_cli_le((const uint8_t *)log->body.at + 1, 8);

    if (log->steps == 0 || at < log->first) log->first = at;
    if (log->steps == 0 || at > log->last) log->last = at;
    log->steps++;
    log->records += (int64_t)steps_size(log);
    if (!wanted || at != step) return;
    log->found.size = 0;
    levada_cli_add(&log->found, log->body.at, log->body.size);
    log->has = true;
}

static levada_status steps_open(steps_log *log, levada_error *err)
{
    uint8_t head[STEPS_HEAD] = { 0 };

    log->file = fopen(log->path, "rb");
    if (!log->file) {
        return levada_fail(err, errno == ENOENT ? LEVADA_ENOT_FOUND : LEVADA_EPERMISSION_DENIED,
                           "cannot open %s: %s", log->path, strerror(errno));
    }
    if (fread(head, 1, sizeof head, log->file) < sizeof head || memcmp(head, "LVDSTEPS", 8) != 0) {
        return levada_fail(err, LEVADA_EDATA_LOSS, "%s is not a record log", log->path);
    }
    if (levada_cli_le(head + 8, 4) != 1) {
        return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                           "%s has version %u; this levada reads version 1", log->path,
                           (unsigned)levada_cli_le(head + 8, 4));
    }
    log->end = STEPS_HEAD;
    return LEVADA_OK;
}

/* Reads the log up to its end, or to a frame that is not whole: DATA_LOSS names it. */
static levada_status steps_read(steps_log *log, bool wanted, int64_t step, levada_error *err)
{
    int64_t size;

    while (steps_frame(log)) {
        char kind = log->body.at[0];

        if (kind == 'F') steps_name(log);
        if (kind == 'S' && log->body.size >= STEPS_STEP) steps_step(log, wanted, step);
        log->end += STEPS_FRAME + (int64_t)log->body.size;
    }
    if (ferror(log->file) || fseek(log->file, 0, SEEK_END) != 0) {
        return levada_fail(err, LEVADA_EUNAVAILABLE, "cannot read %s: %s", log->path,
                           strerror(errno));
    }
    size = ftell(log->file);
    if (size <= log->end) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "%s: the last %" PRId64 " bytes, from byte %" PRId64
                       ", are not whole steps; the steps before were read",
                       log->path, size - log->end, log->end);
}

/* "a.tfrecord:3 + b.tfrecord:7" */
static void steps_key(const steps_log *log, uint64_t record, levada_cli_buffer *out)
{
    uint64_t       lanes = (uint8_t)log->found.at[STEPS_STEP - 1];
    const uint8_t *at = (const uint8_t *)log->found.at + STEPS_STEP + record * lanes * 8;

    for (uint64_t lane = 0, written = 0; lane < lanes; lane++) {
        uint64_t entry = levada_cli_le(at + lane * 8, 8), file = entry >> STEPS_BITS;

        if (file == STEPS_NO_FILE) continue;
        if (written++) levada_cli_puts(out, " + ");
        if (file < log->nnames) levada_cli_add(out, log->names[file].at, log->names[file].size);
        levada_cli_printf(out, ":%" PRIu64, entry & ((UINT64_C(1) << STEPS_BITS) - 1));
    }
}

static void steps_print(steps_log *log, int64_t step, bool json, levada_cli_buffer *out)
{
    uint64_t          n;
    levada_cli_buffer key = { 0 };

    log->body.size = 0;
    levada_cli_add(&log->body, log->found.at, log->found.size);
    n = steps_size(log);
    if (json) levada_cli_printf(out, "{\"step\":%" PRId64 ",\"keys\":[", step);
    for (uint64_t i = 0; i < n; i++) {
        key.size = 0;
        steps_key(log, i, &key);
        if (json && i > 0) levada_cli_puts(out, ",");
        if (json) levada_cli_json_text(out, key.at, key.size);
        else levada_cli_show(out, key.at, key.size);
        if (!json) levada_cli_puts(out, "\n");
    }
    if (json) levada_cli_puts(out, "]}\n");
    levada_cli_buffer_clear(&key);
}

static void steps_summary(const steps_log *log, bool json, levada_cli_buffer *out)
{
    if (json) {
        levada_cli_printf(out, "{\"steps\":%" PRId64 ",\"records\":%" PRId64 ",\"files\":%zu",
                          log->steps, log->records, log->nnames);
        if (log->steps) {
            levada_cli_printf(out, ",\"first\":%" PRId64 ",\"last\":%" PRId64, log->first,
                              log->last);
        }
        levada_cli_puts(out, "}\n");
        return;
    }
    levada_cli_counted(out, log->steps, "step", "steps");
    if (log->steps) levada_cli_printf(out, ", %" PRId64 " to %" PRId64, log->first, log->last);
    levada_cli_puts(out, " · ");
    levada_cli_counted(out, log->records, "record", "records");
    levada_cli_puts(out, " · ");
    levada_cli_counted(out, (int64_t)log->nnames, "file", "files");
    levada_cli_puts(out, "\n");
}

static void steps_close(steps_log *log)
{
    if (log->file) fclose(log->file);
    for (size_t i = 0; i < log->nnames; i++) levada_cli_buffer_clear(&log->names[i]);
    free(log->names);
    levada_cli_buffer_clear(&log->body);
    levada_cli_buffer_clear(&log->found);
}

static levada_cli_status cmd_steps(levada_env *env, const levada_cli_args *args)
{
    steps_log         log = { .path = args->words[0] };
    levada_error      err = LEVADA_ERROR_INIT;
    levada_cli_buffer out = { 0 };
    bool              wanted = levada_cli_flag(args, "step"), json = levada_cli_flag(args, "json");
    int64_t           step = levada_cli_number(args, "step", 0);
    levada_cli_status status = LEVADA_CLI_DONE;

    (void)env;
    if (steps_open(&log, &err) != LEVADA_OK) {
        steps_close(&log);
        return levada_cli_fail(&err);
    }
    if (steps_read(&log, wanted, step, &err) != LEVADA_OK) status = levada_cli_fail(&err);
    if (wanted && log.has) {
        steps_print(&log, step, json, &out);
    } else if (wanted) {
        levada_cli_say("%s does not have step %" PRId64, log.path, step);
        status = LEVADA_CLI_FAILED;
    } else {
        steps_summary(&log, json, &out);
    }
    (void)levada_cli_out(&out);
    levada_cli_buffer_clear(&out);
    steps_close(&log);
    return status;
}

const levada_cli_command levada_cli_steps = {
    .name = "steps",
    .words = "FILE",
    .doc = "show which records a step of training had",
    .more = "FILE is a log of levada.RecordLog.",
    .options = cmd_steps_options,
    .min_words = 1,
    .max_words = 1,
    .run = cmd_steps,
};
