# SPDX-License-Identifier: Apache-2.0
"""PyTorch as users meet it: mistakes with DataLoader, tensors, devices, the docstring's program."""

import inspect
import multiprocessing
import pickle
import textwrap

import levada as lv
import numpy as np
import pytest
from levada.errors import FailedPreconditionError, InvalidArgumentError

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader  # noqa: E402

LISTS = [[1, 2, 3], [], [4], [5, 6]]


def ragged():
    records = [{"tokens": np.array(row, np.int64), "label": i} for i, row in enumerate(LISTS)]
    return lv.from_records(records, spec={"tokens": lv.VarLenFeature(lv.int64), "label": lv.int64})


def padded():
    return ragged().padded_batch(4)


class TestMistakes:
    @pytest.mark.parametrize("shuffle", [False, True])
    def test_a_plain_dataset_explains_torch_dataset(self, shuffle):
        for ds in (ragged(), lv.range(8).batch(2), lv.range(8).filter("value > 2")):
            refused = (TypeError, FailedPreconditionError)
            with pytest.raises(refused, match=r"DataLoader\(lv.torch_dataset\(ds\)"):
                list(DataLoader(ds, shuffle=shuffle))

    @pytest.mark.parametrize("parts", [None, 2])
    def test_ranks_of_buckets_are_not_divided_again(self, parts):
        ds = ragged().with_options(seed=1)
        ds = ds.bucket_by_sequence_length("tokens", boundaries=[2], batch_sizes=1)
        one = ds.shard(0, 2, sync="buckets")
        with pytest.raises(FailedPreconditionError, match="have ranks already"):
            list(lv.torch_dataset(one, 0, 2, equal=False if parts else "drop", parts=parts))
        assert len(list(lv.torch_dataset(one, 0, 1))) == 2
        loaders = [
            lv.torch_dataset(lambda i, n: ds.shard(i, n, sync="buckets"), rank, 2, equal=False)
            for rank in range(2)
        ]
        assert [len(list(loader)) for loader in loaders] == [2, 2]

    @pytest.mark.parametrize("workers", [0, 1])
    def test_batches_are_not_batched_again(self, workers):
        for transform in (None, dict):
            data = lv.torch_dataset(lv.range(8).batch(4), transform=transform)
            with pytest.raises(InvalidArgumentError, match="batch_size=None"):
                list(DataLoader(data, num_workers=workers))

    def test_records_may_be_batched_by_the_loader(self):
        found = [b["value"].tolist() for b in DataLoader(lv.torch_dataset(lv.range(4)), 2)]
        assert found == [[0, 1], [2, 3]]

    def test_indexing_explains_what_to_do(self):
        with pytest.raises(FailedPreconditionError, match="torch_dataset"):
            ragged()[0]
        with pytest.raises(TypeError, match="torch_dataset"):
            lv.range(4).batch(2)[0]


