/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source is read to its end, and the last reader closes. Batches are saved, put back or
 * discarded.
 */
#define EXAMPLES 3
#define SEGMENTS 2
#define CAPACITY 2
#define READERS 2
#define TAKERS 2
#define ABANDONS false

#include "state_saver.inc"

init {
    byte e;
    atomic {
        if
        :: small = true
        :: small = false
        fi;
        run reader(0);
        run reader(1);
        run taker(0, 2);
        run taker(1, 1)
    }
    CHECK_THE_END
}
