# SPDX-License-Identifier: Apache-2.0
"""Ranks that take the same number of steps: random pipelines over ranks, workers and epochs."""

import pickle
import random
import warnings
from collections import Counter
from itertools import chain

import levada as lv
import numpy as np
import pytest
from levada.errors import FailedPreconditionError
from levada.interop import torch as interop
from levada.interop.torch import Shared

TRIALS = 150


def source(rng):
    n = rng.choice([0, 1, 2, 5, rng.randrange(6, 90)])
    lengths = [rng.randrange(9) for _ in range(n)]
    rows = {"id": np.arange(n), "x": [np.arange(k) for k in lengths], "len": np.array(lengths, int)}
    return lv.from_arrays(rows if n else {"id": np.arange(0), "x": [], "len": np.arange(0)})


def other_names(record):
    return {"id": record["id"], "x": record["x"], "len": record["len"]}


RECORD_STAGES = [
    lambda ds, rng: ds.shuffle(rng.randrange(1, 40), seed=rng.randrange(9)),
    lambda ds, rng: ds.shuffle(100, seed=3, reshuffle=False),
    lambda ds, rng: ds.filter(f"len > {rng.randrange(4)}"),
    lambda ds, rng: ds.map(other_names, spec=SPEC),
    lambda ds, rng: ds.prefetch(2),
    lambda ds, rng: ds.select("id", "len", "x"),
    lambda ds, rng: lv.concat(ds, ds).shuffle(9, seed=1),
    lambda ds, rng: ds.skip(rng.randrange(3)),
    lambda ds, rng: ds.take(rng.randrange(60)),
    lambda ds, rng: ds.cast("len", "int32"),
    lambda ds, rng: lv.concat(ds, ds),
]
SPEC = {
    "id": lv.int64,
    "x": lv.VarLenFeature(lv.int64),
    "len": lv.int64,
}
BATCHINGS = [
    lambda ds, rng: ds,
    lambda ds, rng: ds.batch(rng.randrange(1, 8)),
    lambda ds, rng: ds.padded_batch(rng.randrange(1, 8)),
    lambda ds, rng: ds.padded_batch(rng.randrange(1, 8)).prefetch(2),
    lambda ds, rng: ds.padded_batch(4, drop_remainder=True),
    lambda ds, rng: ds.bucket_by_sequence_length(
        "x", boundaries=[3, 6], batch_sizes=[rng.randrange(1, 6) for _ in range(3)]
    ),
    lambda ds, rng: ds.bucket_by_sequence_length(
        "x", boundaries=[4], max_tokens=24, drop_remainder=rng.random() < 0.5
    ),
    lambda ds, rng: ds.batch(3).unbatch().batch(2),
]


def without_sevens(record):
    if record["id"] % 7 == 0:
        raise ValueError("a bad record")
    return other_names(record)


def pipeline(rng):
    ds = source(rng)
    for _ in range(rng.randrange(4)):
        ds = rng.choice(RECORD_STAGES)(ds, rng)
    if rng.random() < 0.2:
        ds = ds.map(without_sevens, spec=SPEC).with_options(errors="skip")
    return rng.choice(BATCHINGS)(ds, rng)


class Loader:
    """What workers of ranks do, in one process: iterates over each part."""

    def __init__(self, ds, world, workers, equal):
        self.ds, self.world, self.workers, self.equal = ds, world, workers, equal
        self.parts = [(rank, worker) for rank in range(world) for worker in range(workers)]
        self.shared = {part: self.made(part) for part in self.parts}

    def made(self, part):
        transform = dict if self.ds._core.flags & 2 else None  # records need none
        return Shared(self.ds, part[0], self.world, transform=transform, equal=self.equal)

    def deals_batches(self):
        interop._worker = lambda: (0, self.workers, None)
        return self.shared[0, 0].share().to_value().name == "shard"

    def iterate(self, part, shared=None):
        """An iterator of the part's next pass."""
        interop._worker = lambda: (part[1], self.workers, None)
        return iter(shared or self.shared[part])

    def epoch(self):
        """{part: (steps, dropped records)}"""
        seen = {}
        for part in self.parts:
            iterator = self.iterate(part)
            steps = list(iterator)
            seen[part] = steps, iterator.stats()["dropped_records"]
        return seen


