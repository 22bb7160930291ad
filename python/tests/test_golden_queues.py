# SPDX-License-Identifier: Apache-2.0
"""Replays spec/golden/queues.json: traces of TensorFlow's queues, with calls that wait."""

import collections
import json
from pathlib import Path

import numpy as np
import pytest
from levada import errors, train
from waiting import Call

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "spec" / "golden"


def cases():
    path = GOLDEN / "queues.json"
    if not path.exists():
        reason = f"no golden vectors at {path}"
        return [pytest.param(None, id="missing", marks=pytest.mark.skip(reason=reason))]
    listed = json.loads(path.read_text())["cases"]
    return [
        pytest.param(case, id=f"{i}-{case['queue']}-{case['note'][:40]}")
        for i, case in enumerate(listed)
    ]


def plain(value):
    """What came out, as (dtype, shape, values) of each component."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    if value is None:
        return None
    array = np.asarray(value, dtype=object if isinstance(value, bytes) else None)
    dtype = "string" if array.dtype.kind == "O" else array.dtype.name
    flat = [v.decode("latin-1") if isinstance(v, bytes) else v for v in array.ravel().tolist()]
    return dtype, list(array.shape), flat


def recorded(value):
    if isinstance(value, list):
        return [recorded(part) for part in value]
    if value is None:
        return None
    dtype = "string" if value["dtype"].startswith("bytes") else value["dtype"]
    return dtype, value["shape"], value["values"]


class Replay:
    def __init__(self, case):
        self.case = case
        self.unordered = case.get("unordered", False)
        self.calls = {}
        self.came = collections.Counter()
        self.expected = collections.Counter()

    def start(self):
        args = dict(self.case["args"])
        kind = self.case["queue"]
        types = args.pop("types")
        shapes = args.pop("shapes", None)
        shapes = shapes and [tuple(shape) for shape in shapes]
        words = {"types" if kind == "PriorityQueue" else "dtypes": types}
        self.queue = getattr(train, kind)(shapes=shapes, **words, **args)

    def run(self):
        for step in self.case["steps"]:
            self.step(step)
        assert self.came.total() == self.expected.total()
        if self.queue.size() == 0:
            assert self.came == self.expected

    def step(self, step):
        if "join" in step:
            self.finish(self.calls[step["join"]].join, step)
        elif "call" not in step:
            assert self.calls[step["blocked"]].blocked() == step["value"]
        elif "start" in step:
            method, *args = step["call"]
            self.calls[step["start"]] = Call(getattr(self.queue, method), *args)
            assert self.calls[step["start"]].blocked() == step["blocked"]
        elif step.get("blocks"):
            method, *args = step["call"]
            with pytest.raises(errors.DeadlineExceededError):
                getattr(self.queue, method)(*args, timeout=0)
        else:
            method, *args = step["call"]
            self.finish(lambda: getattr(self.queue, method)(*args), step)

    def finish(self, call, step):
        if "error" in step and not self.mended(step):
            with pytest.raises(getattr(errors, step["error"]["class"])):
                call()
            return
        value = plain(call())
        if method_of(step) in ("size", "is_closed"):
            assert value[2] == step["ok"]["values"]
        elif self.unordered and value is not None:
            assert not self.came & collections.Counter(value[2])  # none comes twice
            self.came.update(value[2])
            self.expected.update(step["ok"]["values"])
            assert value[:2] == recorded(step["ok"])[:2]
        elif "ok" in step:
            assert value == recorded(step["ok"])

    def mended(self, step):
        """The one trace in which TensorFlow loses elements: levada returns them."""
        return self.case["note"].startswith("DEFECT") and method_of(step) == "dequeue_up_to"


def method_of(step):
    return step.get("call", [None])[0]


@pytest.mark.parametrize("case", cases())
def test_trace(case):
    replay = Replay(case)
    first = case["steps"][0]
    if first.get("error") and first["call"] == ["size"]:  # the constructor checks
        with pytest.raises(getattr(errors, first["error"]["class"])):
            replay.start()
        return
    replay.start()
    replay.run()


def test_a_short_closed_priority_queue_gives_what_it_has():
    queue = train.PriorityQueue(20, ["string"], [()])
    queue.enqueue_many([[2, 1], ["b", "a"]])
    queue.close()
    priorities, values = queue.dequeue_up_to(5)
    assert priorities.tolist() == [1, 2]
    assert values.tolist() == [b"a", b"b"]
    assert queue.size() == 0
