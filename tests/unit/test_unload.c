/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopen() and dlclose() of the shared library, again and again, with and without a live iterator:
 * it stays loaded (-z nodelete), so that its threads go on and its default environment is made
 * once. The library's path is the program's argument.
 */
#include <levada/iter.h>

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* its memory is not the program's alone */
#else
#define SANITIZED 0
#endif
#define ROUNDS 60
#define GROWTH_MOST 8192 /* KiB in all rounds after the first ones */

static const char *unload_path;

typedef struct unload_library {
    void *handle;
    levada_status (*parse)(levada_env *env, const char *text, levada_dataset **out,
                           levada_error *err);
    levada_status (*open)(const levada_dataset *dataset, const levada_iter_options *options,
                          levada_iter **out, levada_error *err);
    levada_status (*next)(levada_iter *it, levada_block **out, levada_error *err);
    void (*close)(levada_iter **it);
    void (*drop_block)(levada_block **block);
    void (*drop_dataset)(levada_dataset **dataset);
} unload_library;

/* A function pointer without a cast from void *, which C does not have. */
static void unload_find(void *handle, const char *name, void *function)
{
    *(void **)function = dlsym(handle, name);
    if (*(void **)function == NULL) fail_msg("%s", name);
}

static unload_library unload_open(void)
{
    unload_library l = { .handle = dlopen(unload_path, RTLD_NOW | RTLD_LOCAL) };

    if (l.handle == NULL) fail_msg("%s", dlerror());
    unload_find(l.handle, "levada_dataset_parse", &l.parse);
    unload_find(l.handle, "levada_iter_open", &l.open);
    unload_find(l.handle, "levada_iter_next", &l.next);
    unload_find(l.handle, "levada_iter_close", &l.close);
    unload_find(l.handle, "levada_block_unref", &l.drop_block);
    unload_find(l.handle, "levada_dataset_unref", &l.drop_dataset);
    return l;
}

static levada_iter *unload_begin(const unload_library *l)
{
    levada_iter_options o = LEVADA_ITER_OPTIONS_INIT;
    levada_dataset     *dataset = NULL;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;

    o.threads = 4;
    assert_int_equal(l->parse(NULL, "range:count=100000 | select:value | batch:10", &dataset, NULL),
                     LEVADA_OK);
    assert_int_equal(l->open(dataset, &o, &it, NULL), LEVADA_OK);
    assert_int_equal(l->next(it, &block, NULL), LEVADA_OK);
    l->drop_block(&block);
    l->drop_dataset(&dataset);
    return it;
}

static long unload_resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long  all = 0, resident = 0;

    if (file != NULL) {
        if (fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
        (void)fclose(file);
    }
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void a_closed_library_leaks_nothing(void **state)
{
    long before = 0;

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        unload_library l = unload_open();
        levada_iter   *it = unload_begin(&l);

        if (i == 10) before = unload_resident();
        l.close(&it);
        assert_int_equal(dlclose(l.handle), 0);
    }
    if (SANITIZED) return;
    assert_true(unload_resident() - before < GROWTH_MOST);
}

static void an_iterator_outlives_its_library(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        unload_library l = unload_open();
        levada_iter   *it = unload_begin(&l);
        levada_block  *block = NULL;

        assert_int_equal(dlclose(l.handle), 0);
        assert_int_equal(l.next(it, &block, NULL), LEVADA_OK);
        l.drop_block(&block);
        l.close(&it);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_library_leaks_nothing),
        cmocka_unit_test(an_iterator_outlives_its_library),
    };

    if (argc < 2) return 77; /* no shared library was built */
    unload_path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
