/* SPDX-License-Identifier: Apache-2.0 */
#include "source/tar_member.h"

#include <string.h>

#define MEMBER_MOST (INT64_C(1) << 60) /* no file is as long; sums of two do not overflow */
#define MEMBER_SUM_LEAST (8 * ' ') /* a checksum counts itself as spaces */

/* Fields of a header: where they are, and their sizes. */
enum {
    MEMBER_NAME = 0, MEMBER_NAME_SIZE = 100,
    MEMBER_SIZE = 124, MEMBER_SIZE_SIZE = 12,
    MEMBER_SUM = 148, MEMBER_SUM_SIZE = 8,
    MEMBER_TYPE = 156,
    MEMBER_MAGIC = 257,
    MEMBER_PREFIX = 345, MEMBER_PREFIX_SIZE = 155,
    MEMBER_HOLES = 482, MEMBER_HOLES_MORE = 504
};

/* Reads an octal number between spaces and zeros, or a binary one whose top bit is set. -1 =
 * neither. */
static int64_t member_number(const uint8_t *at, int size)
{
    int64_t value = 0;
    int     i = 0;

    if (*at & 0x80) {
        if (*at != 0x80) return -1; /* negative, or beyond 88 bits */
        for (i = 1; i < size; i++) {
            if (value >= MEMBER_MOST >> 8) return -1;
            value = value << 8 | at[i];
        }
        return value;
    }
    while (i < size && at[i] == ' ') i++;
    for (; i < size && at[i] >= '0' && at[i] <= '7'; i++) value = value << 3 | (at[i] - '0');
    while (i < size && (at[i] == ' ' || at[i] == '\0')) i++;
    return i == size ? value : -1;
}

/* Sums 256 bytes in 16 bits, which is fast. */
static int32_t member_sum(const uint8_t *at)
{
    uint16_t sum = 0;

    for (int i = 0; i < LEVADA_TAR_BLOCK / 2; i++) sum = (uint16_t)(sum + at[i]);
    return sum;
}

/* Returns what to add for signed bytes, which old programs added, without the checksum itself. */
static int32_t member_signs(const uint8_t *block)
{
    int32_t signs = 0;

    for (int i = 0; i < LEVADA_TAR_BLOCK; i++) {
        if (i < MEMBER_SUM || i >= MEMBER_SUM + MEMBER_SUM_SIZE) signs += block[i] >> 7;
    }
    return -256 * signs;
}

bool levada_tar_is_header(const uint8_t *block, bool *magic)
{
    int64_t said = member_number(block + MEMBER_SUM, MEMBER_SUM_SIZE);
    int32_t sum;

    if (said < MEMBER_SUM_LEAST) return false; /* the usual case where headers are searched for */
    *magic = memcmp(block + MEMBER_MAGIC, "ustar", 5) == 0;
    sum = member_sum(block) + member_sum(block + LEVADA_TAR_BLOCK / 2);
    for (int i = MEMBER_SUM; i < MEMBER_SUM + MEMBER_SUM_SIZE; i++)
        sum += ' ' - block[i]; /* the checksum itself counts as spaces */
    return said == sum || said == sum + member_signs(block);
}

int64_t levada_tar_find(const uint8_t *bytes, int64_t size)
{
    bool magic;

    for (int64_t at = 0; at + LEVADA_TAR_BLOCK <= size; at++) {
        const uint8_t *from = bytes + at + MEMBER_MAGIC;
        const uint8_t *found = memmem(from, (size_t)(bytes + size - from), "ustar", 5);

        if (!found) return -1;
        at += found - from;
        if (at + LEVADA_TAR_BLOCK <= size && levada_tar_is_header(bytes + at, &magic)) return at;
    }
    return -1;
}

static bool member_is_zero(const uint8_t *block)
{
    return block[0] == 0 && memcmp(block, block + 1, LEVADA_TAR_BLOCK - 1) == 0;
}

int64_t levada_tar_zeros(const uint8_t *bytes, int64_t size)
{
    int64_t at = 0;

    while (size - at >= LEVADA_TAR_BLOCK && member_is_zero(bytes + at)) at += LEVADA_TAR_BLOCK;
    return at;
}

static int64_t member_padded(int64_t size)
{
    return (size + LEVADA_TAR_BLOCK - 1) / LEVADA_TAR_BLOCK * LEVADA_TAR_BLOCK;
}

/* A member while its headers are read. */
typedef struct member_reader {
    const uint8_t     *bytes;
    int64_t            left, at;
    bool               named, sparse;
    int64_t            size; /* of PAX; -1 = as in the header */
    levada_tar_member *out;
} member_reader;

static levada_tar_kind member_bad(member_reader *r, const char *wrong)
{
    r->out->wrong = wrong;
    return LEVADA_TAR_BAD;
}

/* Judges a member that is cut; `known`: it is a file of this name, whatever the bytes after these
 * are. */
static levada_tar_kind member_cut(member_reader *r, bool known, int64_t need)
{
    if (!known) r->out->length = 0;
    r->out->total = need;
    return LEVADA_TAR_CUT;
}

