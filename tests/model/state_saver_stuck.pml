/* SPDX-License-Identifier: Apache-2.0 */
/* Abandoned examples fill the saver while the other taker has a batch: what the rule STUCK says
 * stays true. */
#define EXAMPLES 3
#define SEGMENTS 2
#define CAPACITY 1
#define READERS 1
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
        run taker(0, 1);
        run taker(1, 1);
        run closer()
    }
    CHECK_THE_END
}
