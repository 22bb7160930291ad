# SPDX-License-Identifier: Apache-2.0
"""Libraries outside of the package."""

import json
import shutil
import subprocess
from pathlib import Path

import levada as lv
import pytest
from command import LEVADA, needs_command

ROOT = Path(__file__).resolve().parents[2]


def compiled(source: str | Path, folder: Path) -> Path:
    """The library that a file of the tree becomes in ``folder``."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    path = folder / f"{Path(source).stem}.so"
    words = [compiler, "-shared", "-fPIC", "-I", ROOT / "include", ROOT / source, "-o", path]
    subprocess.run(words, check=True)
    return path


@pytest.fixture(scope="session")  # its name is registered once in a process
def library(tmp_path_factory):
    return compiled("plugins/example/my_reader.c", tmp_path_factory.mktemp("plugin"))


def test_a_source_of_a_library(library):
    lib = lv.load_op_library(library)
    expected = [{"record": f"MyReader!{i}".encode()} for i in range(10)]
    assert list(lib.my_reader()) == expected
    assert list(lv.source("my_reader")) == expected
    assert list(lv.from_text("my_reader | take:2")) == expected[:2]


def test_it_is_short(library):
    text = (ROOT / "plugins/example/my_reader.c").read_text()
    assert len(text.splitlines()) < 80


def test_it_can_be_saved(library):
    ds = lv.load_op_library(library).my_reader()
    it = iter(ds)
    for _ in range(4):
        next(it)
    other = iter(ds)
    other.restore(it.save())
    assert next(other) == {"record": b"MyReader!4"}


def test_loading_it_again_does_nothing(library):
    assert lv.load_op_library(library) is lv.load_op_library(str(library))
    assert lv.load_library(library) == lv.load_library(library)


def test_what_a_library_has_is_there_however_it_was_loaded(tmp_path):
    library = compiled("plugins/example/every.c", tmp_path)
    assert lv.load_library(library) == "every"
    every = lv.load_op_library(library).every
    assert [int(row["value"]) for row in every(lv.range(10), n=4)] == [0, 4, 8]
    assert (
        "one record in n" in every.__doc__
        and "n (int): emit one record of every n" in every.__doc__
    )


def test_others_are_refused(tmp_path):
    with pytest.raises(lv.errors.NotFoundError):
        lv.load_library(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(lv.errors.InvalidArgumentError):
        lv.load_library(tmp_path / "text.so")


def test_one_that_is_refused_leaves_none_of_its_names(tmp_path, monkeypatch):
    path = compiled("tests/unit/plugin_refused.c", tmp_path)
    monkeypatch.setenv("LEVADA_TEST_PLUGIN", "taken")
    with pytest.raises(lv.errors.AlreadyExistsError, match="take: the name is registered by"):
        lv.load_library(path)
    with pytest.raises(lv.errors.InvalidArgumentError, match="unknown stage 'half_first'"):
        lv.from_text("range:3 | half_first")
    monkeypatch.delenv("LEVADA_TEST_PLUGIN")
    assert lv.load_library(path) == "half"
    assert len(list(lv.from_text("range:3 | half_first | half_last"))) == 3


def test_an_opener_of_a_library_reads_files_of_its_scheme(tmp_path):
    assert lv.load_library(compiled("plugins/example/memory.c", tmp_path)) == "memory"
    lines = [row["line"] for row in lv.text_lines("memory://greeting")]
    assert lines == ["hello", "from", "memory"]
    with pytest.raises(lv.errors.NotFoundError, match="memory://other"):
        list(lv.text_lines("memory://other"))
    with pytest.warns(RuntimeWarning, match="1 record was skipped"):
        assert list(lv.text_lines(["memory://other", "memory://empty"], errors="skip")) == []


def test_a_name_that_is_not_utf8_is_an_error_that_names_it(tmp_path):
    text = (ROOT / "plugins/example/my_reader.c").read_text()
    text = text.replace('"record"', r'"r\xff"').replace("my_reader", "bytes_reader")
    (tmp_path / "bytes.c").write_text(text)
    lv.load_library(compiled(tmp_path / "bytes.c", tmp_path))
    ds = lv.from_text("bytes_reader")
    for use in (lambda: ds.spec, lambda: next(iter(ds)), lambda: next(iter(ds.batch(1)))):
        with pytest.raises(lv.errors.InvalidArgumentError, match="must be UTF-8 in Python, got 'r"):
            use()


@needs_command
def test_a_name_that_is_not_utf8_is_a_json_name(tmp_path):
    text = (ROOT / "plugins/example/my_reader.c").read_text()
    (tmp_path / "odd.c").write_text(text.replace('"record"', r'"\xff\"\x1b"'))
    library = compiled(tmp_path / "odd.c", tmp_path)
    for verb, ds in (
        ("head", "my_reader:"),
        ("run", "my_reader | batch:1"),
        ("run", "my_reader"),
    ):
        words = [LEVADA, "--plugin", library, verb, "--json", ds]
        done = subprocess.run(words, capture_output=True, check=True)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert rows and "base64:/yIb" in str(rows[0]), rows


REJECT = """
    if (st == LEVADA_OK && s->at == 3) {
        levada_error why = LEVADA_ERROR_INIT;

        (void)levada_fail(&why, LEVADA_EDATA_LOSS, "the sum is wrong");
        levada_error_place(&why, NULL, "part-1.my", 3, 99);
        st = levada_builder_reject(b, 0, &why, err);
    }
    if (st == LEVADA_OK) st = levada_builder_publish"""


def test_a_source_rejects_a_record_with_its_file_and_byte(tmp_path):
    text = (ROOT / "plugins/example/my_reader.c").read_text().replace("my_reader", "sums_reader")
    text = text.replace("\n    if (st == LEVADA_OK) st = levada_builder_publish", REJECT, 1)
    (tmp_path / "sums.c").write_text(text)
    lv.load_library(compiled(tmp_path / "sums.c", tmp_path))
    ds = lv.from_text("sums_reader")
    with pytest.raises(lv.errors.DataLossError, match="the sum is wrong") as caught:
        ds.to_list()
    assert (caught.value.file, caught.value.record, caught.value.offset) == ("part-1.my", 3, 99)
    with iter(ds.with_options(errors="skip")) as it:
        assert [row["record"][-1:] for row in it] == [b"%d" % i for i in range(10) if i != 3]
        (problem,) = it.stats()["problems"]
    assert "part-1.my" in json.dumps(problem) and problem["lost"]


# -- sources that read files -----------------------------------------------------------------------


@pytest.fixture(scope="session")
def readings(tmp_path_factory):
    return lv.load_op_library(
        compiled("plugins/example/readings.c", tmp_path_factory.mktemp("readings"))
    ).readings


def write_readings(path, *values, wrong=()):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b""
    for i, value in enumerate(values):
        number = value.to_bytes(8, "little")
        data += number + (sum(number) + (i in wrong)).to_bytes(4, "little")
    path.write_bytes(data)


def values_of(ds):
    return [int(record["value"]) for record in ds]


@pytest.mark.parametrize(
    ("patterns", "values"),
    [
        ("*.bin", [1, 2, 3]),
        ("{b,a}.bin", [2, 3, 1]),
        ("**/*.bin", [1, 2, 3, 4]),
        (["deep/er/[c-d].bin", "a.bin"], [4, 1]),
        ("b.bin", [2, 3]),
    ],
)
def test_patterns_of_a_source_are_expanded(readings, tmp_path, monkeypatch, patterns, values):
    monkeypatch.chdir(tmp_path)
    write_readings(Path("b.bin"), 2, 3)
    write_readings(Path("a.bin"), 1)
    write_readings(Path("deep/er/c.bin"), 4)
    assert values_of(readings(files=patterns)) == values
    with pytest.raises(lv.errors.NotFoundError, match="none"):
        values_of(readings(files="none-*.bin"))


def test_records_of_a_source_have_a_file_and_a_byte(readings, tmp_path):
    write_readings(tmp_path / "a.bin", 1, 2)
    write_readings(tmp_path / "b.bin", 3, 4, 5, wrong=(1,))
    ds = readings(files=f"{tmp_path}/*.bin")
    keys = [key.rsplit("/")[-1] for key in ds.batch(3).first().record_keys]
    assert keys == ["a.bin:0", "a.bin:1", "b.bin:0"]
    with pytest.raises(
        lv.errors.DataLossError, match=r"sum of the bytes(.|\n)*b\.bin record 1 at byte 12"
    ):
        values_of(ds)
    it = ds.with_options(errors="skip").iterate(0)
    assert values_of(it) == [1, 2, 3, 5]
    (problem,) = it.stats()["problems"]
    assert problem["file"].endswith("b.bin")
    assert (problem["record"], problem["offset"]) == (1, 12)


def test_a_position_in_files_of_a_source_belongs_to_these_files(readings, tmp_path):
    write_readings(tmp_path / "a.bin", 1, 2)
    write_readings(tmp_path / "b.bin", 3)
    ds = readings(files=f"{tmp_path}/*.bin").shuffle(2).with_options(seed=1)
    it = ds.iterate(0)
    first = int(next(it)["value"])
    state = it.save()
    other = ds.iterate(0)
    other.restore(state)
    assert sorted([first, *values_of(other)]) == [1, 2, 3]
    (tmp_path / "b.bin").rename(tmp_path / "c.bin")
    with pytest.raises(lv.errors.FailedPreconditionError, match=r"c\.bin', but had another name"):
        ds.iterate(0).restore(state)
