/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in of byte filters with one defect under each name, and none under filter_not: what the
 * conformance suite must find. A stream: "BF", a 1 and a changed byte for each byte, a 0 and a sum.
 *
 *     filter_step     loses a byte where `out` is full
 *     filter_encode   restarts the stream in each call of encode()
 *     filter_reset    keeps its sum over a reset
 *     filter_cut      takes a stream that was cut off for a whole one
 *     filter_damage   has another code for damaged bytes
 *     filter_probe    verifies bits of nothing
 *     filter_leak     never returns what it took
 *     filter_status   continues without memory
 */
#include <stdatomic.h>

#define LEVADA_PLUGIN_MAIN
#include <levada/plugin.h>

typedef enum filters_defect {
    FILTERS_NONE,
    FILTERS_STEP,
    FILTERS_ENCODE,
    FILTERS_RESET,
    FILTERS_CUT,
    FILTERS_DAMAGE,
    FILTERS_STATUS
} filters_defect;

typedef enum filters_phase { HEAD, NAME, MARK, DATA, SUM, DONE } filters_phase;

typedef struct filters_state {
    filters_defect defect;
    filters_phase phase;
    uint8_t       sum, waits[2];
    int           nwaits;
    bool          ended;
    void         *memory;
} filters_state;

static levada_status filters_open(void *state, filters_defect defect, levada_error *err)
{
    filters_state *s = state;

    s->defect = defect;
    s->memory = levada_alloc(16);
    if (s->memory) return LEVADA_OK;
    if (defect == FILTERS_STATUS) return levada_fail(err, LEVADA_EDATA_LOSS, "no idea");
    return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
}

static levada_status filters_damaged(filters_defect defect, levada_error *err)
{
    return levada_fail(err, defect == FILTERS_DAMAGE ? LEVADA_EOUT_OF_RANGE : LEVADA_EDATA_LOSS,
                       "not such a stream");
}

/* One byte; false: no space for its meaning. */
static bool filters_take(filters_state *s, uint8_t byte, levada_filter_step *step, bool *good)
{
    switch (s->phase) {
    case HEAD: *good = byte == 'B'; break;
    case NAME: *good = byte == 'F'; break;
    case MARK:
        *good = byte <= 1;
        s->phase = byte ? DATA : SUM;
        return true;
    case DATA:
        if (step->made == step->out_size) return false;
        step->out[step->made++] = byte ^ 0x55;
        s->sum = (uint8_t)(s->sum + byte);
        s->phase = MARK;
        return true;
    case SUM: *good = byte == s->sum; break;
    case DONE: return false;
    }
    s->phase++;
    return true;
}

static levada_status filters_decode(void *state, levada_filter_step *step, levada_error *err)
{
    filters_state *s = state;
    filters_defect defect = s->defect;
    bool           good = true;

    while (good && step->used < step->in_size
           && filters_take(s, step->in[step->used], step, &good))
        step->used++;
    if (!good) return filters_damaged(defect, err);
    if (defect == FILTERS_STEP && s->phase == DATA && step->made == step->out_size
        && step->used < step->in_size) {
        s->phase = MARK;
        step->used++;
    }
    step->finished = s->phase == DONE;
    if (step->finished || !step->in_ended || step->used < step->in_size || step->made > 0)
        return LEVADA_OK;
    step->finished = defect == FILTERS_CUT;
    return step->finished ? LEVADA_OK : filters_damaged(FILTERS_NONE, err);
}

static levada_status filters_encode(void *state, levada_filter_step *step, levada_error *err)
{
    filters_state *s = state;

    (void)err;
    if (s->phase == HEAD || (s->defect == FILTERS_ENCODE && !s->ended && s->nwaits == 0)) {
        s->waits[0] = 'F';
        s->waits[1] = 'B';
        s->nwaits = 2;
        s->phase = MARK;
    }
    while (step->made < step->out_size) {
        if (s->nwaits > 0) {
            step->out[step->made++] = s->waits[--s->nwaits];
        } else if (step->used < step->in_size) {
            uint8_t byte = step->in[step->used++] ^ 0x55;

            s->sum = (uint8_t)(s->sum + byte);
            s->waits[0] = byte;
            s->waits[1] = 1;
            s->nwaits = 2;
        } else if (step->in_ended && !s->ended) {
            s->waits[0] = s->sum;
            s->waits[1] = 0;
            s->nwaits = 2;
            s->ended = true;
        } else {
            break;
        }
    }
    step->finished = s->ended && s->nwaits == 0;
    return LEVADA_OK;
}

