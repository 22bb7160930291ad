/* SPDX-License-Identifier: Apache-2.0 */
#include "run/input_cursor.h"

#include "run/node.h"

levada_status levada_input_cursor_save(const levada_cursor *cur, levada_input *in,
                                       levada_state_writer *to,
                               const char *key, levada_error *err)
{
    levada_edge  *before = to->scope.edge;
    levada_status st;

    to->scope.edge = &in->edge;
    st = levada_cursor_save(cur, to, key, err);
    to->scope.edge = before;
    return st;
}

levada_status levada_input_cursor_restore(levada_cursor *cur, levada_input *in,
                                          levada_state_reader *from,
                                  const char *key, levada_error *err)
{
    levada_edge  *before = from->scope.edge;
    levada_status st;

    from->scope.edge = &in->edge;
    st = levada_cursor_restore(cur, from, key, err);
    from->scope.edge = before;
    return st;
}
