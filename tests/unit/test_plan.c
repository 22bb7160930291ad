/* SPDX-License-Identifier: Apache-2.0 */
#include "run/iter.h"
#include "support/iters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Adds the paths of a node and its inputs; none may be there already. */
static void add_paths(const levada_node *it, const char **paths, size_t *n)
{
    for (size_t i = 0; i < *n; i++) assert_string_not_equal(paths[i], it->path);
    assert_true(*n < 32);
    paths[(*n)++] = it->path;
    for (int32_t i = 0; i < it->ninputs; i++) add_paths(it->inputs[i], paths, n);
}

static void every_node_has_a_path_of_its_own(void **state)
{
    const char *const texts[] = {
        "t_rows:9 | padded_batch:2",
        "t_rows:9 | padded_batch:2 | select:[n]",
        "t_rows:9 | padded_batch:2 | prefetch:2",
        "concat(t_rows:9 | padded_batch:2; t_rows:9 | shuffle:3 | padded_batch:2) | prefetch:2",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int32_t threads = 1; threads <= 2; threads++) {
            levada_iter *it = t_iter_open(texts[i], threads, 4);
            const char  *paths[32];
            size_t       n = 0;

            add_paths(it->root, paths, &n);
            levada_iter_close(&it);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_has_a_path_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