static bool member_set_name(member_reader *r, const uint8_t *text, int64_t size)
{
    const uint8_t *end = size > 0 ? memchr(text, '\0', (size_t)size) : NULL;

    if (end) size = end - text;
    if (size > INT32_MAX) return false;
    r->out->name = (const char *)text;
    r->out->length = (int32_t)size;
    r->named = true;
    return true;
}

/* Reads one "KEY=VALUE" of PAX. Returns false if it cannot be used. */
static bool member_pax_entry(member_reader *r, const uint8_t *key, int64_t n)
{
    const uint8_t *equal = memchr(key, '=', (size_t)n), *value;
    int64_t        nkey, nvalue, size = 0;

    if (!equal) return false;
    value = equal + 1;
    nkey = equal - key;
    nvalue = n - nkey - 1;
    if (nkey == 4 && memcmp(key, "path", 4) == 0)
        return nvalue == 0 || member_set_name(r, value, nvalue);
    if (nkey >= 10 && memcmp(key, "GNU.sparse", 10) == 0) r->sparse = true;
    if (nkey != 4 || memcmp(key, "size", 4) != 0) return true;
    for (int64_t i = 0; i < nvalue; i++) {
        if (value[i] < '0' || value[i] > '9' || size >= MEMBER_MOST / 16) return false;
        size = size * 10 + (value[i] - '0');
    }
    r->size = size;
    return nvalue > 0;
}

/* Entries are "LENGTH KEY=VALUE\n", the length in decimal digits and of all of it. */
static bool member_pax(member_reader *r, const uint8_t *at, int64_t size)
{
    while (size > 0) {
        int64_t length = 0, digits = 0;

        for (; digits < size && at[digits] >= '0' && at[digits] <= '9'; digits++) {
            if (length < size) length = length * 10 + (at[digits] - '0');
        }
        if (digits == 0 || digits == size || at[digits] != ' ') return false;
        if (length < digits + 3 || length > size || at[length - 1] != '\n') return false;
        if (!member_pax_entry(r, at + digits + 1, length - digits - 2)) return false;
        at += length;
        size -= length;
    }
    return true;
}

/* Reads the name in the header itself, after its prefix if it is ustar of POSIX. */
static void member_own_name(member_reader *r, const uint8_t *block)
{
    char  *joined = r->out->own;
    size_t n = 0, name = strnlen((const char *)block + MEMBER_NAME, MEMBER_NAME_SIZE);

    if (memcmp(block + MEMBER_MAGIC, "ustar\0", 6) == 0) {
        n = strnlen((const char *)block + MEMBER_PREFIX, MEMBER_PREFIX_SIZE);
        memcpy(joined, block + MEMBER_PREFIX, n);
        if (n > 0) joined[n++] = '/';
    }
    memcpy(joined + n, block + MEMBER_NAME, name);
    r->out->name = joined;
    r->out->length = (int32_t)(n + name);
}

/* Reads a header that says more about the next one. NOTHING = continue there. */
static levada_tar_kind member_extension(member_reader *r, char type, int64_t size)
{
    const uint8_t *data = r->bytes + r->at + LEVADA_TAR_BLOCK;
    int64_t        all = LEVADA_TAR_BLOCK + member_padded(size);

    if (r->left - r->at < all) return member_cut(r, false, r->at + all);
    if ((type == 'x' || type == 'X') && !member_pax(r, data, size))
        return member_bad(r, "a PAX header is damaged");
    if (type == 'L' && !member_set_name(r, data, size)) return member_bad(r, "the name of a "
                                                                             "member is too long");
    r->at += all;
    return LEVADA_TAR_NOTHING;
}

/* Skips the blocks in which the table of holes of old GNU continues. 0 = it is cut. */
static int64_t member_holes(const member_reader *r)
{
    int64_t at = r->at + LEVADA_TAR_BLOCK;
    bool    more = r->bytes[r->at + MEMBER_HOLES] != 0;

    while (more && r->left - at >= LEVADA_TAR_BLOCK) {
        more = r->bytes[at + MEMBER_HOLES_MORE] != 0;
        at += LEVADA_TAR_BLOCK;
    }
    return more ? 0 : at;
}

/* Reads a PAX header for all members that follow. A position in the file does not know of it, so
 * what it may not change are their names and sizes. */
static levada_tar_kind member_global(member_reader *r, int64_t size)
{
    levada_tar_member *out = r->out;
    member_reader      all = { .size = -1, .out = out };

    out->length = 0;
    out->total = r->at + LEVADA_TAR_BLOCK + member_padded(size);
    if (r->left < out->total) return member_cut(r, false, out->total);
    if (!member_pax(&all, r->bytes + r->at + LEVADA_TAR_BLOCK, size))
        return member_bad(r, "a global PAX header is damaged");
    out->length = 0;
    out->wrong = "a global PAX header sets the path or the size of all members, which is not "
                 "supported; pack the archive again";
    return all.named || all.size >= 0 ? LEVADA_TAR_REFUSED : LEVADA_TAR_OTHER;
}

