/* SPDX-License-Identifier: Apache-2.0 */
#include "files/bytes.h"

#include "base/alloc.h"
#include "base/transcode.h"
#include "files/looks.h"
#include "files/opener.h"
#include "files/remote.h"
#include "registry/env_priv.h"
#include "registry/registry.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#define BYTES_HEAD 4096
#define BYTES_SIGNATURE 16 /* the longest signature, at most */
#define BYTES_INPUT (256 * 1024) /* compressed bytes read at a time   */
#define BYTES_TEXT (32 * 1024)   /* bytes transcoded at a time        */
#define BYTES_IDLE 3             /* calls of a filter without progress */

typedef struct bytes_piece {
    levada_buffer *buffer;
    int64_t        at, end; /* buffer->data[at, end) */
} bytes_piece;

/* Text of another encoding on its way to UTF-8. */
typedef struct bytes_text {
    levada_charset as, now; /* as the option says; as the byte order mark says */
    int64_t         kept;    /* bytes of a character that is not complete     */
    int64_t         at, end; /* of the text that is not read yet              */
    bool            ended;
    levada_error    why; /* of the file: reported after the text before it */
    uint8_t         raw[BYTES_TEXT], text[(BYTES_TEXT + 1) * LEVADA_TRANSCODE_MOST];
} bytes_text;

struct levada_bytes {
    levada_env              *env; /* a reference */
    char                    *path;
    const levada_opener_def *opener;
    levada_cancel            cancel;
    void                    *file; /* of the opener; NULL = not open */
    int64_t                  size; /* when it was opened; -1 = a pipe */
    int64_t                  at;   /* on disk                    */
    int64_t                  offset;
    uint32_t                 head, tag; /* as of levada_bytes_mark, but also of weak tags */
    bool                     weak;
    bool                     ended;
    const levada_filter_def *filter; /* NULL = plain */
    void                    *state;
    bool                     filter_open;
    bytes_text              *text; /* NULL = UTF-8, or no text */
    levada_buffer           *input;
    int64_t                  input_at, input_end;
    int64_t                  moved; /* bytes that were copied to free space for more input */
    bool                     input_ended;
    levada_error             failed;   /* once not clear, repeated                               */
    bool                     complete; /* of that failure: reading can continue after the stream */
    levada_error             later;    /* of a read ahead: each read at later_at fails with it    */
    int64_t                  later_at;
    /* Bytes from `offset` on that were read already: pieces[piece, npieces). */
    bytes_piece             *pieces;
    int64_t                  piece, npieces, pieces_capacity, stocked;
    atomic_llong             done;
};

/* -- the file */

/* Reads up to `size` bytes at b->at, as many as read_at() has: none only at the end of the file. Of
 * a pipe, returns what has arrived. */
static levada_status bytes_pull(levada_bytes *b, uint8_t *data, int64_t size, int64_t *made,
                                levada_error *err)
{
    if (b->later.code != LEVADA_OK && size > b->later_at - b->at) {
        size = b->later_at - b->at;
        if (size <= 0) {
            if (err) *err = b->later;
            return b->later.code;
        }
    }
    LEVADA_TRY(b->opener->read_at(b->file, b->at, data, size, made, err));
    b->at += *made;
    atomic_store_explicit(&b->done, b->at, memory_order_relaxed);
    if (*made > 0 || size == 0 || b->at >= b->size) return LEVADA_OK;
    return levada_fail(err, LEVADA_EDATA_LOSS,
                       "the file shrank from %lld to %lld bytes while it was read",
                       (long long)b->size, (long long)b->at);
}

static levada_status bytes_open_file(levada_bytes *b, const levada_bytes_options *options,
                                     levada_error *err)
{
    b->cancel = (levada_cancel){
        .flag = options->cancelled, .env = b->env, .hurried = options->hurried,
        .meter = options->meter
    };
    if (b->opener->preferred_bytes > 0) {
        LEVADA_TRY(levada_remote_open(b->opener, b->path, &b->cancel, &b->file, err));
        b->opener = &levada_remote_reader;
    } else {
        LEVADA_TRY(b->opener->open(b->opener->user, b->path, &b->cancel, &b->file, err));
    }
    return b->opener->size(b->file, &b->size, err);
}

