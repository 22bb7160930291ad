/* SPDX-License-Identifier: Apache-2.0 */
#include "fault/fault_thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct start {
    void *(*run)(void *user);
    void *user;
} start;

typedef int create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *user),
                   void *user);

static atomic_llong fault_left = -1, fault_threads;

void fault_thread_arm(int64_t number) { atomic_store(&fault_left, number); }

int64_t fault_thread_live(void) { return atomic_load(&fault_threads); }

static void *fault_main(void *user)
{
    start s = *(start *)user;
    void *result;

    free(user);
    result = s.run(s.user);
    atomic_fetch_sub(&fault_threads, 1);
    return result;
}

/* Instead of the one of the C library, or of a sanitizer. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *user),
                   void *user)
{
    void   *found = dlsym(RTLD_NEXT, "pthread_create");
    create *real = NULL;
    start  *s;
    int     code;

    if (atomic_load(&fault_left) >= 0 && atomic_fetch_sub(&fault_left, 1) <= 0) {
        atomic_store(&fault_left, 0);
        return EAGAIN;
    }
    s = malloc(sizeof(*s));
    if (s == NULL || found == NULL) abort();
    memcpy(&real, &found, sizeof(real)); /* ISO C has no cast from an object to a function */
    *s = (start){ run, user };
    atomic_fetch_add(&fault_threads, 1);
    code = real(thread, attr, fault_main, s);
    if (code != 0) {
        atomic_fetch_sub(&fault_threads, 1);
        free(s);
    }
    return code;
}