/* Returns true if it is a file. Unknown types are; labels of volumes, lists of directories and
 * attributes are not. */
static bool member_is_file(const levada_tar_member *m, char type)
{
    if (type == '0' || type == '\0') return m->length == 0 || m->name[m->length - 1] != '/';
    return type > '6' ? !strchr("VDNAEI", type) : type < '0';
}

/* Finishes the header of the member itself, whose bytes follow. */
static levada_tar_kind member_finish(member_reader *r, char type, int64_t size, bool at_end)
{
    levada_tar_member *out = r->out;
    bool               file;
    int64_t            end;

    if (!r->named) member_own_name(r, r->bytes + r->at);
    file = member_is_file(out, type);
    out->data = type == 'S' ? member_holes(r) : r->at + LEVADA_TAR_BLOCK;
    if (out->data == 0) return member_cut(r, file, r->left + LEVADA_TAR_BLOCK);
    out->size = file || type > '6' ? (r->size >= 0 ? r->size : size) : 0;
    out->total = out->data + member_padded(out->size);
    end = at_end ? out->data + out->size : out->total;
    if (end > r->left) /* padding may be missing */
        return member_cut(r, file, out->data + out->size);
    if (out->total > r->left) out->total = r->left;
    if (!file) return LEVADA_TAR_OTHER;
    out->wrong = type == 'M' ? "a member begins in another volume"
                             : "a member is sparse, which is not supported";
    return type == 'S' || type == 'M' || r->sparse ? LEVADA_TAR_PARTIAL : LEVADA_TAR_FILE;
}

static bool member_is_extension(uint8_t type) { return type != '\0' && strchr("xLKX", type); }

int64_t levada_tar_length(const uint8_t *block)
{
    int64_t size = member_number(block + MEMBER_SIZE, MEMBER_SIZE_SIZE);
    uint8_t type = block[MEMBER_TYPE];

    return LEVADA_TAR_BLOCK + (size < 0 || (type >= '1' && type <= '6') ? 0 : member_padded(size));
}

int64_t levada_tar_extension(const uint8_t *block)
{
    return member_is_extension(block[MEMBER_TYPE]) ? levada_tar_length(block) : 0;
}

/* Returns true if these bytes, padded with zeros, are entries of PAX or the name that the next
 * header begins. */
static bool member_describes(const uint8_t *bytes, int64_t size, const char *name, int64_t n)
{
    levada_tar_member ignored;
    member_reader     r = { .size = -1, .out = &ignored };

    if (n > 0 && size > n && memcmp(bytes, name, (size_t)n) == 0) return true;
    while (size > 0 && bytes[size - 1] == 0) size--;
    return size > 0 && member_pax(&r, bytes, size);
}

bool levada_tar_is_described(const uint8_t *bytes, int64_t size)
{
    const char *name = (const char *)bytes + size;
    int64_t     n = (int64_t)strnlen(name, MEMBER_NAME_SIZE);

    if (n == MEMBER_NAME_SIZE) return true; /* perhaps cut */
    if (member_describes(bytes, size, name, n)) return true; /* its header may be zeros */
    if (size < LEVADA_TAR_BLOCK) return false;
    if (member_is_extension(bytes[MEMBER_TYPE]) && memcmp(bytes + MEMBER_MAGIC, "ustar", 5) == 0)
        return true;
    return memmem(bytes, MEMBER_NAME_SIZE, "PaxHeader", 9) ||
           memmem(bytes, MEMBER_NAME_SIZE, "@LongLink", 9) ||
           member_describes(bytes + LEVADA_TAR_BLOCK, size - LEVADA_TAR_BLOCK, name, n);
}

levada_tar_kind levada_tar_read(const uint8_t *bytes, int64_t left, bool at_end, bool check,
                                levada_tar_member *out)
{
    member_reader   r = { bytes, left, 0, false, false, -1, out };
    levada_tar_kind kind = LEVADA_TAR_NOTHING;
    bool            magic;

    out->name = "";
    out->length = 0;
    while (kind == LEVADA_TAR_NOTHING) {
        const uint8_t *block = bytes + r.at;
        int64_t        size;

        if (left - r.at < LEVADA_TAR_BLOCK) return member_cut(&r, false, r.at + LEVADA_TAR_BLOCK);
        if (member_is_zero(block)) {
            out->total = LEVADA_TAR_BLOCK;
            return r.at == 0 ? LEVADA_TAR_NOTHING : member_bad(&r, "a member has no header");
        }
        if (check && !levada_tar_is_header(block, &magic))
            return member_bad(&r, "invalid member header: wrong checksum");
        size = member_number(block + MEMBER_SIZE, MEMBER_SIZE_SIZE);
        if (size < 0) return member_bad(&r, "invalid member header: the size is not a number");
        if (member_is_extension(block[MEMBER_TYPE]))
            kind = member_extension(&r, (char)block[MEMBER_TYPE], size);
        else if (block[MEMBER_TYPE] == 'g') return member_global(&r, size);
        else kind = member_finish(&r, (char)block[MEMBER_TYPE], size, at_end);
    }
    return kind;
}