static bool bytes_waits(const levada_bytes *b)
{
    return b->size < 0 && levada_opener_waits(b->opener, b->file, b->at);
}

/* Reads at least `least` bytes unless the file ends, and up to `size` if they need no wait. */
static levada_status bytes_pull_least(levada_bytes *b, uint8_t *data, int64_t size, int64_t least,
                                      int64_t *made, levada_error *err)
{
    *made = 0;
    while (*made < size && (*made < least || !bytes_waits(b))) {
        int64_t       n = 0;
        levada_status st = bytes_pull(b, data + *made, size - *made, &n, err);

        *made += n;
        if (st != LEVADA_OK) return st;
        if (n == 0 || b->size >= 0) break;
    }
    return LEVADA_OK;
}

/* Returns the checksum of the present version tag; 0 without one. */
static uint32_t bytes_tag(const levada_bytes *b, bool *weak)
{
    const char *tag = b->opener->version ? b->opener->version(b->file) : NULL;

    *weak = tag && strncmp(tag, "W/", 2) == 0;
    return tag ? levada_env_kernels(b->env)->crc32c(0, (const uint8_t *)tag, strlen(tag)) : 0;
}

/* Computes the checksums of the first bytes and of the version tag. A pipe has no checksum of the
 * first bytes, because how many are there first is a matter of time. */
static void bytes_sum(levada_bytes *b, const uint8_t *head, int64_t size)
{
    if (b->size >= 0) b->head = levada_env_kernels(b->env)->crc32c(0, head, (size_t)size);
    b->tag = bytes_tag(b, &b->weak);
}

/* -- compression */

static bool bytes_wants(const char *compression, const char *word)
{
    return strcasecmp(compression, word) == 0;
}

/* Returns the filter whose suffix the file name has, for files whose damaged first bytes show none.
 */
static const levada_filter_def *bytes_named(const levada_bytes *b)
{
    size_t size = strlen(b->path);

    for (int32_t i = 0;; i++) {
        const levada_filter_def *filter = levada_registry_filter_at(b->env, i);
        size_t                   n = filter && filter->suffix ? strlen(filter->suffix) : 0;

        if (!filter) return NULL;
        if (n > 0 && n < size && strcmp(b->path + size - n, filter->suffix) == 0) return filter;
    }
}

static const levada_filter_def *bytes_choose(const levada_bytes *b,
                                             const levada_bytes_options *options,
                                             const uint8_t *head, int64_t size)
{
    const char              *wanted = options->compression;
    const levada_filter_def *filter;
    int32_t                  bits;

    if (wanted && (*wanted == '\0' || bytes_wants(wanted, "none"))) return NULL;
    if (wanted && !bytes_wants(wanted, "auto")) return levada_registry_filter(b->env, wanted);
    filter = levada_registry_probe(b->env, head, (size_t)size);
    bits = options->probe ? options->probe(head, size) : 0;
    if (filter) return bits > filter->probe(head, (size_t)size) ? NULL : filter;
    return options->probe && bits == 0 ? bytes_named(b) : NULL;
}

/* Refuses what the format does not recognize and what is known to be something else: its bytes are
 * no records. */
static levada_status bytes_refuse(const levada_bytes_options *options, const uint8_t *head,
                                  int64_t size, levada_error *err)
{
    const char *wanted = options->compression;
    levada_look look = levada_looks_like(head, size);

    if (!look.remedy || !options->probe || options->probe(head, size) > 0) return LEVADA_OK;
    if (wanted && !bytes_wants(wanted, "auto")) return LEVADA_OK;
    return levada_fail(
        err, LEVADA_EINVALID_ARGUMENT,
        "this is %s, which levada does not read; %s (compression=none reads its bytes "
        "nevertheless)",
        look.name, look.remedy);
}

/* Reads the first bytes, which name the file and its compression, and goes back. A pipe whose
 * writer makes a pause has to have as many as the signatures need, or lines: no signature ends with
 * an LF. */
