/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cursors in a state: what is known of a batch as a whole is saved with its unread records.
 */
#include "support/iters.h"
#include "support/register.h"
#include "tensor/block_priv.h"
#include <levada/stage.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Emits records one by one. Each block gets a layout that names its first record. */
static levada_status layouts_next(void *state, const void *args, levada_input *in,
                                  levada_block **out, levada_error *err)
{
    levada_cursor *rest = state;
    levada_layout *layout = NULL;
    levada_block  *own = NULL;

    (void)args;
    LEVADA_TRY(levada_cursor_fill(rest, in, err));
    if (!rest->block->layout) {
        LEVADA_TRY(levada_block_slice(NULL, rest->block, 0, rest->block->n, &own, err));
        LEVADA_TRY(levada_layout_create_least(2, 9, &layout, err));
        layout->least[LEVADA_MAX_DIMS] = levada_block_origin(own, 0).record;
        layout->filled = true;
        levada_block_set_layout(own, layout);
        levada_layout_unref(&layout);
        levada_block_unref(&rest->block);
        rest->block = own;
    }
    return levada_cursor_take(rest, 1, out, err);
}

static void layouts_close(void *state) { levada_cursor_clear(state); }

static levada_status layouts_save(const void *state, levada_state_writer *to, levada_error *err)
{
    return levada_cursor_save(state, to, "rest", err);
}

static levada_status layouts_restore(void *state, levada_state_reader *from, levada_error *err)
{
    levada_cursor       *rest = state;
    const levada_layout *layout;

    LEVADA_TRY(levada_cursor_restore(rest, from, "rest", err));
    layout = rest->block->layout;
    assert_int_equal(rest->block->n, 2);
    assert_true(layout->filled && layout->bound == 9 && layout->columns == 2);
    assert_int_equal(layout->least[LEVADA_MAX_DIMS], 5);
    assert_int_equal(layout->least[0], 0);
    return LEVADA_OK;
}

static void a_batch_that_waits_keeps_its_layout(void **state)
{
    static const levada_traits subset = { .struct_size = sizeof(levada_traits),
                                          .rows = LEVADA_ROWS_SUBSET };
    static const levada_stage_def stage = {
        .struct_size = sizeof stage,
        .name = "t_layouts",
        .doc = "records one by one",
        .example = "range:3 | t_layouts",
        .mode = LEVADA_MODE_SERIAL,
        .traits = &subset,
        .state_size = sizeof(levada_cursor),
        .state_version = 1,
        .close = layouts_close,
        .next = layouts_next,
        .save = layouts_save,
        .restore = layouts_restore,
    };
    levada_iter *it, *other;
    t_bytes      got = { 0 }, saved;

    (void)state;
    assert_int_equal(t_register(t_iter_env(), LEVADA_FAMILY_STAGE, &stage, NULL, NULL),
                     LEVADA_OK);
    it = t_iter_open("range:20 | t_layouts", 1, 5);
    other = t_iter_open("range:20 | t_layouts", 1, 5);
    (void)t_iter_read(it, 8, false, &got);
    saved = t_iter_save(it);
    t_iter_restore(other, saved);
    t_clear(&saved);
    t_clear(&got);
    levada_iter_close(&it);
    levada_iter_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_that_waits_keeps_its_layout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
