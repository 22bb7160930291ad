/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of src/runtime/queue_settle.c and wait.c as a Spin model: two lines of waiters,
 * direct completion, and the two steps in which a call gives up. Two producers make one call for two
 * elements each, one of them may run out of time; two consumers, one with dequeue_many(2) that may
 * run out of time and one with dequeue(), go on until the end; somebody closes and somebody
 * cancels. Capacity 2.
 *
 * Checked: no element is lost or doubled (atomic blocks stand for the lock), a wake-up is never
 * missed and nobody waits for ever (invalid end states), nobody is finished twice, and a waiter is
 * not touched once its owner has left.
 */
#define CAPACITY 2
#define OPS 4 /* 0, 1: producers; 2: dequeue_many(2); 3: dequeue() */

#define IS_IN(i) ((i) < 2)

/* Of each call */
byte want[OPS], done[OPS];
bool linked[OPS], waits[OPS], woken[OPS], alive[OPS];
byte why[OPS]; /* 0 running, 1 ok, 2 closed or drained, 3 cancelled, 4 late */
/* Of the queue */
byte count;
bool closed;
byte enq[3], deq[3], nenq, ndeq;
/* What went in and came out, as numbers of elements: elements are alike */
byte entered, left;

#define HEAD_ENQ enq[0]
#define HEAD_DEQ deq[0]

inline leave_enqueues(i, at) {
    at = 0;
    do
    :: at < nenq && enq[at] != i -> at++
    :: else -> break
    od;
    assert(at < nenq);
    do
    :: at + 1 < nenq -> enq[at] = enq[at + 1]; at++
    :: else -> break
    od;
    nenq--
}

inline leave_dequeues(i, at) {
    at = 0;
    do
    :: at < ndeq && deq[at] != i -> at++
    :: else -> break
    od;
    assert(at < ndeq);
    do
    :: at + 1 < ndeq -> deq[at] = deq[at + 1]; at++
    :: else -> break
    od;
    ndeq--
}

/* levada_waiter_finish: unlinked under the lock, woken afterwards. `mine`: the owner runs this. */
inline finish(i, reason, tmp) {
    assert(linked[i] && why[i] == 0 && alive[i]);
    if
    :: IS_IN(i) -> leave_enqueues(i, tmp)
    :: else -> leave_dequeues(i, tmp)
    fi;
    linked[i] = false;
    why[i] = reason;
    if
    :: waits[i] -> pending = pending | (1 << i)
    :: else
    fi
}

inline put_back(i) {
    count = count + done[i];
    done[i] = 0
}

inline settle(tmp, moved) {
    moved = true;
    do
    :: !moved -> break
    :: else ->
        moved = false;
        do
        :: nenq > 0 && closed -> tmp2 = HEAD_ENQ; finish(tmp2, 2, tmp)
        :: nenq > 0 && !closed && count < CAPACITY ->
            count++;
            entered++;
            done[HEAD_ENQ]++;
            moved = true;
            if
            :: done[HEAD_ENQ] == want[HEAD_ENQ] -> tmp2 = HEAD_ENQ; finish(tmp2, 1, tmp)
            :: else
            fi
        :: else -> break
        od;
        do
        :: ndeq > 0 && count > 0 ->
            count--;
            done[HEAD_DEQ]++;
            moved = true;
            if
            :: done[HEAD_DEQ] == want[HEAD_DEQ] -> tmp2 = HEAD_DEQ; finish(tmp2, 1, tmp)
            :: else
            fi
        :: ndeq > 0 && count == 0 && closed ->
            tmp2 = HEAD_DEQ;
            put_back(tmp2);
            moved = true;
            finish(tmp2, 2, tmp)
        :: else -> break
        od
    od;
    tmp = 0;
    tmp2 = 0
}

/* levada_wake: outside of the lock, one at a time. */
#define WAKE(k) d_step { \
        assert(alive[k] && !woken[k]); \
        woken[k] = true; \
        pending = pending & ~(1 << k) \
    }

inline wake_all() {
    do
    :: (pending & 1) -> WAKE(0)
    :: (pending & 3) == 2 -> WAKE(1)
    :: (pending & 7) == 4 -> WAKE(2)
    :: pending == 8 -> WAKE(3)
    :: pending == 0 -> break
    od
}

/* levada_queue_run of call i for n elements. */
inline call(i, n, hurried, tmp, moved) {
    atomic {
        want[i] = n;
        done[i] = 0;
        why[i] = 0;
        waits[i] = false;
        woken[i] = false;
        alive[i] = true;
        linked[i] = true;
        if
        :: IS_IN(i) -> enq[nenq] = i; nenq++
        :: else -> deq[ndeq] = i; ndeq++
        fi;
        settle(tmp, moved);
        waits[i] = linked[i]
    }
    wake_all();
    if
    :: waits[i] ->
        if
        :: woken[i]
        :: hurried -> /* the time is up, whatever happened meanwhile */
            atomic {
                if
                :: linked[i] ->
                    waits[i] = false;
                    if
                    :: !IS_IN(i) -> put_back(i)
                    :: else
                    fi;
                    finish(i, 4, tmp);
                    settle(tmp, moved);
                    late = true
                :: else -> late = false
                fi
            }
            wake_all();
            if
            :: late
            :: !late -> woken[i] /* the wake-up is on the way */
            fi
        fi
    :: else
    fi;
    d_step {
        assert(why[i] != 0 && !linked[i]);
        alive[i] = false;
        woken[i] = false;
        waits[i] = false;
        late = false;
        if
        :: !IS_IN(i) && why[i] == 1 -> left = left + done[i]
        :: !IS_IN(i) && why[i] != 1 -> assert(done[i] == 0)
        :: else
        fi;
        done[i] = 0;
        want[i] = 0
    }
}

#define LOCALS byte tmp, tmp2, pending; bool moved, late

proctype producer(byte i; bool hurried) {
    LOCALS;
    call(i, 2, hurried, tmp, moved)
}

proctype consumer(byte i, n; bool hurried) {
    LOCALS;
    do
    :: call(i, n, hurried, tmp, moved);
        if
        :: why[i] == 2 -> break
        :: else
        fi
    od
}

/* close(true) at any time: enqueues that wait are cancelled. It also lets the consumers end. */
proctype closer() {
    LOCALS;
    atomic {
        closed = true;
        do
        :: nenq > 0 -> tmp2 = HEAD_ENQ; finish(tmp2, 3, tmp)
        :: else -> break
        od;
        settle(tmp, moved)
    }
    wake_all()
}

/* cancel() at any time. */
proctype canceller() {
    LOCALS;
    atomic {
        do
        :: nenq > 0 -> tmp2 = HEAD_ENQ; finish(tmp2, 3, tmp)
        :: else -> break
        od;
        do
        :: ndeq > 0 -> tmp2 = HEAD_DEQ; put_back(tmp2); finish(tmp2, 3, tmp)
        :: else -> break
        od;
        settle(tmp, moved)
    }
    wake_all()
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
    /* Everybody ends, and what went in came out or is still there. */
    _nr_pr == 1;
    assert(entered == left + count);
    assert(nenq == 0 && ndeq == 0 && closed)
}