static levada_status bytes_identify(levada_bytes *b, const levada_bytes_options *options,
                                    levada_error *err)
{
    uint8_t head[BYTES_HEAD];
    int64_t most = b->size >= 0 && b->size < BYTES_HEAD ? b->size : BYTES_HEAD, made = 0, n;

    do {
        LEVADA_TRY(bytes_pull_least(b, head + made, most - made, 1, &n, err));
        made += n;
    } while (n > 0 && made < BYTES_SIGNATURE && head[made - 1] != '\n');
    bytes_sum(b, head, made);
    b->at = 0;
    b->filter = made > 0 ? bytes_choose(b, options, head, made) : NULL;
    if (!b->filter) return bytes_refuse(options, head, made, err);
    b->state = levada_alloc_zero(b->filter->state_size);
    if (!b->state) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                      "out of memory for a filter");
    LEVADA_TRY(levada_buffer_create(levada_env_pool(b->env), BYTES_INPUT, &b->input, err));
    LEVADA_TRY(b->filter->open(b->state, err));
    b->filter_open = true;
    return LEVADA_OK;
}

/* -- encodings */

static levada_status bytes_open_text(levada_bytes *b, const char *encoding, levada_error *err)
{
    levada_charset found = LEVADA_CHARSET_UTF8;

    LEVADA_TRY(levada_charset_check(encoding, err));
    if (encoding) (void)levada_charset_find(encoding, &found);
    if (found == LEVADA_CHARSET_UTF8) return LEVADA_OK;
    b->text = levada_alloc_zero(sizeof *b->text);
    if (!b->text) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                                     "out of memory for an encoding");
    b->text->as = b->text->now = found;
    return LEVADA_OK;
}

levada_status levada_bytes_open(levada_env *env, const char *path,
                                const levada_bytes_options *options, levada_bytes **out,
                                levada_error *err)
{
    levada_bytes *b;
    levada_status st;

    LEVADA_TRY(levada_compression_check(env, options->compression, err));
    b = levada_alloc_zero(sizeof *b);
    if (!b) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "out of memory while opening a file");
    b->opener = levada_opener_find(env, path);
    atomic_init(&b->done, 0);
    b->env = levada_env_ref(env);
    b->path = levada_strdup(path);
    st = b->path ? bytes_open_file(b, options, err)
                 : levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                               "out of memory while opening a file");
    if (st == LEVADA_OK) st = bytes_identify(b, options, err);
    if (st == LEVADA_OK) st = bytes_open_text(b, options->encoding, err);
    if (st != LEVADA_OK) {
        levada_error_place(err, NULL, path, -1, -1);
        levada_bytes_close(&b);
        return st;
    }
    *out = b;
    return LEVADA_OK;
}

static void bytes_drop_stock(levada_bytes *b)
{
    for (; b->piece < b->npieces; b->piece++) levada_buffer_unref(&b->pieces[b->piece].buffer);
    b->piece = b->npieces = b->stocked = 0;
}

void levada_bytes_close(levada_bytes **bytes)
{
    levada_bytes *b = *bytes;

    *bytes = NULL;
    if (!b) return;
    bytes_drop_stock(b);
    levada_free(b->pieces);
    if (b->filter_open) b->filter->close(b->state);
    levada_free(b->state);
    levada_free(b->text);
    levada_buffer_unref(&b->input);
    if (b->file) b->opener->close(b->file);
    levada_env_unref(&b->env);
    levada_free(b->path);
    levada_free(b);
}

/* -- reading */

/* Moves the compressed bytes that are left to the front, and reads more after them. */
static levada_status bytes_refill(levada_bytes *b, levada_error *err)
{
    int64_t left = b->input_end - b->input_at, made = 0;

    memmove(b->input->data, b->input->data + b->input_at, (size_t)left);
    b->moved += left;
    b->input_at = 0;
    b->input_end = left;
    LEVADA_TRY(bytes_pull(b, b->input->data + left, BYTES_INPUT - left, &made, err));
    b->input_end += made;
    b->input_ended = b->size < 0 ? made == 0 : made < BYTES_INPUT - left && b->at >= b->size;
    return LEVADA_OK;
}