class TestTensors:
    def test_lengths_and_masks_of_padded_fields(self):
        made = padded().first().torch(lengths=True, mask=True, cu_seqlens=True)
        names = ["tokens_lengths", "tokens_mask", "tokens_cu_seqlens"]
        assert sorted(made) == sorted(["tokens", "label", *names])
        assert made["tokens_lengths"].tolist() == [3, 0, 1, 2]
        assert made["tokens_mask"].sum(1).tolist() == [3, 0, 1, 2]
        assert made["tokens_mask"].dtype == torch.bool
        assert made["tokens_cu_seqlens"].tolist() == [0, 3, 3, 4, 6]

    def test_ragged_fields_have_lengths_and_no_mask(self):
        made = ragged().batch(4).first().torch(lengths=True, mask=True, cu_seqlens=True)
        assert made["tokens_lengths"].tolist() == [3, 0, 1, 2]
        assert "tokens_mask" not in made
        assert made["tokens_cu_seqlens"].dtype == torch.int32

    def test_a_name_that_is_taken_is_refused(self):
        ds = padded().map(lambda b: {**b, "tokens_mask": b["label"]}, batched=True)
        with pytest.raises(InvalidArgumentError, match="tokens_mask"):
            ds.first().torch(mask=True)

    def test_nested_tensors(self):
        made = ragged().batch(4).first().torch(ragged="nested")["tokens"]
        assert made.is_nested and made.layout == torch.jagged
        assert [row.tolist() for row in made.unbind()] == LISTS

    def test_nested_tensors_of_a_part(self):
        part = ragged().batch(4).first()["tokens"][2:]
        from levada.interop._tensors import _nested, ragged_to

        assert [row.tolist() for row in _nested("x", ragged_to(part, None)).unbind()] == LISTS[2:]

    def test_two_levels_cannot_be_nested(self):
        spec = {"x": lv.RaggedFeature(lv.int64, partitions=[], value_key=None)}
        two = lv.Ragged(np.arange(3), [np.array([0, 1, 2], "i4"), np.array([0, 2, 3], "i4")])
        ds = lv.from_arrays({"x": two})
        assert spec and len(ds.batch(2).first()["x"].nested) == 2
        with pytest.raises(InvalidArgumentError, match="2 ragged levels"):
            ds.batch(2).first().torch(ragged="nested")

    def test_an_unknown_form_is_refused(self):
        with pytest.raises(InvalidArgumentError, match='must be "ragged"'):
            padded().first().torch(ragged="list")

    def test_to_a_device(self):
        batch = ragged().batch(4).first()
        for made in (batch.to("cpu"), batch.to(torch.device("cpu"), non_blocking=False)):
            assert made["label"].tolist() == [0, 1, 2, 3]
            assert made["tokens"].values.tolist() == [1, 2, 3, 4, 5, 6]
        moved = batch["tokens"].to("meta")
        assert isinstance(moved, lv.Ragged) and moved.values.device.type == "meta"
        assert moved.to("meta").nested[0].device.type == "meta"

    def test_libraries_find_to(self):
        operations = pytest.importorskip("accelerate.utils.operations")
        made = operations.send_to_device(padded().first(), "cpu")
        assert isinstance(made["tokens"], torch.Tensor)

    def test_pin_memory_is_what_a_loader_finds(self, monkeypatch):
        from torch.utils.data._utils.pin_memory import pin_memory

        asked = []
        monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: asked.append(1) or self)
        assert pin_memory(padded().first())["tokens"].shape == (4, 3)
        assert isinstance(pin_memory(ragged().batch(4).first().torch())["tokens"], lv.Ragged)
        assert len(asked) == 2 + 3

    def test_a_loader_leaves_ragged_fields_whole(self):
        (made,) = DataLoader(lv.torch_dataset(ragged().batch(4)), batch_size=None)
        assert isinstance(made["tokens"], lv.Ragged)

    def test_a_batch_is_not_rebuilt_from_its_items(self):
        with pytest.raises(TypeError, match="made by an iterator"):
            lv.Batch({"x": 1})


def test_the_program_of_the_docstring_runs(tmp_path, monkeypatch):
    text = inspect.getdoc(lv.torch_dataset).split("\nExample:\n", 1)[1]
    monkeypatch.chdir(tmp_path)
    space = {"lv": lv}
    exec(textwrap.dedent(text), space)
    assert space["mask"].shape == space["tokens"].shape
    assert space["state"]["levada"]


class TestResume:
    @pytest.mark.parametrize("parts", [4, None])
    @pytest.mark.parametrize("moment", ["new", "break", "end", "second"])
    def test_the_dataset_has_a_state_at_every_moment(self, moment, parts):
        ds = lv.range(40).shuffle(20).batch(5).with_options(seed=1)

        def make():
            return lv.torch_dataset(
                ds, 0, 1, parts=parts, transform=lambda batch: batch["value"].tolist()
            )

        data, seen = make(), []
        if moment == "second":
            assert len([*data]) >= 8
        for batch in data if moment != "new" else ():
            seen += batch
            if moment == "break":
                break
        state = data.state_dict()
        assert data.state_dict() == state
        again = make()
        again.load_state_dict(state)
        assert again.state_dict() == state
        rest = [value for batch in again for value in batch]
        if moment in ("end", "second"):  # between epochs: the next one is whole
            seen = []
        assert sorted(seen + rest) == list(range(40))
        assert len({value for batch in again for value in batch}) == 40
        data.load_state_dict(state)  # it is not hidden by the loop that was
        assert [value for batch in data for value in batch] == rest

    def test_a_state_of_another_process_is_not_invented(self):
        data = lv.torch_dataset(lv.range(10).batch(4), 0, 1)
        assert sum(len(b["value"]) for b in DataLoader(data, batch_size=None, num_workers=1)) == 10
        with pytest.raises(FailedPreconditionError, match="workers of the DataLoader"):
            data.state_dict()

    @pytest.mark.parametrize("workers", [0, 1, 2])
    @pytest.mark.parametrize("parts", [4, None])
    def test_the_passes_after_a_resumed_one_are_whole(self, workers, parts):
        if parts is None and workers > 1:
            pytest.skip("a state is that of one worker")
        ds = lv.range(100).shuffle(20).batch(5).with_options(seed=1)
        data = lv.torch_dataset(ds, rank=0, world_size=1, parts=parts)
        running = iter(data)
        read = sum(len(next(running)["value"]) for _ in range(8))
        state = running.state_dict() if parts else data.state_dict()
        data = lv.torch_dataset(ds, rank=0, world_size=1, parts=parts)
        loader = DataLoader(data, batch_size=None, num_workers=workers)
        for _ in range(2):  # loaded again, it is restored again
            data.load_state_dict([state] if parts else state)
            passes = [[int(v) for b in loader for v in b["value"]] for _ in range(3)]
            assert [len(values) for values in passes] == [100 - read, 100, 100]
            assert passes[1] != passes[2] and sorted(passes[1]) == sorted(passes[2])


