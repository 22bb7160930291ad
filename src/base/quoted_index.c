/* SPDX-License-Identifier: Apache-2.0 */
/* Fields and rows outside of double quotes in plain C: every byte that may matter is looked at. */
#include "base/kernels_priv.h"

enum { QUOTED_PIECE = 256 };

/* A text while its quotes are followed. */
typedef struct quoted_walk {
    levada_quoted *how;
    const uint8_t *p;
    int64_t        n, past; /* marks before `past` are used up: second quotes of pairs */
    int64_t        count;   /* of the positions so far */
    bool           inside;
} quoted_walk;

/* Returns true if a field ends at this byte, outside of quotes. */
static bool quoted_ends(const levada_quoted *how, uint8_t c)
{
    return c == how->delim || c == '\n' || c == '\r';
}

static void quoted_pair(quoted_walk *w)
{
    levada_quoted *how = w->how;
    int32_t        field = (int32_t)w->count;

    if (!how->pairs || (how->npairs > 0 && how->pairs[how->npairs - 1] == field)) return;
    how->pairs[how->npairs++] = field;
}

/* Handles a quote; returns false if it neither opens nor closes a field. */
static bool quoted_quote(quoted_walk *w, int64_t at)
{
    if (!w->inside) {
        w->inside = true;
        return at == 0 || quoted_ends(w->how, w->p[at - 1]);
    }
    if (at + 1 < w->n && w->p[at + 1] == '"') {
        quoted_pair(w);
        w->past = at + 2;
        return true;
    }
    w->inside = false;
    return at + 1 == w->n || quoted_ends(w->how, w->p[at + 1]);
}

int64_t levada_quoted_index_portable(const uint8_t *p, size_t n, levada_quoted *how, int32_t *pos,
                                     int64_t max, size_t *scanned)
{
    const uint8_t set[4] = { how->rows ? '\n' : how->delim, how->quotes ? '"' : '\n', '\n', '\r' };
    quoted_walk   w = { how, p, (int64_t)n, 0, 0, false };
    int32_t       mark[QUOTED_PIECE + LEVADA_KERNEL_SLACK];
    size_t        from = 0, piece = 0;

    how->npairs = 0;
    how->open = false;
    for (*scanned = n; from < n && w.count < max; from += piece) {
        int64_t marks =
            levada_byte_index_portable(p + from, n - from, set, mark, QUOTED_PIECE, &piece);

        for (int64_t i = 0; i < marks && w.count < max; i++) {
            int64_t at = (int64_t)from + mark[i];

            if (at < w.past) continue;
            if (p[at] != '"' || !how->quotes) {
                if (!w.inside) pos[w.count++] = (int32_t)at;
            } else if (!quoted_quote(&w, at)) {
                return -1;
            }
        }
    }
    if (w.count < max) how->open = w.inside;
    else *scanned = max > 0 ? (size_t)pos[max - 1] + 1 : 0;
    return w.count;
}
