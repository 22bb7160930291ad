# SPDX-License-Identifier: Apache-2.0
"""Epochs, ranks and resuming under loaders of torch, where torch is installed."""

import copy
import multiprocessing
import os
import pickle
from itertools import chain
from pathlib import Path

import levada as lv
import numpy as np
import pytest
import torch_ranks
from levada.interop._epochs import Epochs
from levada.interop.torch import Shared

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs" / name for name in ("concepts.md", "quick-start.md")]
WHY = "torch is not installed (ci/requirements-torch.txt)"


def values(loader):
    return [n for row in loader for n in np.asarray(row["value"]).reshape(-1).tolist()]


def begun(shared, worker, seed, told):
    told.put(shared.begin(worker, seed))


class TestEpochs:
    """The counter itself needs no torch."""

    def test_each_pass_takes_the_next_one(self):
        epochs = Epochs()
        assert [epochs.begin(0, None) for _ in range(3)] == [0, 1, 2]
        epochs.set(7)
        assert [epochs.begin(0, None) for _ in range(2)] == [7, 8]

    @pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
    def test_workers_of_a_pass_take_the_same_one(self, context):
        context, epochs = multiprocessing.get_context(context), Epochs()
        told = context.SimpleQueue()
        taken = []
        for seed, worker in [(5, 0), (5, 1), (9, 1), (9, 0), (9, 0), (9, 1), (5, 0)]:
            one = context.Process(target=begun, args=(epochs, worker, seed, told))
            one.start()
            taken.append(told.get())
            one.join()
        assert taken == [0, 0, 1, 1, 2, 2, 3]
        assert epochs.begin(0, None) == 4

    def test_a_resumed_pass_sets_the_next(self):
        epochs = Epochs()
        for worker in range(2):
            epochs.begin(worker, 3)
            epochs.resume(4, worker, 3)
        assert [epochs.begin(worker, 8) for worker in range(2)] == [5, 5]

    @pytest.mark.parametrize("how", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
    def test_a_copy_counts_by_itself(self, how):
        epochs = Epochs()
        epochs.begin(0, None)
        other = how(epochs)
        assert [other.begin(0, None), other.begin(0, None), epochs.begin(0, None)] == [1, 2, 1]

    def test_forked_ranks_do_not_share(self):
        context, epochs = multiprocessing.get_context("fork"), Epochs()
        epochs.set(6)
        told = context.SimpleQueue()
        for _ in range(2):
            one = context.Process(target=begun, args=(epochs, 0, None, told))
            one.start()
            one.join()
        assert [told.get(), told.get()] == [6, 6]

    def test_bytes_of_a_killed_writer_do_no_harm(self):
        epochs = Epochs()
        epochs.begin(0, None)
        with open(epochs._shared._path, "a") as file:
            file.write('ers": [1]}]}}')
        assert epochs.begin(0, None) == 1

    def test_the_file_goes_with_the_dataset(self):
        epochs = Epochs()
        path = epochs._shared._path
        assert os.path.exists(path)
        del epochs
        assert not os.path.exists(path)


class TestRanks:
    @pytest.mark.parametrize(
        ("rank", "world", "text"),
        [
            (2, 2, "rank=2 must be 0..world_size - 1"),
            (-1, 2, "rank=-1 must be"),
            (0, 0, "world_size=0"),
            (3, 1, "rank=3 must be"),
            (0, None, "go together"),
            (None, 2, "go together"),
        ],
    )
    def test_a_rank_beyond_the_world_is_refused_at_once(self, rank, world, text):
        with pytest.raises(ValueError, match=text):
            Shared(lv.range(4), rank, world)

    def test_a_rank_is_an_integer(self):
        with pytest.raises(TypeError, match="must be integers"):
            Shared(lv.range(4), 0.5, 2)

    @pytest.mark.parametrize(
        ("rank", "world", "text"),
        [
            ("2", "2", "environment variables RANK and WORLD_SIZE: rank=2 must be"),
            ("1", None, "go together"),
            (None, "2", "go together"),
            ("one", "2", "RANK='one'"),
        ],
    )
    def test_so_is_one_of_the_environment(self, monkeypatch, rank, world, text):
        for name, value in (("RANK", rank), ("WORLD_SIZE", world)):
            monkeypatch.delenv(name, raising=False)
            if value is not None:
                monkeypatch.setenv(name, value)
        with pytest.raises(ValueError, match=text):
            iter(Shared(lv.range(4)))

    @pytest.mark.parametrize("epoch", [-1, 2**63])
    def test_an_epoch_has_limits(self, epoch):
        with pytest.raises(ValueError, match="epoch="):
            Shared(lv.range(4)).set_epoch(epoch)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason=WHY)


