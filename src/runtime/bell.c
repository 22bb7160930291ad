/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/bell.h"

#include "base/assert.h"

#include <errno.h>

_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler may only touch lock-free atomics");

void levada_bell_init(levada_bell *bell)
{
    int code = sem_init(&bell->sem, 0, 0);

    LEVADA_BUG_ON(code != 0); /* 0 is a valid value */
    atomic_init(&bell->ringing, false);
    atomic_init(&bell->stopped, false);
}

void levada_bell_clear(levada_bell *bell) { (void)sem_destroy(&bell->sem); }

bool levada_bell_wait(levada_bell *bell)
{
    while (!atomic_load(&bell->stopped) && !atomic_load(&bell->ringing)) {
        int code = sem_wait(&bell->sem);

        LEVADA_BUG_ON(code != 0 && errno != EINTR); /* it would loop forever */
    }
    return atomic_exchange(&bell->ringing, false);
}

/* Rings the bell with a post for each change of the flag: the count stays small in a storm of
 * signals, and a thread that has just cleared the flag is woken once too often at most. */
void levada_bell_ring(levada_bell *bell)
{
    int before = errno;

    if (!atomic_exchange(&bell->ringing, true)) (void)sem_post(&bell->sem);
    errno = before;
}

void levada_bell_stop(levada_bell *bell)
{
    atomic_store(&bell->stopped, true);
    (void)sem_post(&bell->sem);
}