/* Returns true if it is time to refill. Refilling moves the bytes that are left, so it waits until
 * they are the smaller part. */
static bool bytes_needs_input(const levada_bytes *b, int idle)
{
    int64_t left = b->input_end - b->input_at;

    return !b->input_ended && (left == 0 || (idle > 0 && left < BYTES_INPUT / 2));
}

static levada_status bytes_decode(levada_bytes *b, uint8_t *data, int64_t size, int64_t least,
                                  int64_t *made, levada_error *err)
{
    levada_status st;
    int           idle = 0;

    while (*made < size && !b->ended) {
        levada_filter_step step = {.out = data + *made, .out_size = (size_t)(size - *made)};

        if (bytes_needs_input(b, idle)) {
            if (*made >= least && bytes_waits(b)) return LEVADA_OK;
            LEVADA_TRY(bytes_refill(b, err));
            if (b->size < 0 && !b->input_ended) idle = 0; /* pipes bring a little at a time */
        }
        step.in = b->input->data + b->input_at;
        step.in_size = (size_t)(b->input_end - b->input_at);
        step.in_ended = b->input_ended;
        st = b->filter->decode(b->state, &step, err);
        if (st != LEVADA_OK && !step.finished) return st;
        b->input_at += (int64_t)step.used;
        b->complete = st == LEVADA_EDATA_LOSS;
        if (st != LEVADA_OK) return st;
        *made += (int64_t)step.made;
        b->ended = step.finished;
        idle = step.used + step.made > 0 ? 0 : idle + 1;
        if (idle > BYTES_IDLE && !b->ended) {
            return levada_fail(err, LEVADA_EDATA_LOSS, "%s: the decoder makes no progress",
                               b->filter->name);
        }
    }
    return LEVADA_OK;
}

/* Reads bytes of the file, decompressed. */
static levada_status bytes_read_raw(levada_bytes *b, uint8_t *data, int64_t size, int64_t least,
                                    int64_t *made, levada_error *err)
{
    return b->filter ? bytes_decode(b, data, size, least, made, err)
                     : bytes_pull_least(b, data, size, least, made, err);
}

/* Fills the text again, all of which has been read. An error comes after the text before it. */
static void bytes_transcode(levada_bytes *b)
{
    bytes_text *t = b->text;
    int64_t     made = 0, used;

    (void)bytes_read_raw(b, t->raw + t->kept, BYTES_TEXT - t->kept, 1, &made, &t->why);
    t->ended = made == 0 && t->why.code == LEVADA_OK;
    t->at = 0;
    t->end = levada_transcode(&t->now, t->raw, t->kept + made, t->ended, t->text, &used);
    t->kept += made - used;
    memmove(t->raw, t->raw + used, (size_t)t->kept);
}

static levada_status bytes_read_text(levada_bytes *b, uint8_t *data, int64_t size, int64_t least,
                                     int64_t *made, levada_error *err)
{
    bytes_text *t = b->text;

    while (*made < size) {
        int64_t n = t->end - t->at < size - *made ? t->end - t->at : size - *made;

        memcpy(data + *made, t->text + t->at, (size_t)n);
        t->at += n;
        *made += n;
        if (t->at < t->end) continue;
        if (t->why.code != LEVADA_OK) {
            *err = t->why;
            levada_error_clear(&t->why);
            return err->code;
        }
        if (t->ended || *made == size || (*made >= least && bytes_waits(b))) return LEVADA_OK;
        bytes_transcode(b);
    }
    return LEVADA_OK;
}

levada_status levada_bytes_read(levada_bytes *b, void *data, int64_t size, int64_t *made,
                                levada_error *err)
{
    return levada_bytes_read_least(b, data, size, size, made, err);
}

/* Reads what follows the bytes in stock. Notes a failure, unless it is ECANCELLED: then nothing is
 * lost, and the next call continues. */