@pytest.fixture(params=["drop", "pad", False])
def equal(request):
    return request.param


@pytest.fixture(autouse=True)
def real_worker():
    before = interop._worker
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch_dataset: .* ranks may end")
        yield
    interop._worker = before


def ids(steps, padding=False):
    """The ids of records, or only of those that were added."""
    for step in steps:
        every = np.asarray(step["id"]).reshape(-1)
        added = np.asarray(step.get("is_padding", np.zeros(len(every), bool))).reshape(-1)
        yield from every[added == padding].tolist()


def plain(step):
    return {k: v.to_list() if hasattr(v, "to_list") else v.tolist() for k, v in step.items()}


def expected(ds, epoch):
    """(ids of all records that one process sees, how many batching drops there, most in a step)"""
    iterator = ds.iterate(epoch=epoch)
    steps = [list(ids([dict(step)])) for step in iterator]
    seen = Counter(chain.from_iterable(steps))
    return seen, iterator.stats()["dropped_records"], max(map(len, steps), default=1)


def check_epoch(loader, whole, dropped, most):
    """The parts make the whole: each record once, or counted as dropped, or flagged as added."""
    seen = loader.epoch()
    steps = [found for found, _ in seen.values()]
    lost = sum(count for _, count in seen.values())
    if loader.deals_batches():  # each part has the batches of all, and drops the same remainder
        lost -= dropped * (len(loader.parts) - 1)
    real = Counter(chain.from_iterable(map(ids, steps)))
    added = sum(1 for _ in chain.from_iterable(ids(one, True) for one in steps))
    if loader.equal:
        assert len({len(one) for one in steps}) == 1
    if loader.equal == "pad":
        assert all("is_padding" in step for one in steps for step in one)
    else:
        assert added == 0
    if lost == dropped == 0:
        assert real == whole
        return
    # `drop_remainder` drops records of other batches in parts, and may drop those that were added.
    every = whole.total() + dropped
    assert dropped or lost < most * len(loader.parts)
    assert every <= real.total() + lost <= every + len(loader.parts)
    if dropped == 0:
        assert not real - whole


def test_parts_make_the_whole_in_equal_steps(equal, length):
    for trial in range(TRIALS * length):
        rng = random.Random(f"{equal} {trial}")
        ds = pipeline(rng).with_options(seed=5, threads=rng.choice([1, 2]))
        world, workers = rng.randrange(1, 5), rng.randrange(1, 4)
        loader = Loader(ds, world, workers, equal)
        for epoch in range(2):
            try:
                check_epoch(loader, *expected(ds, epoch))
            except AssertionError as error:
                raise AssertionError(f"{trial=} {world=} {workers=} {epoch=}: {ds}") from error


def test_a_part_resumes_in_its_epoch(equal, length):
    for trial in range(TRIALS * length):
        rng = random.Random(f"resume {equal} {trial}")
        ds = pipeline(rng).with_options(seed=5)
        loader = Loader(ds, rng.randrange(1, 4), rng.randrange(1, 3), equal)
        part = rng.choice(loader.parts)
        epochs = [[plain(step) for step in loader.iterate(part)] for _ in range(3)]
        one = loader.made(part)
        list(loader.iterate(part, one))
        running = loader.iterate(part, one)
        cut = rng.randrange(len(epochs[1]) + 1)
        first = [plain(next(running)) for _ in range(cut)]
        state = pickle.loads(pickle.dumps(one.state_dict()))
        other = loader.made(part)
        other.load_state_dict(state)
        rest = [plain(step) for step in loader.iterate(part, other)]
        assert first + rest == epochs[1], (trial, str(ds), cut)
        assert [plain(step) for step in loader.iterate(part, other)] == epochs[2], (trial, str(ds))


def test_epochs_have_orders_of_their_own():
    loader = Loader(lv.range(60).rename({"value": "id"}).shuffle(60, seed=1), 2, 2, "drop")
    orders = [
        list(chain.from_iterable(list(ids(s)) for s, _ in loader.epoch().values()))
        for _ in range(4)
    ]
    assert len({tuple(order) for order in orders}) == 4


