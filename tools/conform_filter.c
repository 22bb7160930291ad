/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: byte filters. What is decoded is what the filter's own encoder made, or a
 * file "example" with its suffix.
 */
#include "conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTER_PLAIN 1000       /* bytes of the sample                                     */
#define FILTER_FILE ((size_t)1 << 16) /* most of an example that is a file                 */
#define FILTER_MOST ((size_t)1 << 22) /* a damaged length may ask for any number           */
#define FILTER_IDLE 3           /* calls without progress, then the reader takes it for damage */
#define FILTER_GUARD 16         /* bytes after the output that nobody may write            */
#define FILTER_ALL ((size_t)1 << 16)
#define FILTER_EACH 100 /* places that are cut or damaged one by one, later ones in steps  */
#define FILTER_FAULTS 1000

/* How much is put in and taken out at a time. */
typedef struct filter_way {
    size_t in, out;
} filter_way;

static const filter_way filter_whole = { FILTER_ALL, FILTER_ALL };
static const filter_way filter_ways[] = { { FILTER_ALL, FILTER_ALL }, { 1, 1 }, { 1, FILTER_ALL },
                                          { FILTER_ALL, 1 }, { 7, 3 }, { 3, 7 } };

#define FILTER_WAYS ((int)(sizeof filter_ways / sizeof filter_ways[0]))

typedef levada_status (*filter_hook)(void *state, levada_filter_step *step, levada_error *err);

/* -- a stream */

/* A step that the contract does not allow: INTERNAL, which no filter returns. */
static levada_status filter_wrong(const levada_filter_step *step, const uint8_t *guard,
                                  levada_error *err)
{
    for (int i = 0; i < FILTER_GUARD; i++) {
        if (guard[i] != 0xA5)
            return levada_fail(err, LEVADA_EINTERNAL, "it wrote past the %zu bytes of out",
                               step->out_size);
    }
    if (step->used > step->in_size || step->made > step->out_size)
        return levada_fail(err, LEVADA_EINTERNAL, "it reported %zu of %zu bytes read and %zu of "
                           "%zu written", step->used, step->in_size, step->made, step->out_size);
    return LEVADA_OK;
}

/* One call. Input and output have exactly the declared size, so that sanitizers see every access
 * beyond it. */
static levada_status filter_call(filter_hook hook, void *state, levada_filter_step *step,
                                 const char *from, size_t most, levada_cli_buffer *to,
                                 levada_error *err)
{
    uint8_t      *in = malloc(step->in_size + !step->in_size), *out = malloc(most + FILTER_GUARD);
    levada_status st = LEVADA_ERESOURCE_EXHAUSTED;

    if (in && out) {
        memcpy(in, from, step->in_size);
        memset(out, 0xA5, most + FILTER_GUARD);
        step->in = in;
        step->out = out;
        step->out_size = most;
        st = hook(state, step, err);
        if (st == LEVADA_OK) st = filter_wrong(step, out + most, err);
        if (st == LEVADA_OK) levada_cli_add(to, out, step->made);
    }
    free(in);
    free(out);
    return st;
}

/* Runs the filter as a reader does: if nothing comes, more is put in; at the end that is damage.
 * `calls` is the most of them. */
static levada_status filter_run(filter_hook hook, void *state, const levada_cli_buffer *from,
                                filter_way way, int64_t calls, levada_cli_buffer *to,
                                levada_error *err)
{
    size_t at = 0, window = way.in;
    int    idle = 0;

    for (int64_t i = 0; i < calls && to->size < FILTER_MOST; i++) {
        size_t             left = from->size - at;
        levada_filter_step step = { .in_size = left < window ? left : window };

        step.in_ended = step.in_size == left;
        LEVADA_TRY(filter_call(hook, state, &step, from->at + at, way.out, to, err));
        at += step.used;
        if (step.finished) return LEVADA_END;
        if (step.used + step.made > 0) {
            window = way.in;
            idle = 0;
        } else if (!step.in_ended) {
            window += way.in;
        } else if (++idle > FILTER_IDLE) {
            return levada_fail(err, LEVADA_EDATA_LOSS, "the stream makes no progress");
        }
    }
    return LEVADA_OK;
}

