/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lane.h"

#include <string.h>

/* Cursors are saved for the first input of the node whose turn it is: a node that stands in for the
 * joint, with the one input that is meant. */
static void lane_stand_in(levada_node *lane, const levada_node *joint, levada_node **in)
{
    memset(lane, 0, sizeof *lane);
    lane->run = joint->run;
    lane->at = joint->at;
    lane->version = joint->version;
    lane->inputs = in;
    lane->ninputs = 1;
    memcpy(lane->path, joint->path, sizeof lane->path);
}

levada_status levada_lane_save(const levada_cursor *cur, levada_node *in, levada_state_writer *to,
                               const char *key, levada_error *err)
{
    levada_node  *joint = to->node, lane;
    levada_status st;

    lane_stand_in(&lane, joint, &in);
    to->node = &lane;
    st = levada_cursor_save(cur, to, key, err);
    to->node = joint;
    return st;
}

levada_status levada_lane_restore(levada_cursor *cur, levada_node *in, levada_state_reader *from,
                                  const char *key, levada_error *err)
{
    levada_node  *joint = from->node, lane;
    levada_status st;

    lane_stand_in(&lane, joint, &in);
    from->node = &lane;
    st = levada_cursor_restore(cur, from, key, err);
    from->node = joint;
    return st;
}