class TestPlacement:
    """The shard stands as near to the source as equal numbers allow."""

    def placed(self, ds, equal="drop"):
        return str(Shared(ds, 0, 2, equal=equal).share())

    def test_records_are_divided_where_batches_follow_from_their_number(self):
        text = self.placed(lv.range(9).shuffle(4).map(other_names).padded_batch(2))
        assert text.startswith("range:9 | shard:0,count=2,equal=drop | shuffle:4")

    @pytest.mark.parametrize(
        "ds",
        [
            lv.range(9).filter("value > 3"),
            lv.range(9).bucket_by_sequence_length("value", boundaries=[3], batch_sizes=[2, 2]),
            lv.concat(lv.range(4), lv.range(5)),
            lv.range(9).batch(2).unbatch(),
        ],
    )
    def test_else_what_comes_of_them_is(self, ds):
        assert self.placed(ds).endswith("shard:0,count=2,equal=drop")

    def test_where_bad_records_are_skipped_batches_are(self):
        ds = lv.range(9).map(other_names).batch(2)
        assert self.placed(ds.with_options(errors="skip")).endswith("shard:0,count=2,equal=drop")

    def test_a_flag_passes_no_function(self):
        text = self.placed(lv.range(9).map(other_names).padded_batch(2), "pad")
        assert text.endswith("shard:0,count=2,equal=pad | padded_batch:2")

    def test_one_rank_has_the_flag_too(self):
        (batch,) = Shared(lv.range(3).batch(3), 0, 1, transform=dict, equal="pad")
        assert batch["is_padding"].tolist() == [False] * 3

    def test_what_is_drawn_before_the_shard_needs_a_seed(self):
        ds = lv.range(9).shuffle(4).filter("value > 3")
        with pytest.raises(FailedPreconditionError, match="shuffle runs before shard"):
            self.placed(ds)


class TestChoice:
    def test_unequal_ranks_warn_once(self):
        one = Shared(lv.range(5), 0, 2)
        with pytest.warns(UserWarning, match='equal="drop" or equal="pad"'):
            iter(one)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            iter(one)
            iter(Shared(lv.range(5), 1, 2))
            iter(Shared(lv.range(5), 0, 1))
            iter(Shared(lv.range(5), 0, 2, equal=False))
            iter(Shared(lv.range(5), 0, 2, equal="drop"))
            iter(Shared(lambda i, n: lv.range(5).shard(i, n, equal="drop"), 0, 2))

    @pytest.mark.parametrize("equal", ["wrap", True, 1])
    def test_another_word_is_refused(self, equal):
        with pytest.raises(ValueError, match="equal="):
            Shared(lv.range(5), 0, 2, equal=equal)

    def test_a_function_places_it_itself(self):
        with pytest.raises(ValueError, match=r"ds.shard\(index, count, equal='pad'\)"):
            Shared(lambda i, n: lv.range(5), 0, 2, equal="pad")


class TestBatches:
    """A record that was added has length 0 and a mask without a True."""

    def test_masks_of_added_records(self):
        ds = lv.from_arrays({"x": [[1], [2, 3], [4, 5, 6]], "n": [1, 2, 3]})
        for made in (
            ds.padded_batch(1).shard(1, 2, equal="pad"),
            ds.shard(1, 2, equal="pad").padded_batch(1),
        ):
            real, added = list(made)
            assert real.mask("x").tolist() == [[True, True]]
            assert not added.mask("x").any() and added.lengths("x").tolist() == [0]
            assert added.cu_seqlens("x").tolist() == [0, 0]
            assert added["is_padding"].tolist() == [True]
            assert not real["is_padding"].any()

    def test_ragged_lengths_stay_those_of_the_values(self):
        ds = lv.from_arrays({"x": [[1], [2, 3], [4, 5, 6]]}).shard(1, 2, equal="pad").batch(2)
        (batch,) = ds
        assert batch.lengths("x").tolist() == batch["x"].lengths.tolist() == [2, 3]
        assert batch.mask("x").sum(1).tolist() == [2, 0]