/* A decoder or an encoder, from open to close. END: the stream is whole. */
static levada_status filter_through(const levada_filter_def *def, bool encode,
                                    const levada_cli_buffer *from, filter_way way,
                                    levada_cli_buffer *to, levada_error *err)
{
    void         *state = calloc(1, def->state_size + 1);
    levada_status st;

    to->size = 0;
    if (!state) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    st = encode ? def->open_encoder(state, -1, 0, err) : def->open(state, err);
    if (st == LEVADA_OK) {
        st = filter_run(encode ? def->encode : def->decode, state, from, way, INT64_MAX, to, err);
        if (encode) def->close_encoder(state);
        else def->close(state);
    }
    free(state);
    return st;
}

/* -- the sample */

static void filter_sample(levada_cli_buffer *to)
{
    static const char *const words[] = { "record ", "of ", "a ", "file, ", "\n", "\1\2\xff" };
    uint32_t                 draw = 7;

    while (to->size < FILTER_PLAIN) {
        draw = draw * 1664525 + 1013904223;
        levada_cli_puts(to, words[(draw >> 16) % 6]);
    }
}

static bool filter_read_file(const char *path, levada_cli_buffer *to)
{
    FILE  *file = fopen(path, "rb");
    size_t n;

    if (!file) return false;
    while ((n = fread(levada_cli_buffer_reserve(to, 4096), 1, 4096, file)) > 0
           && to->size <= FILTER_FILE)
        to->size += n;
    fclose(file);
    return to->size > 0 && to->size <= FILTER_FILE;
}

static bool filter_same(const levada_cli_buffer *a, const levada_cli_buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->at, b->at, a->size) == 0);
}

/* Reports what `got` has in place of the sample. */
static levada_conform_verdict filter_differs(levada_conform *c, const char *when, levada_status st,
                                             const levada_cli_buffer *got, const levada_error *err)
{
    size_t at = 0;

    if (st < 0) return levada_conform_failed(c, when, err);
    if (st != LEVADA_END) return levada_conform_broken(c, "%s: it gives bytes without end", when);
    while (at < got->size && at < c->plain.size && got->at[at] == c->plain.at[at]) at++;
    return levada_conform_broken(c, "%s: it gives %zu bytes in place of %zu, and byte %zu differs",
                                 when, got->size, c->plain.size, at);
}

static levada_conform_verdict filter_prepare(levada_conform *c)
{
    const levada_filter_def *def = c->filter;
    levada_error             err = LEVADA_ERROR_INIT;
    char                     path[64];
    levada_status            st;

    c->note[0] = c->what[0] = c->where[0] = 0;
    if (c->known) return LEVADA_CONFORM_GOOD;
    levada_conform_look(c, "open(), decode() and encode()");
    (void)snprintf(path, sizeof path, "example%s", def->suffix ? def->suffix : "");
    if (def->encode) {
        filter_sample(&c->plain);
        st = filter_through(def, true, &c->plain, filter_whole, &c->packed, &err);
        if (st != LEVADA_END || c->packed.size == 0)
            return filter_differs(c, "its encoder", st, &c->packed, &err);
    } else if (!filter_read_file(path, &c->packed)) {
        levada_conform_look(c, "the current directory");
        return levada_conform_broken(c, "it cannot compress, and found no file "
                                     "%s of at most 64 KiB: nothing can be checked", path);
    }
    if (!def->encode) {
        st = filter_through(def, false, &c->packed, filter_whole, &c->plain, &err);
        if (st != LEVADA_END) return filter_differs(c, path, st, &c->plain, &err);
    }
    levada_conform_look(c, "");
    c->known = true;
    return LEVADA_CONFORM_GOOD;
}

/* -- the same bytes however they come */

