/* SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include "base/spin.h"

#include <pthread.h>

atomic_uint levada_process_number;

/* Guards in the order in which they were added; its lock is held during a fork. */
static struct {
    levada_spin   lock;
    levada_guard *first, *last;
} process_guards;

levada_status levada_process_refuse(const char *what, levada_error *err)
{
    return levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                       "the %s belongs to the parent process: create one after the fork", what);
}

void levada_guard_add(levada_guard *guard, void (*hold)(void *object),
                      void (*release)(void *object, bool child), void *object)
{
    guard->hold = hold;
    guard->release = release;
    guard->object = object;
    guard->next = NULL;
    levada_spin_lock(&process_guards.lock);
    guard->prev = process_guards.last;
    if (guard->prev != NULL) guard->prev->next = guard;
    else process_guards.first = guard;
    process_guards.last = guard;
    levada_spin_unlock(&process_guards.lock);
}

void levada_guard_remove(levada_guard *guard)
{
    if (guard->release == NULL) return;
    levada_spin_lock(&process_guards.lock);
    if (guard->next != NULL) guard->next->prev = guard->prev;
    else process_guards.last = guard->prev;
    if (guard->prev != NULL) guard->prev->next = guard->next;
    else process_guards.first = guard->next;
    levada_spin_unlock(&process_guards.lock);
    guard->release = NULL;
}

static void process_before(void)
{
    levada_spin_lock(&process_guards.lock);
    for (levada_guard *g = process_guards.first; g != NULL; g = g->next) {
        if (g->hold != NULL) g->hold(g->object);
    }
}

static void process_after(bool child)
{
    for (levada_guard *g = process_guards.last; g != NULL; g = g->prev) {
        g->release(g->object, child);
    }
    levada_spin_unlock(&process_guards.lock);
}

static void process_in_parent(void) { process_after(false); }

static void process_in_child(void)
{
    atomic_fetch_add_explicit(&levada_process_number, 1, memory_order_relaxed);
    process_after(true);
}

/* Runs before main() or at the end of dlopen(), before anything else of the library. Fails only if
 * memory for one entry of a list is short that early. */
LEVADA_CONSTRUCTOR static void process_start(void)
{
    (void)pthread_atfork(process_before, process_in_parent, process_in_child);
}
