# SPDX-License-Identifier: Apache-2.0
"""Iterator.skip_batches: the next batch is the one that as many calls of next would have left."""

import levada as lv
import pytest
from levada.errors import CancelledError, InvalidArgumentError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("".join(f"{i % 7 * 'x'} {i}\n" for i in range(90)))


def pipelines():
    lines = lv.text_lines("a.txt")
    return [
        lines.shuffle(20, seed=1).batch(7),
        lv.range(60).shuffle(60, seed=2).repeat(2).batch(8),
        lv.from_random_access(list(range(70)), fields="x", shuffle_records=True).batch(6),
        lv.mix(lines, lines, seed=4).map(lambda r: {"n": len(r["line"])}).batch(9).prefetch(3),
        lines.bucket_by_sequence_length("line", boundaries=[4, 6], batch_sizes=5),
        lines.filter("line != ''").padded_batch(16),
    ]


@pytest.mark.parametrize("which", range(6))
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("before, n", [(0, 0), (0, 3), (2, 1), (1, 4)])
def test_the_rest_is_that_of_calls_of_next(which, threads, before, n):
    ds = pipelines()[which].with_options(threads=threads, seed=5)
    one, two = ds.iterate(0), ds.iterate(0)
    for _ in range(before):
        next(two)
    two_state = two.save()
    for _ in range(before + n):
        next(one)
    other = ds.iterate(0)
    other.restore(two_state)
    for it in (two, other):
        assert it.skip_batches(n) == n
    saved = two.save()
    rest = [batch.record_keys for batch in one]
    assert [batch.record_keys for batch in two] == rest
    assert [batch.record_keys for batch in other] == rest
    third = ds.iterate(0)
    third.restore(saved)
    assert [batch.record_keys for batch in third] == rest
    counts = [{k: it.stats()[k] for k in ("records", "batches")} for it in (one, two, third)]
    assert counts[0] == counts[1] == counts[2]


def test_the_end_and_wrong_calls():
    it = iter(lv.range(10).batch(3))
    assert it.skip_batches(9) == 4
    assert it.skip_batches(1) == 0
    assert list(it) == []
    with pytest.raises(InvalidArgumentError, match="n=-1"):
        it.skip_batches(-1)
    with pytest.raises(TypeError, match="batch the dataset"):
        iter(lv.range(3)).skip_batches(1)
    it = iter(lv.range(10).batch(3))
    it.cancel()
    with pytest.raises(CancelledError):
        it.skip_batches(1)