/* Checks that what was made in this way is read in all. */
static levada_conform_verdict filter_encodes(levada_conform *c, const levada_cli_buffer *plain,
                                             filter_way way, levada_cli_buffer *packed,
                                             levada_cli_buffer *got)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_status st = filter_through(c->filter, true, plain, way, packed, &err);
    char          when[96];

    (void)snprintf(when, sizeof when, "encoded by %zu bytes to %zu", way.in, way.out);
    if (st == LEVADA_END && packed->size > 0)
        st = filter_through(c->filter, false, packed, filter_whole, got, &err);
    if (st == LEVADA_END && (filter_same(plain, got) || packed->size == 0))
        return LEVADA_CONFORM_GOOD;
    levada_conform_look(c, "encode(): what it keeps from one call to the next");
    return filter_differs(c, when, st, got, &err);
}

static levada_conform_verdict conform_filter_alike(levada_conform *c)
{
    levada_conform_verdict verdict = filter_prepare(c);
    levada_cli_buffer      packed = { 0 }, got = { 0 }, nothing = { 0 };
    char                   when[96];

    for (int i = 0; verdict == LEVADA_CONFORM_GOOD && i < FILTER_WAYS; i++) {
        levada_error  err = LEVADA_ERROR_INIT;
        levada_status st = filter_through(c->filter, false, &c->packed, filter_ways[i], &got, &err);

        (void)snprintf(when, sizeof when, "by %zu bytes to %zu", filter_ways[i].in,
                       filter_ways[i].out);
        if (st != LEVADA_END || !filter_same(&c->plain, &got)) {
            levada_conform_look(c, "decode(): what it keeps from one call to the next, and used, "
                                   "made and finished of the step");
            verdict = filter_differs(c, when, st, &got, &err);
        } else if (c->filter->encode) {
            verdict = filter_encodes(c, &c->plain, filter_ways[i], &packed, &got);
        }
    }
    levada_cli_puts(&nothing, "");
    if (verdict == LEVADA_CONFORM_GOOD && c->filter->encode)
        verdict = filter_encodes(c, &nothing, filter_whole, &packed, &got);
    (void)snprintf(c->note, sizeof c->note, "%zu bytes, %d ways", c->plain.size, FILTER_WAYS);
    levada_cli_buffer_clear(&packed);
    levada_cli_buffer_clear(&got);
    levada_cli_buffer_clear(&nothing);
    return verdict;
}

/* -- a reset */

/* Checks a reset after some calls, on bytes that may be cut off. */
static levada_conform_verdict filter_resets(levada_conform *c, void *state, int64_t calls,
                                            const levada_cli_buffer *first)
{
    const filter_way  way = { 64, 64 };
    levada_cli_buffer got = { 0 };
    levada_error      err = LEVADA_ERROR_INIT;
    levada_status     st = filter_run(c->filter->decode, state, first, way, calls, &got, NULL);
    char              when[96];
    bool              good;

    (void)snprintf(when, sizeof when, "reset after %s%s", st == LEVADA_END ? "the end" : "a part",
                   st < 0 ? " that was cut off" : "");
    got.size = 0;
    st = c->filter->reset(state, &err);
    if (st == LEVADA_OK)
        st = filter_run(c->filter->decode, state, &c->packed, filter_whole, INT64_MAX, &got, &err);
    good = st == LEVADA_END && filter_same(&c->plain, &got);
    if (!good) levada_conform_look(c, "reset(): a reader that goes back begins the file again");
    if (!good) (void)filter_differs(c, when, st, &got, &err);
    levada_cli_buffer_clear(&got);
    return good ? LEVADA_CONFORM_GOOD : LEVADA_CONFORM_BAD;
}

static levada_conform_verdict filter_resets_anew(levada_conform *c, int64_t calls,
                                                 const levada_cli_buffer *first)
{
    void                  *state = calloc(1, c->filter->state_size + 1);
    levada_error           err = LEVADA_ERROR_INIT;
    levada_conform_verdict verdict;

    if (!state) return levada_conform_broken(c, "out of memory");
    if (c->filter->open(state, &err) == LEVADA_OK) {
        verdict = filter_resets(c, state, calls, first);
        c->filter->close(state);
    } else {
        verdict = levada_conform_failed(c, "open()", &err);
    }
    free(state);
    return verdict;
}

