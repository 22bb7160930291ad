/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/text.h"
#include <levada/error.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Drops the beginning of a UTF-8 character at the end of text that was cut. */
static void error_mend_end(char *text)
{
    size_t n = strlen(text), tail = 0, need = 0;

    while (tail < n && tail < 3 && ((unsigned char)text[n - 1 - tail] & 0xC0u) == 0x80u) tail++;
    if (tail == n) return;
    unsigned char lead = (unsigned char)text[n - 1 - tail];
    if (lead >= 0xF0u) need = 3;
    else if (lead >= 0xE0u) need = 2;
    else if (lead >= 0xC0u) need = 1;
    if (need > tail) text[n - 1 - tail] = '\0';
}

static void error_copy(char *to, size_t size, const char *from)
{
    size_t n = strlen(from);

    if (n >= size) n = size - 1;
    memmove(to, from, n);
    to[n] = '\0';
    error_mend_end(to);
}

/* Copies a path; of a path that is too long it keeps the end, which says more than the beginning.
 * A URL loses its query, which may be a signature. */
static void error_copy_path(char *to, size_t size, const char *path)
{
    static const char ellipsis[] = "\xE2\x80\xA6";
    const size_t      first = sizeof(ellipsis) - 1;
    size_t            n = strstr(path, "://") ? strcspn(path, "?") : strlen(path);

    if (n >= size) {
        path += n - (size - 1 - first);
        n = size - 1 - first;
        while (((unsigned char)*path & 0xC0u) == 0x80u) path++, n--; /* inside a character */
        memmove(to + first, path, n);
        memcpy(to, ellipsis, first);
        to += first;
    } else {
        memmove(to, path, n);
    }
    to[n] = '\0';
}

/* Messages are one line: what a message quotes may hold anything. */
static void error_one_line(char *text)
{
    levada_text_hide_secrets(text);
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20u) *text = ' ';
    }
}

void levada_error_clear(levada_error *err)
{
    if (err == NULL) return;
    err->code = LEVADA_OK;
    err->stage[0] = err->file[0] = err->key[0] = err->message[0] = '\0';
    err->record = err->offset = -1;
    err->token = 0;
    memset(err->reserved, 0, sizeof err->reserved);
}

levada_error *levada_error_create(void)
{
    levada_error *err = levada_alloc(sizeof *err);

    levada_error_clear(err);
    return err;
}

void levada_error_destroy(levada_error **err)
{
    if (err == NULL) return;
    levada_free(*err);
    *err = NULL;
}

levada_status levada_error_code(const levada_error *err) { return err ? err->code : LEVADA_OK; }
const char   *levada_error_message(const levada_error *err) { return err ? err->message : NULL; }
const char   *levada_error_stage(const levada_error *err) { return err ? err->stage : NULL; }
const char   *levada_error_file(const levada_error *err) { return err ? err->file : NULL; }
const char   *levada_error_key(const levada_error *err) { return err ? err->key : NULL; }
int64_t       levada_error_record(const levada_error *err) { return err ? err->record : -1; }
int64_t       levada_error_offset(const levada_error *err) { return err ? err->offset : -1; }
uint64_t      levada_error_token(const levada_error *err) { return err ? err->token : 0; }

void levada_error_set_token(levada_error *err, uint64_t token)
{
    if (err != NULL) err->token = token;
}

levada_status levada_fail(levada_error *err, levada_status code, const char *fmt, ...)
{
    char    text[sizeof(err->message)];
    va_list args;

    if (err == NULL) return code;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args); /* the arguments may be part of *err */
    va_end(args);
    if (n < 0) text[0] = '\0';
    error_one_line(text);
    levada_error_clear(err);
    err->code = code;
    error_copy(err->message, sizeof(err->message), text);
    return code;
}

void levada_error_wrap(levada_error *err, const char *fmt, ...)
{
    char    text[2 * sizeof(err->message) + 2];
    va_list args;

    if (err == NULL || err->code == LEVADA_OK) return;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(err->message), fmt, args);
    va_end(args);
    if (n < 0) return;
    size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, ": %s", err->message);
    error_one_line(text);
    error_copy(err->message, sizeof(err->message), text);
}

void levada_error_place(levada_error *err, const char *stage, const char *file, int64_t record,
                        int64_t offset)
{
    if (err == NULL) return;
    if (stage != NULL && err->stage[0] == '\0') error_copy(err->stage, sizeof(err->stage), stage);
    if (file != NULL && err->file[0] == '\0') error_copy_path(err->file, sizeof(err->file), file);
    if (err->record < 0 && record >= 0) err->record = record;
    if (err->offset < 0 && offset >= 0) err->offset = offset;
}

/* Appends to what is in text[0, size), with `gap` in front where something is there already. */
LEVADA_PRINTF(4, 5)
static void error_append(char *text, size_t size, const char *gap, const char *fmt, ...)
{
    size_t  used = strlen(text);
    va_list args;

    if (used > 0) {
        snprintf(text + used, size - used, "%s", gap);
        used = strlen(text);
    }
    va_start(args, fmt);
    int n = vsnprintf(text + used, size - used, fmt, args);
    va_end(args);
    if (n < 0) text[used] = '\0';
}

const char *levada_error_text(const levada_error *err, char *text, size_t size)
{
    if (size == 0) return text;
    text[0] = '\0';
    if (err == NULL) return text;
    if (err->stage[0] != '\0') error_append(text, size, "", "%s", err->stage);
    const char *gap = " \xC2\xB7 ";
    if (err->file[0] != '\0') {
        error_append(text, size, gap, "%s", err->file);
        gap = " ";
    }
    if (err->record >= 0) {
        error_append(text, size, gap, "record %lld", (long long)err->record);
        gap = " ";
    }
    if (err->offset >= 0) {
        error_append(text, size, gap, "at byte %lld", (long long)err->offset);
        gap = " ";
    }
    if (err->key[0] != '\0') error_append(text, size, gap, "key '%s'", err->key);
    const char *message = err->message[0] != '\0' ? err->message : levada_status_text(err->code);
    error_append(text, size, ": ", "%s", message);
    error_mend_end(text);
    return text;
}

const char *levada_status_name(levada_status status)
{
    switch (status) {
#define ERROR_NAME(name, value, text) \
    case LEVADA_##name: return #name;
        LEVADA_STATUS_MAP(ERROR_NAME)
#undef ERROR_NAME
    }
    return "?";
}

const char *levada_status_text(levada_status status)
{
    switch (status) {
#define ERROR_TEXT(name, value, text) \
    case LEVADA_##name: return text;
        LEVADA_STATUS_MAP(ERROR_TEXT)
#undef ERROR_TEXT
    }
    return "?";
}
