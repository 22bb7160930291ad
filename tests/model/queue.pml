/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting and giving up. Two producers make one call for two elements each, one of them may run out
 * of time; two consumers, one with dequeue_many(2) that may run out of time and one with dequeue(),
 * go on until the end; somebody closes and somebody cancels.
 */
#define CAPACITY 2
#define MOST 8
#define HOLDS(i) false

#include "queue.inc"

proctype producer(byte i; bool hurried) {
    LOCALS;
    call(i, 2, hurried)
}

proctype consumer(byte i, n; bool hurried) {
    LOCALS;
    do
    :: call(i, n, hurried);
        if
        :: why[i] == CLOSED -> break
        :: else
        fi
    od
}

init {
    atomic {
        run producer(0, false);
        run producer(1, true);
        run consumer(2, 2, true);
        run consumer(3, 1, false);
        run closer();
        run canceller()
    }
    CHECK_THE_END
}
