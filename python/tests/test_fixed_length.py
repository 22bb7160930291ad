# SPDX-License-Identifier: Apache-2.0
"""lv.fixed_length: records of one length."""

import gzip
import subprocess
import zlib

import levada as lv
import numpy as np
import pytest
from command import LEVADA, needs_command
from levada import errors

BODY = bytes(range(65, 90))
PACKED = {"none": bytes, "gzip": gzip.compress, "zlib": zlib.compress}


def values(ds):
    return [record["record"] for record in ds]


@pytest.fixture(params=PACKED)
def path(request, tmp_path):
    path = tmp_path / "f.bin"
    path.write_bytes(PACKED[request.param](b"HHHHH" + BODY + b"FF"))
    return path


def test_gives_the_bytes_between_header_and_footer(path):
    ds = lv.fixed_length(path, 5, header_bytes=5, footer_bytes=2)
    assert values(ds) == [BODY[at : at + 5] for at in range(0, 25, 5)]
    assert lv.from_text(str(ds)) == ds and lv.from_json(ds.to_json()) == ds
    batch = ds.batch(9).first()
    assert batch["record"].to_list() == values(ds)
    assert batch.record_keys[4] == f"{path}:4"


@pytest.mark.parametrize("hop", [1, 2, 3, 4, 7, 11, 30])
def test_records_may_overlap_and_lie_apart(path, hop):
    expected = [BODY[at : at + 3] for at in range(0, 23, hop)]
    sizes = {"header_bytes": 5, "footer_bytes": 2, "hop_bytes": hop, "drop_partial": True}
    ds = lv.fixed_length(path, 3, **sizes)
    assert values(ds) == expected
    parts = [batch["record"].to_list() for batch in ds.batch(4)]
    assert [value for part in parts for value in part] == expected
    parts = [block["record"].to_list() for block in ds.blocks()]
    assert [value for part in parts for value in part] == expected
    assert sorted(values(ds.shuffle(5, seed=1))) == sorted(expected)


def test_a_position_goes_on_at_any_record(path):
    ds = lv.fixed_length(path, 4, header_bytes=5, footer_bytes=2, hop_bytes=3)
    ds = ds.shuffle(4, seed=2).with_options(seed=5)
    whole = values(ds.iterate(epoch=0))
    for n in range(len(whole) + 1):
        it = ds.iterate(epoch=0)
        for _ in range(n):
            next(it)
        again = iter(ds)
        again.restore(it.save())
        assert values(again) == whole[n:]


def test_a_record_cut_off_is_an_error_with_its_sizes(path):
    ds = lv.fixed_length(path, 4, header_bytes=5, footer_bytes=2)
    plain = path.read_bytes().startswith(b"HHHHH")
    got = []
    with pytest.raises(errors.InvalidArgumentError if plain else errors.DataLossError) as info:
        got.extend(record["record"] for record in ds)
    assert "25 bytes" in str(info.value) and "record_bytes=4" in str(info.value)
    assert (info.value.record, info.value.offset) == (6, 29)
    whole = [BODY[at : at + 4] for at in range(0, 24, 4)]
    sizes = {"header_bytes": 5, "footer_bytes": 2}
    assert values(lv.fixed_length(path, 4, **sizes, drop_partial=True)) == whole
    it = lv.fixed_length([path, path], 4, **sizes, errors="skip").iterate()
    assert values(it) == 2 * whole
    assert it.stats()["skipped_records"] == 2


def test_a_file_too_small_for_header_and_footer_is_an_error(path):
    with pytest.raises((errors.InvalidArgumentError, errors.DataLossError), match="of 32 bytes"):
        list(lv.fixed_length(path, 1, header_bytes=4, footer_bytes=29))


def test_records_larger_than_what_is_read_at_a_time(tmp_path):
    data = np.random.default_rng(0).bytes(3_000_000)
    for name, pack in PACKED.items():
        path = tmp_path / name
        path.write_bytes(pack(data))
        ds = lv.fixed_length(
            path, 700_000, header_bytes=500_000, footer_bytes=400_000, compression=name
        )
        assert values(ds) == [data[at : at + 700_000] for at in (500_000, 1_200_000, 1_900_000)]


def test_wrong_sizes_are_refused():
    for wrong in (
        {"record_bytes": 0},
        {"record_bytes": 1, "header_bytes": -1},
        {"record_bytes": 1, "footer_bytes": -1},
        {"record_bytes": 1, "hop_bytes": -1},
    ):
        with pytest.raises(errors.InvalidArgumentError, match=r"_bytes=.* must be at least"):
            lv.fixed_length("a", **wrong)
    with pytest.raises(TypeError):
        lv.fixed_length("a")


@needs_command
def test_the_command_shows_records_of_a_description(path):
    def head(*words):
        return subprocess.run(
            [LEVADA, "head", *words], capture_output=True, text=True, timeout=60, check=False
        )

    done = head(f"fixed_length:{path},record_bytes=5,header_bytes=5,footer_bytes=2", "-n", "2")
    assert done.returncode == 0
    words = [line.split()[0] for line in done.stdout.splitlines()]
    assert words == [f"{path}:0", '"ABCDE"', f"{path}:1", '"FGHIJ"']
    assert "record_bytes" in head(f"fixed_length:{path}").stderr
    assert "no_such_source" in head(f"no_such_source:{path}").stderr