static levada_conform_verdict conform_filter_reset(levada_conform *c)
{
    static const int64_t   calls[] = { 0, 1, 2, 5, 17, INT64_MAX };
    levada_conform_verdict verdict = filter_prepare(c);
    levada_cli_buffer      cut = { 0 };
    size_t                 n = sizeof calls / sizeof calls[0];

    levada_cli_add(&cut, c->packed.at, c->packed.size / 2);
    for (size_t i = 0; verdict == LEVADA_CONFORM_GOOD && i < n; i++) {
        verdict = filter_resets_anew(c, calls[i], &c->packed);
        if (verdict == LEVADA_CONFORM_GOOD) verdict = filter_resets_anew(c, calls[i], &cut);
    }
    (void)snprintf(c->note, sizeof c->note, "%zu places", 2 * n);
    levada_cli_buffer_clear(&cut);
    return verdict;
}

/* -- streams that are cut off or damaged */

static size_t filter_further(size_t at) { return at + (at < FILTER_EACH ? 1 : 1 + at / 16); }

static levada_conform_verdict conform_filter_cut(levada_conform *c)
{
    levada_conform_verdict verdict = filter_prepare(c);
    levada_cli_buffer      got = { 0 };
    int                    n = 0;

    for (size_t at = 1; verdict == LEVADA_CONFORM_GOOD && at < c->packed.size; n++) {
        levada_cli_buffer part = { .at = c->packed.at, .size = at };
        levada_error      err = LEVADA_ERROR_INIT;
        levada_status     st = filter_through(c->filter, false, &part, filter_ways[n % FILTER_WAYS],
                                              &got, &err);

        levada_conform_look(c, "decode() once in_ended: a stream that ends early is EDATA_LOSS");
        if (st >= 0 && !filter_same(&c->plain, &got)) {
            verdict = levada_conform_broken(c, "%zu of %zu bytes are taken for a whole stream", at,
                                            c->packed.size);
        } else if (st < 0 && st != LEVADA_EDATA_LOSS) {
            verdict = levada_conform_failed(c, "a stream that was cut off", &err);
        } else if (got.size > c->plain.size
                   || (got.size > 0 && memcmp(got.at, c->plain.at, got.size) != 0)) {
            verdict = levada_conform_broken(c, "of a stream that was cut off at byte %zu it gives "
                                            "other bytes", at);
        }
        at = filter_further(at);
    }
    if (verdict == LEVADA_CONFORM_GOOD) levada_conform_look(c, "");
    (void)snprintf(c->note, sizeof c->note, "%d cuts", n);
    levada_cli_buffer_clear(&got);
    return verdict;
}

/* Checks what a damaged byte does: anything but crash, wait, or be another kind of error. */
static levada_conform_verdict conform_filter_damage(levada_conform *c)
{
    static const char      masks[] = { 0x21, (char)0xFF, (char)0x80 };
    levada_conform_verdict verdict = filter_prepare(c);
    levada_cli_buffer      got = { 0 }, bad = { 0 };
    int                    n = 0;

    levada_cli_add(&bad, c->packed.at, c->packed.size);
    for (size_t at = 0; verdict == LEVADA_CONFORM_GOOD && at < bad.size; n++) {
        char          was = bad.at[at];
        levada_error  err = LEVADA_ERROR_INIT;
        levada_status st;

        bad.at[at] = (char)(was ^ masks[n % 3]);
        st = filter_through(c->filter, false, &bad, filter_ways[n % FILTER_WAYS], &got, &err);
        bad.at[at] = was;
        if (st < 0 && st != LEVADA_EDATA_LOSS && st != LEVADA_ERESOURCE_EXHAUSTED
            && st != LEVADA_EUNIMPLEMENTED) {
            levada_conform_look(c, "decode(): damaged bytes are EDATA_LOSS");
            verdict = levada_conform_failed(c, "damaged bytes", &err);
        }
        at = filter_further(at);
    }
    (void)snprintf(c->note, sizeof c->note, "%d places", n);
    levada_cli_buffer_clear(&got);
    levada_cli_buffer_clear(&bad);
    return verdict;
}