static void filters_close(void *state) { levada_free(((filters_state *)state)->memory); }

/* Into a list that nobody frees: a leak checker reaches it, and leaves it to the suite. */
static void filters_leave(void *state)
{
    static _Atomic(void *) kept;
    filters_state         *s = state;

    if (s->memory) *(void **)s->memory = atomic_exchange(&kept, s->memory);
}

static levada_status filters_reset(void *state, levada_error *err)
{
    filters_state *s = state;

    (void)err;
    s->phase = HEAD;
    if (s->defect != FILTERS_RESET) s->sum = 0;
    return LEVADA_OK;
}

static int32_t filters_probe(const uint8_t *data, size_t size)
{
    return size >= 2 && data[0] == 'B' && data[1] == 'F' ? 16 : 0;
}

static int32_t filters_probe_all(const uint8_t *data, size_t size)
{
    return 8 + filters_probe(data, size);
}

static levada_status filters_open_none(void *state, levada_error *err)
{
    return filters_open(state, FILTERS_NONE, err);
}

static levada_status filters_open_step(void *state, levada_error *err)
{
    return filters_open(state, FILTERS_STEP, err);
}

static levada_status filters_open_reset(void *state, levada_error *err)
{
    return filters_open(state, FILTERS_RESET, err);
}

static levada_status filters_open_cut(void *state, levada_error *err)
{
    return filters_open(state, FILTERS_CUT, err);
}

static levada_status filters_open_damage(void *state, levada_error *err)
{
    return filters_open(state, FILTERS_DAMAGE, err);
}

static levada_status filters_open_status(void *state, levada_error *err)
{
    return filters_open(state, FILTERS_STATUS, err);
}

static levada_status filters_begin(void *state, int32_t level, int32_t threads, levada_error *err)
{
    (void)level, (void)threads;
    return filters_open(state, FILTERS_NONE, err);
}

static levada_status filters_begin_anew(void *state, int32_t level, int32_t threads,
                                        levada_error *err)
{
    (void)level, (void)threads;
    return filters_open(state, FILTERS_ENCODE, err);
}

#define FILTERS_DEF(name_, open_, begin_, probe_, close_)                                         \
    {                                                                                             \
        .struct_size = sizeof(levada_filter_def),                                                 \
        .name = name_,                                                                            \
        .doc = "two bytes for one",                                                               \
        .suffix = ".bf",                                                                          \
        .state_size = sizeof(filters_state),                                                      \
        .probe = probe_,                                                                          \
        .open = open_,                                                                            \
        .close = close_,                                                                          \
        .reset = filters_reset,                                                                   \
        .decode = filters_decode,                                                                 \
        .open_encoder = begin_,                                                                   \
        .encode = filters_encode,                                                                 \
        .close_encoder = close_,                                                                  \
    }

static const levada_filter_def filters_all[] = {
    FILTERS_DEF("filter_not", filters_open_none, filters_begin, filters_probe, filters_close),
    FILTERS_DEF("filter_step", filters_open_step, filters_begin, filters_probe, filters_close),
    FILTERS_DEF("filter_encode", filters_open_none, filters_begin_anew, filters_probe,
                filters_close),
    FILTERS_DEF("filter_reset", filters_open_reset, filters_begin, filters_probe, filters_close),
    FILTERS_DEF("filter_cut", filters_open_cut, filters_begin, filters_probe, filters_close),
    FILTERS_DEF("filter_damage", filters_open_damage, filters_begin, filters_probe, filters_close),
    FILTERS_DEF("filter_probe", filters_open_none, filters_begin, filters_probe_all, filters_close),
    FILTERS_DEF("filter_leak", filters_open_none, filters_begin, filters_probe, filters_leave),
    FILTERS_DEF("filter_status", filters_open_status, filters_begin, filters_probe, filters_close),
};

LEVADA_API levada_status levada_plugin_main(const levada_host *host, levada_plugin *plugin,
                                            levada_error *err)
{
    LEVADA_PLUGIN_BEGIN(host, plugin, "filters", 1);
    for (size_t i = 0; i < sizeof filters_all / sizeof filters_all[0]; i++) {
        LEVADA_TRY(host->add_filter(plugin, &filters_all[i], err));
    }
    return LEVADA_OK;
}
