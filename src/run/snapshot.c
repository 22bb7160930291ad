/* SPDX-License-Identifier: Apache-2.0 */
/* The snapshots of a result ring: when one is due, and which are still needed. */
#include "base/alloc.h"
#include "run/workers.h"

#define SNAPSHOT_TICKETS 64
#define SNAPSHOT_ROWS 4096
#define SNAPSHOT_SHARE 50 /* a snapshot may cost one part in 50 of the time */

void levada_snapshot_free(levada_snapshot *s)
{
    while (s) {
        levada_snapshot *older = s->older;

        levada_state_writer_clear(&s->state);
        levada_free(s);
        s = older;
    }
}

bool levada_snapshot_due(const levada_result_ring *j)
{
    if (!j->snapshots) return true;
    if (j->tail - j->snapshots->ticket < SNAPSHOT_TICKETS &&
        j->drawn - j->snapshots->rows < SNAPSHOT_ROWS) {
        return false;
    }
    return levada_now() - j->snapshot_at > j->snapshot_cost * SNAPSHOT_SHARE;
}

void levada_snapshot_trim(levada_result_ring *j)
{
    for (levada_snapshot *s = j->snapshots; s; s = s->older) {
        if (s->ticket > j->head) continue;
        levada_snapshot_free(s->older);
        s->older = NULL;
        return;
    }
}
