/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/output_names.h"

#include "base/alloc.h"
#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <levada/output.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { NAMES_FREE, NAMES_FILLED, NAMES_READY };
enum { NAMES_SLOTS = 64 };

typedef struct names_table {
    levada_output_name            slot[NAMES_SLOTS];
    _Atomic(struct names_table *) next;
} names_table;

/* Signal handlers have no argument: what they read outlives every call. */
static names_table names_first;
static atomic_bool names_ended;

static levada_output_name *names_claim(names_table *table)
{
    for (int i = 0; i < NAMES_SLOTS; i++) {
        int state = NAMES_FREE;

        if (atomic_compare_exchange_strong(&table->slot[i].state, &state, NAMES_FILLED)) {
            return &table->slot[i];
        }
    }
    return NULL;
}

/* Returns the next table, created on demand; NULL when memory is short. */
static names_table *names_next(names_table *table)
{
    names_table *next = atomic_load(&table->next), *made;

    if (next) return next;
    made = levada_alloc_zero(sizeof *made);
    if (!made || atomic_compare_exchange_strong(&table->next, &next, made)) return made;
    levada_free(made);
    return next;
}

levada_output_name *levada_output_name_add(int folder, const char *text)
{
    levada_output_name *name = NULL;
    names_table        *table = &names_first;

    while (table && !(name = names_claim(table))) table = names_next(table);
    if (!name) return NULL;
    name->process = getpid();
    name->folder = folder;
    (void)snprintf(name->text, sizeof name->text, "%s", text);
    atomic_store(&name->state, NAMES_READY);
    return name;
}

void levada_output_name_drop(levada_output_name **name)
{
    if (*name) atomic_store(&(*name)->state, NAMES_FREE);
    *name = NULL;
}

uint64_t levada_output_random(const void *owner)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return levada_random_draw((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30,
                              (uint64_t)getpid(), (uint64_t)(uintptr_t)owner);
}

bool levada_output_names_ended(void) { return atomic_load(&names_ended); }

/* Removes the files (flags = 0) or the directories of the names. Compares process ids: a handler
 * may run in a child that vfork() made, which shares this memory. A slot that is emptied meanwhile
 * is harmless: no other file has its name. */
static void names_remove(int flags)
{
    pid_t process = getpid();

    for (names_table *table = &names_first; table; table = atomic_load(&table->next)) {
        for (int i = 0; i < NAMES_SLOTS; i++) {
            levada_output_name *name = &table->slot[i];

            if (atomic_load(&name->state) != NAMES_READY || name->process != process) continue;
            (void)unlinkat(name->folder, name->text, flags);
        }
    }
}

void levada_output_drop_all(void)
{
    int code = errno;

    atomic_store(&names_ended, true);
    names_remove(0);
    names_remove(AT_REMOVEDIR); /* empty by now */
    errno = code;
}