static levada_status bytes_produce(levada_bytes *b, uint8_t *data, int64_t size, int64_t least,
                                   int64_t *made, levada_error *err)
{
    levada_status st = b->failed.code;

    *made = 0;
    if (st == LEVADA_OK) {
        st = b->text ? bytes_read_text(b, data, size, least, made, &b->failed)
                     : bytes_read_raw(b, data, size, least, made, &b->failed);
        if (st != LEVADA_OK && st != LEVADA_ECANCELLED)
            levada_error_place(&b->failed, NULL, b->path, -1, -1);
    }
    if (st != LEVADA_OK && err) *err = b->failed;
    if (st == LEVADA_ECANCELLED) levada_error_clear(&b->failed);
    return st;
}

bool levada_bytes_stock(levada_bytes *b, int64_t size)
{
    bytes_piece   piece = { 0 };
    int64_t       made = 0;
    levada_status st;

    if (!levada_reserve(&b->pieces, &b->pieces_capacity, b->npieces + 1, sizeof *b->pieces) ||
        levada_buffer_create(levada_env_pool(b->env), LEVADA_BYTES_LEAD + size, &piece.buffer,
                             NULL) != LEVADA_OK) {
        return false;
    }
    st = bytes_produce(b, piece.buffer->data + LEVADA_BYTES_LEAD, size, size, &made, NULL);
    piece.at = LEVADA_BYTES_LEAD;
    piece.end = piece.at + made;
    b->stocked += made;
    if (made > 0) b->pieces[b->npieces++] = piece;
    else levada_buffer_unref(&piece.buffer);
    return st == LEVADA_OK && made == size;
}

int64_t levada_bytes_stocked(const levada_bytes *b) { return b->stocked; }

levada_buffer *levada_bytes_take(levada_bytes *b, int64_t *end)
{
    bytes_piece *p = b->piece < b->npieces ? &b->pieces[b->piece] : NULL;

    if (!p || p->at > LEVADA_BYTES_LEAD) return NULL;
    *end = p->end;
    b->offset += p->end - p->at;
    b->stocked -= p->end - p->at;
    b->piece++;
    return p->buffer;
}

/* Copies up to `size` bytes out of the stock. */
static int64_t bytes_unstock(levada_bytes *b, uint8_t *data, int64_t size)
{
    int64_t made = 0;

    while (made < size && b->piece < b->npieces) {
        bytes_piece *p = &b->pieces[b->piece];
        int64_t      n = p->end - p->at < size - made ? p->end - p->at : size - made;

        memcpy(data + made, p->buffer->data + p->at, (size_t)n);
        made += n;
        p->at += n;
        if (p->at < p->end) continue;
        levada_buffer_unref(&p->buffer);
        b->piece++;
    }
    b->stocked -= made;
    return made;
}

levada_status levada_bytes_read_least(levada_bytes *b, void *data, int64_t size, int64_t least,
                                      int64_t *made, levada_error *err)
{
    int64_t       taken = bytes_unstock(b, data, size), more = 0;
    levada_error  why = LEVADA_ERROR_INIT;
    levada_status st = LEVADA_OK;

    if (taken < size || size == 0) {
        st = bytes_produce(b, (uint8_t *)data + taken, size - taken,
                           least > taken ? least - taken : 0, &more, &why);
    }
    *made = taken + more;
    b->offset += *made;
    if (*made > 0) return LEVADA_OK; /* an error comes with the next call */
    if (st != LEVADA_OK && err) *err = why;
    return st;
}

static levada_status bytes_restart(levada_bytes *b, levada_error *err)
{
    bytes_drop_stock(b);
    b->at = b->offset = 0;
    b->input_at = b->input_end = 0;
    b->input_ended = b->ended = false;
    if (b->text) {
        b->text->now = b->text->as;
        b->text->kept = b->text->at = b->text->end = 0;
        b->text->ended = false;
        levada_error_clear(&b->text->why);
    }
    return b->filter ? b->filter->reset(b->state, err) : LEVADA_OK;
}

static levada_status bytes_beyond(const levada_bytes *b, int64_t offset, levada_error *err)
{
    (void)levada_fail(err, LEVADA_EOUT_OF_RANGE, "byte %lld is after the end of the file",
                      (long long)offset);
    levada_error_place(err, NULL, b->path, -1, -1);
    return LEVADA_EOUT_OF_RANGE;
}