/* -- the first bytes, of which there may be few */

static levada_conform_verdict conform_filter_probe(levada_conform *c)
{
    levada_conform_verdict verdict = filter_prepare(c);
    int32_t                bits = 0;

    for (size_t n = 0; verdict == LEVADA_CONFORM_GOOD && n <= c->packed.size && n <= 64; n++) {
        uint8_t *head = malloc(n + !n);

        if (!head) break;
        memcpy(head, c->packed.at, n);
        bits = c->filter->probe(head, n);
        free(head);
        if (bits >= 0 && (n > 0 || bits == 0)) continue;
        levada_conform_look(c, "probe(): bits that were verified, 0 = it is not this");
        verdict = levada_conform_broken(c, "it verified %d bits of %zu bytes", (int)bits, n);
    }
    if (bits > 0) (void)snprintf(c->note, sizeof c->note, "%d bits", (int)bits);
    else (void)snprintf(c->note, sizeof c->note, "never: it has to be named by compression=");
    return verdict;
}

/* -- memory that runs out */

static levada_conform_verdict filter_fails_once(levada_conform *c, bool encode, int64_t number,
                                                bool *reached)
{
    const levada_conform_faults *faults = c->faults;
    const levada_cli_buffer     *from = encode ? &c->plain : &c->packed;
    levada_cli_buffer            got = { 0 };
    levada_error                 err = LEVADA_ERROR_INIT;
    int64_t                      before = faults->live(faults->user), lost;
    levada_status                st;
    bool                         good;

    faults->arm(faults->user, number);
    st = filter_through(c->filter, encode, from, filter_whole, &got, &err);
    *reached = faults->disarm(faults->user) > number;
    lost = faults->live(faults->user) - before;
    good = st == LEVADA_END && (encode || filter_same(&c->plain, &got));
    levada_cli_buffer_clear(&got);
    if (lost != 0) {
        levada_conform_look(c, "close(), and open() where it fails: nothing closes it then");
        return levada_conform_broken(c, "allocation %lld failed: %lld allocations were not given "
                                     "back", (long long)number, (long long)lost);
    }
    if (good || (*reached && st == LEVADA_ERESOURCE_EXHAUSTED)) return LEVADA_CONFORM_GOOD;
    levada_conform_look(c, "what is done with NULL from levada_alloc()");
    return levada_conform_broken(c, "allocation %lld failed: %s in place of ERESOURCE_EXHAUSTED",
                                 (long long)number, levada_status_name(st));
}

static levada_conform_verdict conform_filter_memory(levada_conform *c)
{
    levada_conform_verdict verdict = filter_prepare(c);
    int                    done = 0;

    for (int encode = 0; c->faults && encode <= (c->filter->encode != NULL); encode++) {
        bool reached = true;

        for (int64_t i = 0; verdict == LEVADA_CONFORM_GOOD && reached && i < FILTER_FAULTS; i++) {
            verdict = filter_fails_once(c, encode, i, &reached);
            done++;
        }
    }
    (void)snprintf(c->note, sizeof c->note, "%d runs", done);
    return verdict;
}

const levada_conform_check levada_conform_filter_checks[] = {
    { "alike", "gives the same bytes however they are put in and taken out",
      conform_filter_alike },
    { "reset", "begins again after a reset", conform_filter_reset },
    { "cut", "tells that a stream was cut off", conform_filter_cut },
    { "damage", "survives damaged bytes", conform_filter_damage },
    { "probe", "is found by its first bytes", conform_filter_probe },
    { "memory", "survives that memory runs out", conform_filter_memory },
    { NULL, NULL, NULL },
};
