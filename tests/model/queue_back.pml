/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements that come back. A producer asks with LEVADA_AT_ONCE before it waits; another one puts in
 * a single element. A consumer with dequeue_many(2) keeps room for what it got until it has put it
 * together, or gives it back; another one takes single elements. Both may refuse what came while
 * they waited, the first one may run out of time. Memory may be short for what is
 * held beside a full queue.
 *
 * That the models find defects was tried by planting them in queue.inc, one after the other: undo()
 * that does not put back, reserves no room, does not settle or wakes nobody; a cancel that does not
 * put back or wakes nobody; held room that is given back twice (in put_back() or by the release) or
 * never; a dequeue that lets go of what it holds, or keeps what it does not hold; at_once() that
 * overlooks held room or does not settle; a return that does not settle; enter() that overlooks held
 * room, looks at it before it looks at what was moved, or overlooks the head of the dequeues;
 * elements that come back without the producers' end looking again. Each ended in an assertion or
 * in somebody who waits forever (the dequeue that keeps too much and the head that is overlooked in
 * queue.pml, all else here).
 */
#define CAPACITY 2
#define MOST 3 /* or 5 */
#define HOLDS(i) ((i) == 2)
#define COMES_BACK

#include "queue.inc"

proctype producer(byte i, n) {
    LOCALS;
    call_at_once(i, n);
    if
    :: why[i] == 0 ->
        stand_and_wait(i, false)
    :: else
    fi;
    end(i)
}

proctype consumer(byte i, n; bool hurried) {
    LOCALS;
    call(i, n, hurried)
}

init {
    atomic {
        if
        :: true
        :: most = 5
        fi;
        run producer(0, 2);
        run producer(1, 1);
        run consumer(2, 2, true);
        run consumer(3, 1, false);
        run closer();
        run canceller()
    }
    CHECK_THE_END
}
