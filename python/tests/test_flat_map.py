# SPDX-License-Identifier: Apache-2.0
"""Functions that return several records, and how many records a slow function gets at once."""

import threading
import time

import levada as lv
import numpy as np
import pytest
from levada import errors


def words(record):
    return [{"word": w, "n": len(w)} for w in record["line"].split()]


class TestFlatMap:
    def test_any_number_of_records(self, tmp_path):
        path = tmp_path / "a.txt"
        path.write_text("one two\n\nthree\n")
        ds = lv.text_lines(path).flat_map(words)
        assert [row["word"] for row in ds] == ["one", "two", "three"]
        assert ds.batch(3).first().record_keys == [f"{path}:{key}" for key in ("0", "0.1", "2")]
        assert list(lv.text_lines(path).flat_map(lambda record: [])) == []
        typed = lv.text_lines(path).flat_map(words, spec={"word": lv.string, "n": lv.int32})
        assert typed.batch(3).first()["n"].tolist() == [3, 3, 5]

    def test_generators(self):
        def down(record):
            for i in range(int(record["value"])):
                yield {"x": record["value"], "i": i}

        ds = lv.range(300).flat_map(down, workers=3)
        for threads in (1, 4):
            got = [(int(r["x"]), int(r["i"])) for r in ds.with_options(threads=threads)]
            assert got == [(x, i) for x in range(300) for i in range(x)]

    @pytest.mark.parametrize("cut", [0, 1, 7, 100, 434, 435])
    @pytest.mark.parametrize("threads", [1, 4])
    def test_resume_is_exact(self, cut, threads):
        ds = lv.range(30).shuffle(9, seed=2)
        ds = ds.flat_map(lambda r: [{"x": r["value"] * 100 + i} for i in range(r["value"])])
        ds = ds.shuffle(20, seed=3).with_options(threads=threads, block_rows=4)
        expected = [int(r["x"]) for r in ds.iterate(epoch=0)]
        assert len(expected) == 435
        with ds.iterate(epoch=0) as it, ds.iterate(epoch=0) as other:
            head = [int(next(it)["x"]) for _ in range(cut)]
            other.restore(it.save())
            assert head + [int(r["x"]) for r in other] == expected

    @pytest.mark.parametrize("block_rows", [1, 7, 256])
    @pytest.mark.parametrize("typed", [False, True])
    def test_blocks_without_a_record(self, block_rows, typed):
        def some(record):
            x = int(record["value"])
            rows = lv.Ragged(np.array([x]), [np.array([0, 1, 1], np.int32)])
            row = {"x": x, "s": b"a", "list": [0.5], "words": ["b"], "rows": rows}
            return [row] if x % 600 in (1, 2, 599) else []

        spec = {"x": lv.int64, "s": lv.string, "list": lv.VarLenFeature(lv.float32)}
        spec |= {"words": lv.VarLenFeature(lv.string)}
        made = some
        if typed:  # features have at most one level
            made = lambda record: [{k: row[k] for k in spec} for row in some(record)]  # noqa: E731
        ds = lv.range(2000).flat_map(made, spec=spec if typed else None)
        for threads in (1, 3):
            got = list(ds.with_options(threads=threads, block_rows=block_rows))
            want = [1, 2, 599, 601, 602, 1199, 1201, 1202, 1799, 1801, 1802]
            assert [int(row["x"]) for row in got] == want
            assert {tuple(row["words"]) for row in got} == {(b"b",) if typed else ("b",)}

    def test_bad_records(self):
        def fails(record):
            yield {"x": record["value"]}
            if record["value"] % 3 == 0:
                raise ValueError("three")

        ds = lv.range(10).flat_map(fails)
        with iter(ds.with_options(errors="skip")) as it:
            assert [int(r["x"]) for r in it] == [1, 2, 4, 5, 7, 8]
            assert it.stats()["skipped_records"] == 4
            assert [p["record"] for p in it.stats()["problems"]] == [0, 3, 6, 9]
        for wrong in (lambda r: {"x": 1}, lambda r: None, lambda r: 3):
            with pytest.raises(TypeError, match="must return a list of dicts, or yield dicts"):
                list(lv.range(3).flat_map(wrong))
        with pytest.raises(TypeError, match="returned None; it must return a dict"):
            list(lv.range(3).flat_map(lambda r: [None]))
        with pytest.raises(errors.InvalidArgumentError):
            lv.range(3).batch(2).flat_map(words)

    def test_random_numbers(self):
        ds = lv.range(40).flat_map(lambda r, g: [{"x": g.random()}] * 2, rng=True)
        once = [float(r["x"]) for r in ds.with_options(seed=1).iterate(0)]
        again = [float(r["x"]) for r in ds.with_options(seed=1, block_rows=3).iterate(0)]
        assert once == again and len(set(once)) == 40


class TestPace:
    """A slow function gets few records at once; the size of blocks changes nothing else."""

    @pytest.mark.parametrize("kind", ["map", "call", "filter", "flat_map"])
    @pytest.mark.parametrize("threads", [1, 3])
    def test_the_first_batch_needs_the_first_records_alone(self, kind, threads):
        seen = []

        def slow(record):
            seen.append(int(record["value"]))
            time.sleep(0.005)
            return [record] if kind == "flat_map" else kind == "filter" or record

        ds = lv.range(1000)
        ds = ds.map(slow, pure=False) if kind == "call" else getattr(ds, kind)(slow)
        with iter(ds.batch(8).with_options(threads=threads)) as it:
            assert next(it)["value"].tolist() == list(range(8))
            assert len(seen) < 200  # a thread may be in a further block of its own
            it.cancel()

    def test_a_block_is_not_larger_than_all_before_it(self):
        """The function turns slow: the first batches do not wait for hundreds of its records."""
        seen, late = [], []
        delivered = threading.Event()

        def slow(record):
            seen.append(int(record["value"]))
            if len(seen) > 60 and not late and not delivered.wait(30):
                late.append(seen[-1])
            return record

        with iter(lv.range(1000).map(slow).batch(8).with_options(threads=1)) as it:
            for first in range(0, 32, 8):
                assert next(it)["value"].tolist() == [*range(first, first + 8)]
            delivered.set()
            it.cancel()
        assert not late

    def test_fast_functions_get_whole_blocks(self):
        calls = []

        class Fn:
            def __call__(self, record):
                calls.append(threading.get_ident())
                return record

        ds = lv.range(20000).map(Fn()).with_options(threads=1)
        with iter(ds) as it:
            assert sum(1 for _ in it) == 20000
            (stage,) = [s for s in it.stats()["stages"] if "map" in str(s)]
        assert stage["blocks"] < 20000 / 64

    @pytest.mark.parametrize("cut", [0, 1, 8, 9, 30, 63, 64])
    @pytest.mark.parametrize("pure", [True, False])
    def test_states_do_not_depend_on_it(self, cut, pure):
        def slow(record):
            time.sleep(0.002 if record["value"] % 2 else 0)
            return {"x": record["value"] * 2}

        ds = lv.range(64).map(slow, pure=pure).shuffle(5, seed=1).with_options(threads=2)
        with ds.iterate(epoch=0) as it, ds.iterate(epoch=0) as other:
            head = [int(next(it)["x"]) for _ in range(cut)]
            other.restore(it.save())
            rest = [int(r["x"]) for r in other]
            assert head + rest == [int(r["x"]) for r in ds.iterate(epoch=0)]
            assert sorted(head + rest) == list(range(0, 128, 2))
