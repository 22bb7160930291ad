# SPDX-License-Identifier: Apache-2.0
"""Arguments of TensorFlow 1.x that have no effect here, or another name, are accepted."""

import levada as lv
import numpy as np
import pytest
from levada import train as lt

SPEC = {"x": lv.FixedLenFeature([], lv.int64)}
MESSAGE = lv.make_example({"x": 3})
STEPS = lv.make_sequence_example({"c": 1}, {"s": [1, 2]})
CONTEXT = {"c": lv.FixedLenFeature([], lv.int64)}
SEQUENCES = {"s": lv.FixedLenSequenceFeature([], lv.int64)}


def test_features_and_name_of_the_parsers():
    assert lv.parse_single_example(MESSAGE, features=SPEC, name="parsed")["x"] == 3
    assert lv.parse_example([MESSAGE], features=SPEC, name="parsed")["x"].tolist() == [3]
    for parse in (lv.parse_single_example, lv.parse_example):
        with pytest.raises(TypeError, match="same argument"):
            parse(MESSAGE, SPEC, features=SPEC)
    with pytest.raises(ValueError, match="Missing"):
        lv.parse_single_example(MESSAGE)


def test_context_and_sequences_have_two_names():
    for names in (("context", "sequences"), ("context_features", "sequence_features")):
        given = dict(zip(names, (CONTEXT, SEQUENCES), strict=True))
        context, lists = lv.parse_single_sequence_example(STEPS, **given)
        assert context["c"] == 1 and np.asarray(lists["s"]).tolist() == [1, 2]
        assert lv.parse_sequence_example([STEPS], name="n", **given)[2]["s"].tolist() == [2]
    with pytest.raises(TypeError, match="context= and context_features= are the same"):
        lv.parse_sequence_example([STEPS], CONTEXT, context_features=CONTEXT)


def test_sessions_and_options_are_ignored():
    assert lt.TFRecordReader(options=object()).name
    queue = lt.FIFOQueue(4, [lv.int64])
    runner = lt.QueueRunner(queue, [lambda: queue.enqueue(1)])
    assert len(runner.create_threads(sess=object())) == 1
    assert lt.start_queue_runners(sess=object(), collection="none") == []
    queue.close(cancel_pending_enqueues=True)
