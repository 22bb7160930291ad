# SPDX-License-Identifier: Apache-2.0
"""U: segments through TensorFlow's barrier, as contrib/training's state saver used it.

All segments of 32 sequences are inserted with their steps and the key of the next one, the first
ones with their states. Then each step takes 32 segments and inserts their states under the next
keys. A step is one call of a session, with the ops of both halves in its graph.
"""

import numpy as np
from common import main, timed
from segments import LONG, ROWS, STATE, STATES, STEPS, X
from tensorflow.python.ops import data_flow_ops
from tf_common import compiled, session
from tf_common import tf as tf2

tf = tf2.compat.v1


def keys(number):
    """The keys of the segments of sequences, and those of the next ones, row by row."""
    names = [f"{number}.{r}" for r in range(ROWS)]
    found = [f"{s:05}_of_{LONG:05}:{name}" for name in names for s in range(LONG)]
    after = [
        f"{s:05}_of_{LONG:05}:{name}" if s < LONG else f"STOP:{name}"
        for name in names
        for s in range(1, LONG + 1)
    ]
    return np.array(found, object), np.array(after, object)


def driven(work, limit):
    """`work` is called with the ops and the keys of all sequences."""
    with tf.Graph().as_default() as graph, session(graph, executor="") as run:
        barrier = data_flow_ops.Barrier(
            [tf.string, tf.int32, tf.float32, tf.float32], [(), (STEPS,), (STATE,), (STATE,)]
        )
        key, after = tf.placeholder(tf.string, (None,)), tf.placeholder(tf.string, (None,))
        steps = tf.placeholder(tf.int32, (None, STEPS))
        saved = [tf.placeholder(tf.float32, (None, STATE)) for _ in range(2)]
        fill = tf.group(barrier.insert_many(0, key, after), barrier.insert_many(1, key, steps))
        save = tf.group(*(barrier.insert_many(2 + i, key, saved[i]) for i in range(2)))
        taken = barrier.take_many(ROWS)[2]
        take = compiled(run, [taken[i] for i in range(4)])
        put_steps = compiled(run, fill, [key, after, steps])
        put_states = compiled(run, save, [key, *saved])
        rows = np.tile(X.reshape(LONG, STEPS), (ROWS, 1))

        def start(found, following):
            put_steps(found, following, rows)
            put_states(found[::LONG], *STATES)

        def step(last):
            following = take()[0]
            if not last:
                put_states(following, *STATES)

        return work(start, step, [keys(n) for n in range(max(limit // (ROWS * LONG), 1))])


def segments(folder, limit=20_000):
    """n counts segments; inserts are timed, as a prefetch would do them; keys are there."""

    def work(start, step, turns):
        def count():
            for turn in turns:
                start(*turn)
                for s in range(LONG):
                    step(s + 1 == LONG)
            return len(turns) * ROWS * LONG

        return timed(count)

    return driven(work, limit)


def hand_over(folder, limit=600):
    """take_many, insert_many of both states; n counts batches. Inserts of steps are not timed."""

    def work(start, step, turns):
        result = {"n": 0, "seconds": 0.0, "cpu": 0.0}

        def count():
            for s in range(LONG):
                step(s + 1 == LONG)
            return LONG

        for turn in turns:
            start(*turn)
            for name, value in timed(count).items():
                result[name] += value
        return result

    return driven(work, limit * ROWS)


if __name__ == "__main__":
    main(globals())
