/* SPDX-License-Identifier: Apache-2.0 */
#include "source/beside.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

#define BESIDE_BLANK 64 /* bytes of blank lines at the end of a file */

static const levada_bytes_options beside_plain = { .compression = "none" };

static levada_status beside_name(const char *path, const char *replaced, const char *suffix,
                                 char **out, levada_error *err)
{
    levada_text text = { 0 };
    size_t      n = strlen(path), less = strlen(replaced);

    if (less > n || strcmp(path + n - less, replaced) != 0) less = 0;
    levada_text_format(&text, "%.*s%s", (int)(n - less), path, suffix);
    return levada_text_steal(&text, out, err);
}

levada_status levada_beside_open(levada_env *env, const char *path, const char *replaced,
                                 const char *suffix, levada_bytes **out, levada_error *err)
{
    char         *name = NULL;
    levada_status st;

    LEVADA_TRY(beside_name(path, replaced, suffix, &name, err));
    st = levada_bytes_open(env, name, &beside_plain, out, err);
    if (st == LEVADA_OK && !levada_bytes_seekable(*out)) {
        st = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                         "an index must be a regular file, got a pipe");
        levada_error_place(err, NULL, name, -1, -1);
        levada_bytes_close(out);
    }
    levada_free(name);
    return st;
}

levada_status levada_beside_read(const levada_bytes *bytes, int64_t offset, int64_t size,
                                 uint8_t **out, levada_error *err)
{
    int64_t       made = 0, all = levada_bytes_mark_of(bytes).size;
    uint8_t      *data;
    levada_status st;

    if (offset < 0 || size < 0 || offset > all || size > all - offset)
        return levada_fail(err, LEVADA_EDATA_LOSS,
                           "%lld bytes at byte %lld exceed the file of %lld bytes",
                           (long long)size, (long long)offset, (long long)all);
    data = levada_alloc((size_t)size + 1);
    if (!data) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an index");
    st = levada_bytes_read_at(bytes, offset, data, size, &made, err);
    if (st == LEVADA_OK && made < size)
        st = levada_fail(err, LEVADA_EDATA_LOSS, "the file became shorter while it was read");
    data[st == LEVADA_OK ? size : 0] = 0;
    if (st == LEVADA_OK) *out = data;
    else levada_free(data);
    return st;
}

/* Returns the number at *at, which ends before a space, a tab or the end of the line; -1 if it is
 * none. */
static int64_t beside_number(const char **at)
{
    const char *p = *at;
    int64_t     value = 0;

    for (; *p >= '0' && *p <= '9'; p++) {
        if (value > (INT64_MAX - 9) / 10) return -1;
        value = value * 10 + (*p - '0');
    }
    if (p == *at || (*p && !strchr(" \t\r\n", *p))) return -1;
    *at = p;
    return value;
}

/* Parses one line; *at moves to the next. False: it has something else. */
static bool beside_parse(const char **at, bool named, int64_t numbers[LEVADA_BESIDE_NUMBERS])
{
    const char *p = *at;
    int         n = 0;

    for (int i = 0; i < LEVADA_BESIDE_NUMBERS; i++) numbers[i] = -1;
    if (named) p += strcspn(p, "\t\n");
    for (;;) {
        p += strspn(p, " \t\r");
        if (*p == '\n' || *p == 0) break;
        if (n == LEVADA_BESIDE_NUMBERS || (numbers[n++] = beside_number(&p)) < 0) return false;
    }
    *at = *p ? p + 1 : p;
    return true;
}

static levada_status beside_lines(const char *at, bool named, levada_beside_line each, void *user,
                                  levada_error *err)
{
    for (int64_t line = 1; *at; line++) {
        int64_t numbers[LEVADA_BESIDE_NUMBERS];

        if (*at == '\n') at++;
        else if (!beside_parse(&at, named, numbers))
            return levada_fail(err, LEVADA_EDATA_LOSS, "line %lld must consist of numbers",
                               (long long)line);
        else {
            levada_status st = each(user, numbers, err);

            if (st != LEVADA_OK) return levada_error_wrap(err, "line %lld", (long long)line), st;
        }
    }
    return LEVADA_OK;
}

levada_status levada_beside_lines(levada_env *env, const char *path, const char *suffix, bool named,
                                  levada_beside_line each, void *user, levada_error *err)
{
    levada_bytes *bytes = NULL;
    uint8_t      *data = NULL;
    char         *name = NULL;
    levada_status st;

    LEVADA_TRY(beside_name(path, "", suffix, &name, err));
    st = levada_beside_open(env, path, "", suffix, &bytes, err);
    if (st == LEVADA_OK)
        st = levada_beside_read(bytes, 0, levada_bytes_mark_of(bytes).size, &data, err);
    if (st == LEVADA_OK) st = beside_lines((const char *)data, named, each, user, err);
    if (st != LEVADA_OK) levada_error_place(err, NULL, name, -1, -1);
    levada_bytes_close(&bytes);
    levada_free(data);
    levada_free(name);
    return st;
}

levada_status levada_beside_check_end(levada_env *env, const char *path, int64_t end,
                                      levada_error *err)
{
    uint8_t       tail[BESIDE_BLANK];
    levada_bytes *bytes = NULL;
    int64_t       made = 0, left;
    levada_status st = levada_bytes_open(env, path, &beside_plain, &bytes, err);
    bool          blank;

    if (st != LEVADA_OK) return st;
    left = levada_bytes_mark_of(bytes).size - end;
    blank = left <= BESIDE_BLANK;
    if (left > 0 && blank) st = levada_bytes_read_at(bytes, end, tail, left, &made, err);
    for (int64_t i = 0; i < made; i++) blank = blank && (tail[i] == '\n' || tail[i] == '\r');
    if (st == LEVADA_OK && !blank)
        st = levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                         "the index ends %lld bytes before the file, so the file has changed since "
                         "it was indexed",
                         (long long)left);
    levada_bytes_close(&bytes);
    return st;
}
