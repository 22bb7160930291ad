/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody closes at any time, and batches may be destroyed before their states are saved. */
#define EXAMPLES 3
#define SEGMENTS 2
#define CAPACITY 2
#define READERS 2
#define TAKERS 2
#define ABANDONS true

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
        run taker(1, 2);
        run closer()
    }
    CHECK_THE_END
}
