# SPDX-License-Identifier: Apache-2.0
"""levada.train.bucket over datasets, and the golden vectors of the dataset stage."""

import levada as lv
import numpy as np
import pytest
from bucket_support import BOUNDARIES, LENGTHS, bucket_of, check_lengths, drain
from input_support import QUIET, runners  # noqa: F401  a fixture
from levada import errors
from levada import train as lt
from test_golden_bucket import cases, records

# -- datasets: whole blocks, without Python for each record


SPEC = {"x": lv.VarLenFeature("int64"), "i": lv.FixedLenFeature([], "int64")}


def dataset(n=500):
    rows = [{"x": np.full(LENGTHS[i % 6], i), "i": i} for i in range(n)]
    return lv.from_records(rows, spec=SPEC)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("length", ["x", lambda e: len(e["x"])])
def test_a_dataset_is_a_source(running, length, threads):
    f = lt.bucket_by_sequence_length(
        dataset().with_options(threads=threads), length, 8, BOUNDARIES, dynamic_pad=True,
        allow_smaller_final_batch=True,
    )  # fmt: skip
    names = [op.__name__ for op in f.queue_runners[1].enqueue_ops]
    assert (names == ["enqueue_dataset"]) == (length == "x")
    running()
    batches = drain(f)
    check_lengths(batches)
    assert sorted(int(i) for _, out in batches for i in out["i"]) == list(range(500))
    for b in range(5):
        mine = [i for n, out in batches if bucket_of(n[0]) == b for i in out["i"]]
        assert mine == sorted(mine)


def test_fields_of_a_dataset_choose_and_keep(running):
    ds = lv.from_arrays(
        {"i": np.arange(60), "b": np.arange(60) % 3, "keep": np.arange(60) % 2 == 0}
    )
    f = lt.bucket(ds, "b", 5, 3, keep_input="keep")
    assert [op.__name__ for op in f.queue_runners[1].enqueue_ops] == ["enqueue_dataset"]
    running()
    batches = drain(f)
    assert sorted(int(i) for _, out in batches for i in out["i"]) == list(range(0, 60, 2))
    assert f.stats()["filtered_records"] == 30
    for name in ("which_bucket", "keep_input"):
        given = {"which_bucket": "b", "keep_input": True, name: "nothing"}
        with pytest.raises(ValueError, match="no field 'nothing' in the example; it has 'b'"):
            lt.bucket(ds, batch_size=5, num_buckets=3, **given)


def test_a_batched_dataset_is_refused():
    with pytest.raises(ValueError, match=r"add unbatch\(\)"):
        lt.bucket(lv.range(8).batch(2), "value", 1, 1)


@QUIET
def test_an_unfit_record_of_a_dataset_is_named():
    f = lt.bucket(lv.range(10), "value", 1, 4)
    threads = [t for r in f.queue_runners for t in r.create_threads(daemon=True, start=True)]
    found = []
    with pytest.raises(errors.InvalidArgumentError, match="record 4: which_bucket=4 is not in"):
        while True:
            found.append(int(f(timeout=20)[0]))
    assert sorted(found) == [0, 1, 2, 3]
    for thread in threads:
        thread.join(20)
    assert f.stats()["dropped_records"] == 6


def test_a_stop_ends_a_dataset_that_has_no_end():
    f = lt.bucket_by_sequence_length(
        dataset(50).repeat(), "x", 8, BOUNDARIES, dynamic_pad=True, capacity=2
    )
    coord = lt.Coordinator()
    threads = lt.start_queue_runners(coord=coord)
    check_lengths([f() for _ in range(20)])
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=20)


def test_other_streams_are_sources_and_the_other_way_round(running):
    numbers = lt.range_input_producer(40, num_epochs=1, shuffle=False)
    f = lt.bucket(numbers, lambda i: i % 2, 5, 2, num_threads=3, allow_smaller_final_batch=True)
    g = lt.batch(map(lambda batch: batch[1], f), 2)
    running()
    assert sorted(int(i) for pair in g for i in pair.ravel()) == list(range(40))


# -- golden vectors: the same batches, in any order of the buckets


def replayable(case):
    return (
        case is not None
        and "batches" in case
        and case["end"] == "end_of_sequence"
        and case["element"] in ("vector", "pair")
        and case["padded_shapes"] is None
        and case["padding_value"] is None
        and not case["pad_to_bucket_boundary"]
        and not case["no_padding"]
        and case["bucket_boundaries"] == sorted(set(case["bucket_boundaries"]))
        and min([0, *case["bucket_boundaries"]]) == 0
        and case["bucket_boundaries"]
        and min(case["bucket_batch_sizes"]) > 0
    )


@pytest.mark.parametrize(
    "case", [c for c in cases() if c.values[0] is None or replayable(*c.values)]
)
def test_golden_batches(running, case):
    f = lt.bucket_by_sequence_length(
        records(case), "x", case["bucket_batch_sizes"], case["bucket_boundaries"],
        dynamic_pad=True, allow_smaller_final_batch=not case["drop_remainder"],
    )  # fmt: skip
    running()
    found = sorted(outputs["x"].tolist() for _, outputs in f)
    wanted = []
    for batch in case["batches"]:
        first = batch[0] if isinstance(batch, list) else batch
        wanted.append(np.reshape(first["values"], first["shape"]).astype(int).tolist())
    assert found == sorted(wanted)
