# SPDX-License-Identifier: Apache-2.0
"""examples/state_saver.py with TensorFlow 1.x. The states and the position in the data are lost."""

import sys
from pathlib import Path

import numpy as np
import tensorflow as tf
from state_saver import BATCH, EVERY, UNROLL, learn, write_walks


def batches(path):
    queue = tf.train.string_input_producer([str(path)], seed=1)
    _, record = tf.TFRecordReader().read(queue)
    record = tf.train.shuffle_batch([record], 1, capacity=200, min_after_dequeue=100, seed=1)[0]
    context, sequences = tf.parse_single_sequence_example(
        record,
        context_features={"name": tf.FixedLenFeature([], tf.string)},
        sequence_features={"x": tf.FixedLenSequenceFeature([], tf.float32)},
    )
    return tf.contrib.training.batch_sequences_with_states(
        input_key=context["name"],
        input_sequences={"x": sequences["x"]},
        input_context={},
        input_length=tf.shape(sequences["x"])[0],
        initial_states={"mean": tf.zeros([], tf.float64)},
        num_unroll=UNROLL,
        batch_size=BATCH,
        num_threads=1,
        capacity=BATCH,
        make_keys_unique=True,
    )


def main(folder, steps):
    if not (folder / "walks.tfrecord").exists():
        write_walks(folder / "walks.tfrecord")
    batch = batches(folder / "walks.tfrecord")
    weights, step = tf.Variable(np.zeros(3)), tf.Variable(0)
    mean = tf.placeholder(tf.float64, [None])
    value = tf.placeholder(tf.float64, [3])
    save_state = batch.save_state("mean", mean)
    assign = tf.group(tf.assign(weights, value), tf.assign_add(step, 1))
    fetched = (batch.sequences["x"], batch.length, batch.state("mean"), batch.key, weights)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        if last := tf.train.latest_checkpoint(str(folder)):
            saver.restore(session, last)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=session, coord=coord)
        done = session.run(step)
        handle = session.partial_run_setup([*fetched, save_state, assign], [mean, value])
        while done < steps:
            x, length, before, _, values = session.partial_run(handle, fetched)
            real = np.arange(UNROLL) < length[:, None]
            loss, after = learn(values, x, real, before)
            session.partial_run(handle, [save_state, assign], {mean: after, value: values})
            handle = session.partial_run_setup([*fetched, save_state, assign], [mean, value])
            done += 1
            print(f"step {done} loss {loss:.6f}", flush=True)
            if done % EVERY == 0:
                saver.save(session, str(folder / "peer"), global_step=done)
        coord.request_stop()
        coord.join(threads)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