class TestLoader:
    """`take` stands downstream of the shuffle: workers with different epochs would lose records."""

    def pipe(self):
        return lv.range(200).shuffle(60, seed=2).take(150)

    def expected(self, epoch):
        return sorted(values(self.pipe().iterate(epoch=epoch)))

    def loader(self, torch, workers=2, persistent=False, **more):
        made = lv.torch_dataset(self.pipe())
        more |= {"persistent_workers": persistent} if workers else {}
        return torch.utils.data.DataLoader(made, batch_size=None, num_workers=workers, **more)

    @pytest.mark.parametrize(
        ("workers", "persistent"), [(0, False), (1, False), (2, False), (2, True)]
    )
    def test_every_epoch_has_its_order(self, torch, workers, persistent):
        loader = self.loader(torch, workers, persistent)
        orders = []
        for epoch in range(3):
            orders.append(values(loader))
            assert sorted(orders[-1]) == self.expected(epoch)
        assert len(set(map(tuple, orders))) == 3

    @pytest.mark.parametrize("persistent", [False, True])
    def test_set_epoch_reaches_workers(self, torch, persistent):
        loader = self.loader(torch, 2, persistent)
        for epoch, told in [(0, None), (6, 6), (7, None), (2, 2), (2, 2)]:
            if told is not None:
                loader.dataset.set_epoch(told)
            assert sorted(values(loader)) == self.expected(epoch)

    @pytest.mark.parametrize("persistent", [False, True])
    def test_a_pass_that_was_broken_off_is_one(self, torch, persistent):
        loader = self.loader(torch, 2, persistent)
        for epoch in range(3):
            next(iter(loader))
            assert sorted(values(loader)) == self.expected(2 * epoch + 1)

    def test_a_seed_of_the_loader_that_repeats(self, torch):
        loader = self.loader(torch, 2)
        for epoch in range(3):
            torch.manual_seed(0)
            assert sorted(values(loader)) == self.expected(epoch)

    def test_spawned_workers(self, torch):
        loader = self.loader(torch, 1, multiprocessing_context="spawn")
        for epoch in range(2):
            assert sorted(values(loader)) == self.expected(epoch)

    def test_two_loaders_over_one_dataset_at_a_time(self, torch):
        one = self.loader(torch, 2)
        other = torch.utils.data.DataLoader(one.dataset, batch_size=None, num_workers=2)
        both = list(zip(one, other, strict=True))
        seen = [sorted(values(side)) for side in zip(*both, strict=True)]
        assert sorted(seen) == sorted([self.expected(0), self.expected(1)])


class TestStateful:
    @pytest.fixture(autouse=True)
    def stateful(self, torch):
        return pytest.importorskip("torchdata.stateful_dataloader", reason=WHY).StatefulDataLoader

    def loader(self, stateful, workers, persistent=False):
        made = lv.torch_dataset(lv.range(90).shuffle(40, seed=2).take(60).batch(4))
        return stateful(
            made,
            batch_size=None,
            num_workers=workers,
            persistent_workers=persistent and workers > 0,
        )

    @pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])
    @pytest.mark.parametrize("cut", [0, 3, 15])
    def test_resumes_in_the_right_epoch(self, stateful, workers, persistent, cut):
        straight = self.loader(stateful, workers, persistent)
        orders = [[values([batch]) for batch in straight] for _ in range(4)]
        loader = self.loader(stateful, workers, persistent)
        list(loader)
        steps = iter(loader)
        first = [values([next(steps)]) for _ in range(cut)]
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        other = self.loader(stateful, workers, persistent)
        other.load_state_dict(state)
        rest = [values([batch]) for batch in other]
        assert first + rest == orders[1]
        assert [[values([batch]) for batch in other] for _ in range(2)] == orders[2:]


class TestAccelerate:
    @pytest.fixture(autouse=True)
    def accelerate(self, torch):
        return pytest.importorskip("accelerate", reason=WHY)

    @pytest.mark.parametrize(
        ("dispatch", "workers"), [("None", 0), ("True", 1), ("False", 0), ("False", 1)]
    )
    def test_a_loader_that_is_divided_twice_is_refused(self, dispatch, workers):
        for text in torch_ranks.run("accelerated", dispatch, workers, "part"):
            assert "torch_dataset(ds, rank=0, world_size=1)" in text
            assert "accelerator.prepare()" in text

    @pytest.mark.parametrize(
        ("dispatch", "whole"), [("None", "whole"), ("False", "whole"), ("None", "not prepared")]
    )
    def test_what_the_error_says_to_write_loses_nothing(self, dispatch, whole):
        seen = torch_ranks.run("accelerated", dispatch, 1, whole)
        assert sorted(chain.from_iterable(seen)) == list(range(torch_ranks.RECORDS))


class TestTraining:
    """Two ranks under DistributedDataParallel, over the lines of real text: a rank that took one
    step more than the other would hang."""

    @pytest.fixture
    def corpus(self, torch, tmp_path):
        folder = tmp_path
        lines = [line for page in PAGES for line in page.read_bytes().splitlines()][:150]
        for part in range(3):
            with lv.TFRecordWriter(folder / f"part-{part}.tfrecord") as writer:
                for n in range(part, len(lines), 3):
                    example = {"line": [n], "bytes": list(lines[n][:100])}
                    writer.write(lv.make_example(example))
        return len(lines), folder / "part-*.tfrecord"

    @pytest.mark.parametrize(("equal", "workers"), [("pad", 2), ("drop", 0)])
    def test_ranks_read_every_record_in_equal_steps(self, corpus, equal, workers):
        count, pattern = corpus
        ranks = torch_ranks.run("trained", pattern, workers, equal)
        for epochs in zip(*ranks, strict=True):
            assert len({len(steps) for steps in epochs}) == 1
            seen = sorted(n for steps in epochs for step in steps for n in step)
            if equal == "pad":
                assert seen == list(range(count))
            else:
                parts = torch_ranks.WORLD * max(workers, 1)
                assert len(set(seen)) == len(seen) > count - parts * torch_ranks.LARGEST
        for first, second in ranks:
            assert first != second
