# SPDX-License-Identifier: Apache-2.0
"""Ranks and workers without records, or with the records of others: an error or a warning."""

import warnings

import levada as lv
import pytest
from levada import errors

torch = pytest.importorskip("torch")


class Undivided(torch.utils.data.IterableDataset):
    """What users write: a loop over a dataset."""

    def __init__(self, ds):
        self.ds = ds

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows = [int(row["value"]) for row in self.ds(info.id, info.num_workers)]
        yield rows, [str(each.message) for each in caught]


@pytest.mark.parametrize(
    ("made", "workers", "warned"),
    [
        (lambda i, n: lv.range(4), 2, True),
        (lambda i, n: lv.range(4).map(dict), 2, True),
        (lambda i, n: lv.range(4).shard(i, n), 2, False),
        (lambda i, n: lv.range(4).parts(n)[i].map(dict), 2, False),
        (lambda i, n: lv.range(4), 1, False),
        (lambda i, n: lv.range(4).to_list(), 2, False),
    ],
)
def test_a_loop_over_all_records_in_several_workers_warns(made, workers, warned):
    loader = torch.utils.data.DataLoader(
        Undivided(made), batch_size=None, num_workers=workers, persistent_workers=True
    )
    told = [text for _, messages in loader for text in messages]
    assert [f"each of the {workers} workers" in text for text in told] == [True] * warned


class TestRanksWithoutData:
    """Each rank has records, or an error names the numbers."""

    @pytest.fixture
    def files(self, tmp_path):
        def make(n, index=False):
            for i in range(n):
                with lv.TFRecordWriter(tmp_path / f"{i}.tfrecord") as writer:
                    for k in range(10):
                        writer.write(lv.make_example({"id": 10 * i + k}))
            if index:
                lv.index(str(tmp_path / "*.tfrecord"))
            return lv.tfrecord(str(tmp_path / "*.tfrecord"), index=index)

        return make

    def ranks(self, ds, world, **options):
        return [list(lv.torch_dataset(ds, rank, world, **options)) for rank in range(world)]

    @pytest.mark.parametrize(("n", "world", "parts"), [(1, 2, 4), (2, 4, 64), (3, 4, 8), (4, 3, 2)])
    def test_too_few_files_or_parts_are_refused(self, files, n, world, parts):
        ds = files(n)
        with pytest.raises(errors.FailedPreconditionError, match=f"{world} ranks.*records for"):
            self.ranks(ds, world, parts=parts)
        counts = [len(rows) for rows in self.ranks(ds, world, parts=parts, equal=False)]
        assert sum(counts) == 10 * n
        assert 0 in counts

    @pytest.mark.parametrize(("n", "world", "parts"), [(1, 1, 4), (2, 2, 64), (5, 4, 16)])
    def test_enough_files_reach_every_rank(self, files, n, world, parts):
        counts = [len(rows) for rows in self.ranks(files(n), world, parts=parts)]
        assert sum(counts) == 10 * n
        assert min(counts) > 0

    def test_an_index_divides_one_file(self, files):
        counts = [len(rows) for rows in self.ranks(files(1, index=True), 4, parts=8)]
        assert sum(counts) == 10
        assert min(counts) > 0

    def test_empty_parts_warn(self, files):
        with pytest.warns(UserWarning, match="2 of 4 parts are empty.*2 files and no index"):
            files(2).parts(4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            files(2).parts(2)
            files(2, index=True).parts(4)
            lv.range(4).parts(4)

    def test_workers_of_one_rank_do_not_take_the_parts_of_another(self, files):
        ds = lv.torch_dataset(files(2), 1, 2, parts=4)
        loader = torch.utils.data.DataLoader(ds, batch_size=None, num_workers=2)
        assert len(list(loader)) == 10


@pytest.mark.parametrize("place", ["shuffle", "mix", "files"])
def test_a_shard_of_what_draws_without_a_seed_is_refused(place, tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    made = {
        "shuffle": lambda seed: lv.range(9).shuffle(4, seed=seed),
        "mix": lambda seed: lv.mix([lv.range(9), lv.range(9)], seed=seed),
        "files": lambda seed: lv.text_lines(str(tmp_path / "*.txt"), shuffle_files=True),
    }[place]
    ds = made(None).shard(0, 2)
    for wrong in (ds, ds.batch(2), lv.concat(lv.range(1), ds) if place != "files" else ds):
        with pytest.raises(errors.FailedPreconditionError, match="shard must have a seed"):
            iter(wrong)
        assert wrong.with_options(seed=1).to_list()
    assert made(None).shard(0, 1).to_list()
    assert made(None).to_list()
    if place != "files":
        assert made(3).shard(0, 2).to_list()
    assert lv.range(9).shard(0, 2).shuffle(3).to_list()


def _lines(tmp_path):
    (tmp_path / "a.txt").write_text("a\nb\n")
    return str(tmp_path / "a.txt")


KINDS = {  # a source of two records or one file, and whether an index makes more parts
    "range": (lambda path: lv.range(2), False),
    "arrays": (lambda path: lv.from_arrays({"x": [1, 2]}), False),
    "random access": (lambda path: lv.from_random_access([{"x": 1}, {"x": 2}]), False),
    "files": (lambda path: lv.files(_lines(path)), False),
    "lines": (lambda path: lv.text_lines(_lines(path)), True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_advice_fits_the_source(tmp_path, kind):
    make, index = KINDS[kind]
    with pytest.warns(UserWarning, match="parts are empty, because") as told:
        make(tmp_path).parts(4)
    (text,) = {str(each.message) for each in told}
    assert "make fewer parts" in text and ("write an index" in text) == index
    with pytest.raises(errors.FailedPreconditionError, match="records for") as raised:
        list(lv.torch_dataset(make(tmp_path), 0, 3, parts=4))
    assert ("write an index" in str(raised.value)) == index