levada_status levada_bytes_seek(levada_bytes *b, int64_t offset, levada_error *err)
{
    uint8_t skipped[16384];
    int64_t made = 1;
    bool    failed = b->failed.code != LEVADA_OK;

    levada_error_clear(&b->failed);
    b->complete = false;
    if (levada_bytes_seekable(b)) {
        made = levada_bytes_left(b) + b->offset; /* the whole file, which may have grown */
        if (offset <= made) {
            bytes_drop_stock(b);
            b->at = b->offset = offset;
            return LEVADA_OK;
        }
        return bytes_beyond(b, offset, err);
    }
    if (failed || offset < b->offset) LEVADA_TRY(bytes_restart(b, err));
    while (b->offset < offset && made > 0) {
        int64_t left = offset - b->offset, size = (int64_t)sizeof skipped;

        LEVADA_TRY(levada_bytes_read(b, skipped, left < size ? left : size, &made, err));
    }
    return b->offset == offset ? LEVADA_OK : bytes_beyond(b, offset, err);
}

bool levada_bytes_shared(const levada_bytes *b)
{
    return levada_bytes_seekable(b) && b->opener->shared;
}

levada_status levada_bytes_read_at(const levada_bytes *b, int64_t offset, void *data, int64_t size,
                                   int64_t *made, levada_error *err)
{
    if (b->later.code != LEVADA_OK && offset + size > b->later_at) {
        if (err) *err = b->later;
        return b->later.code;
    }
    return b->opener->read_at(b->file, offset, data, size, made, err);
}

void levada_bytes_expect(const levada_bytes *b, int64_t offset, int64_t size)
{
    if (b->opener == &levada_remote_reader) levada_remote_expect(b->file, offset, size);
}

void levada_bytes_move(levada_bytes *b, int64_t offset, const levada_error *why, int64_t why_at)
{
    bytes_drop_stock(b);
    b->at = b->offset = offset;
    levada_error_clear(&b->failed);
    if (why->code != LEVADA_OK) {
        b->later = *why;
        b->later_at = why_at;
    }
    atomic_store_explicit(&b->done, offset, memory_order_relaxed);
}

int64_t levada_bytes_offset(const levada_bytes *b) { return b->offset; }

bool levada_bytes_resume(levada_bytes *b)
{
    if (b->failed.code != LEVADA_EDATA_LOSS || !b->complete) return false;
    levada_error_clear(&b->failed);
    b->complete = false;
    return true;
}

bool levada_bytes_plain(const levada_bytes *b) { return !b->filter && !b->text; }

bool levada_bytes_seekable(const levada_bytes *b) { return levada_bytes_plain(b) && b->size >= 0; }

int64_t levada_bytes_left(const levada_bytes *b)
{
    int64_t size = b->size;

    if (!levada_bytes_seekable(b)) return -1;
    if (b->opener->size(b->file, &size, NULL) != LEVADA_OK) size = b->size;
    return size > b->offset ? size - b->offset : 0;
}

levada_bytes_mark levada_bytes_mark_of(const levada_bytes *b)
{
    return (levada_bytes_mark){.size = b->size, .head = b->head, .tag = b->weak ? 0 : b->tag};
}

int64_t levada_bytes_done(const levada_bytes *b)
{
    return atomic_load_explicit(&((levada_bytes *)(uintptr_t)b)->done, memory_order_relaxed);
}

bool levada_bytes_changed(const levada_bytes *b)
{
    bool weak;

    return bytes_tag(b, &weak) != b->tag;
}

const char *levada_bytes_compression(const levada_bytes *b)
{
    return b->filter ? b->filter->name : "";
}

int64_t levada_bytes_moved(const levada_bytes *b) { return b->moved; }

levada_status levada_bytes_mark_file(const levada_env *env, const char *path,
                                     levada_bytes_mark *out, levada_error *err)
{
    levada_bytes_options plain = {.compression = "none"};
    levada_bytes        *bytes = NULL;

    LEVADA_TRY(levada_bytes_open((levada_env *)(uintptr_t)env, path, &plain, &bytes, err));
    *out = levada_bytes_mark_of(bytes);
    levada_bytes_close(&bytes);
    return LEVADA_OK;
}