def itself(batch):
    return batch


class TestStatesOfSegments:
    """``unroll(layout="ready")``: the process that reads saves the states."""

    SIZES = (5, 3, 4, 7, 1, 2, 6)

    def dataset(self):
        songs = [np.arange(n) for n in self.SIZES]
        states = {"h": {"dtype": "float32", "shape": [1]}}
        ds = lv.from_arrays({"x": songs, "id": np.arange(len(songs))})
        return ds.unroll(2, batch_size=2, layout="ready", states=states, key="id")

    def step(self, batch):
        """(key, state) of each row; the next state is one more."""
        h = batch["h"]
        batch.save_state("h", batch.torch()["h"] + 1)
        return list(zip(batch["key"].to_list(), h.ravel().tolist(), strict=True))

    def test_a_loader_without_workers_passes_batches_on(self):
        want = [self.step(batch) for batch in self.dataset()]
        loader = DataLoader(lv.torch_dataset(self.dataset(), transform=itself), batch_size=None)
        assert [self.step(batch) for batch in loader] == want

    def test_each_part_has_states_of_its_own(self):
        data = lv.torch_dataset(self.dataset(), transform=itself, parts=3)
        found = [row for batch in data for row in self.step(batch)]
        assert sorted(found) == sorted(
            (b"%05d_of_%05d:%d" % (s, -(-n // 2), key), float(s))
            for key, n in enumerate(self.SIZES)
            for s in range(-(-n // 2))
        )

    @pytest.mark.parametrize("cut", [0, 1, 4])
    def test_a_stateful_loader_resumes(self, cut):
        stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
        want = [self.step(batch) for batch in self.dataset()]
        first, again = (
            stateful(lv.torch_dataset(self.dataset(), transform=itself), batch_size=None)
            for _ in range(2)
        )
        batches = iter(first)
        found = [self.step(next(batches)) for _ in range(cut)]
        again.load_state_dict(first.state_dict())
        assert found + [self.step(batch) for batch in again] == want

    def test_a_worker_refuses_states_that_nobody_can_save(self):
        data = lv.torch_dataset(self.dataset(), transform=itself)
        with pytest.raises(FailedPreconditionError, match="num_workers=0"):
            next(iter(DataLoader(data, batch_size=None, num_workers=1, timeout=60)))

    @pytest.mark.parametrize("parts", [None, 2])
    def test_tensors_alone_are_refused(self, parts):
        with pytest.raises(InvalidArgumentError, match="transform=lambda batch: batch"):
            next(iter(lv.torch_dataset(self.dataset(), parts=parts)))


def in_a_tuple(batch):
    return 1, batch


def in_dicts(batch):
    return {"x": [{"batch": batch}]}


def in_a_list(batch):
    return [batch, batch]


@pytest.mark.parametrize("transform", [itself, in_a_tuple, in_dicts, in_a_list])
def test_a_batch_cannot_leave_a_worker(transform):
    data = lv.torch_dataset(padded(), transform=transform)
    with pytest.raises(TypeError, match=r"send its torch\(\) or numpy\(\)"):
        next(iter(DataLoader(data, batch_size=None, num_workers=1, timeout=60)))


def test_a_batch_cannot_leave_through_a_queue():
    queue = multiprocessing.get_context("fork").Queue()
    queue.put({"batch": padded().first()})
    with pytest.raises(TypeError, match=r"send its torch\(\) or numpy\(\)"):
        queue.get(timeout=60)
    queue.put("the next")
    assert queue.get(timeout=60) == "the next"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(padded().first())
