# SPDX-License-Identifier: Apache-2.0
"""Readers of levada.train: TensorFlow's reader_ops_test.py, and what it skips."""

import gzip
import threading
import zlib
from pathlib import Path
from queue import SimpleQueue

import levada as lv
import numpy as np
import pytest
from levada import errors
from levada import train as lt
from levada.train._structure import as_source
from waiting import until

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def names(*paths, closed=True):
    queue = lt.FIFOQueue(99, [lv.string], shapes=[()])
    if paths:
        queue.enqueue_many([[str(path) for path in paths]])
    if closed:
        queue.close()
    return queue


def rest(reader, queue):
    """All pairs until the queue is at its end."""
    pairs = []
    with pytest.raises(errors.OutOfRangeError, match="is closed and has insufficient elements"):
        while True:
            pairs.append(reader.read(queue))
    return pairs


def key(path, number):
    return f"{path}:{number}".encode()


# -- IdentityReader


def test_identity_gives_names_and_counts_them():
    reader, queue = lt.IdentityReader("test_reader"), names("A", "B", "C")
    assert (reader.num_work_units_completed(), reader.num_records_produced()) == (0, 0)
    assert reader.read(queue) == (b"A", b"A")
    assert (reader.num_work_units_completed(), reader.num_records_produced()) == (1, 1)
    assert rest(reader, queue) == [(b"B", b"B"), (b"C", b"C")]
    assert (reader.num_work_units_completed(), reader.num_records_produced()) == (3, 3)


def test_identity_goes_on_through_epochs():
    reader, queue = lt.IdentityReader(), names(closed=False)
    for _ in range(3):
        queue.enqueue_many([["DD", "EE"]])
    assert [reader.read(queue)[0] for _ in range(5)] == [b"DD", b"EE", b"DD", b"EE", b"DD"]
    keys, values = reader.read_up_to(queue, 8)
    assert list(keys) == list(values) == [b"EE"]


@pytest.mark.parametrize("n", [1, 2, 8])
@pytest.mark.parametrize("make", [lt.IdentityReader, lt.WholeFileReader])
def test_a_file_that_is_one_record_ends_with_it(tmp_path, make, n):
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_bytes(b"x")
    reader, queue, found = make(), names(*paths), []
    for i in range(3):
        keys, values = reader.read_up_to(queue, n)
        assert len(keys) == len(values) == 1
        found += keys
        assert (reader.num_records_produced(), reader.num_work_units_completed()) == (i + 1, i + 1)
    assert found == [str(path).encode() for path in paths]
    with pytest.raises(errors.OutOfRangeError):
        reader.read_up_to(queue, n)


def test_identity_state_goes_on_after_the_name_that_was_read():
    reader, queue = lt.IdentityReader("test_reader"), names("X", "Y", "Z")
    reader.read(queue)
    state = reader.serialize_state()
    assert reader.read(queue) == (b"Y", b"Y")
    reader.restore_state(state)
    assert (reader.num_work_units_completed(), reader.num_records_produced()) == (1, 1)
    assert reader.read(queue) == (b"Z", b"Z")
    assert reader.serialize_state() == b"\x08\x02\x10\x02\x18\x02\x22\x01Z"


@pytest.mark.parametrize(
    "junk",
    [
        lambda s: b"BOGUS" + s[5:], lambda s: s[1:], lambda s: s[:-1], lambda s: s + b"ExtraJunk",
        lambda s: b"PREFIX" + s, lambda s: b"", lambda s: b"\x08\x02\x10\x01" + s[4:],
    ],
)  # fmt: skip
def test_identity_refuses_junk_as_state(junk):
    reader, queue = lt.IdentityReader("test_reader"), names("X", "Y")
    reader.read(queue)
    state = reader.serialize_state()
    with pytest.raises(errors.InvalidArgumentError, match="Could not parse state for IdentityRead"):
        reader.restore_state(junk(state))
    with pytest.raises(ValueError):
        reader.restore_state([state])
    assert reader.num_records_produced() == 1


def test_reset_forgets_counts_but_not_the_queue():
    reader, queue = lt.IdentityReader(), names("X", "Y", "Z")
    reader.read(queue)
    reader.read(queue)
    reader.reset()
    assert (reader.num_work_units_completed(), reader.num_records_produced()) == (0, 0)
    assert reader.read(queue) == (b"Z", b"Z")
    assert reader.num_records_produced() == 1


def test_other_readers_have_no_state():
    for reader in (lt.WholeFileReader(), lt.TextLineReader(), lt.TFRecordReader()):
        with pytest.raises(errors.UnimplementedError):
            reader.serialize_state()
        with pytest.raises(errors.UnimplementedError):
            reader.restore_state(b"")


# -- WholeFileReader


def test_whole_files_are_values(tmp_path):
    paths = [tmp_path / f"{i}" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_bytes(b"x" * i)
    reader = lt.WholeFileReader()
    pairs = [(str(path).encode(), b"x" * i) for i, path in enumerate(paths)]
    assert rest(reader, names(*paths)) == pairs
    assert reader.num_work_units_completed() == 3


def test_whole_files_of_endless_epochs(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_text(path.name)
    queue = names(*paths, *paths, paths[0], closed=False)
    reader = lt.WholeFileReader()
    assert [reader.read(queue)[1] for _ in range(5)] == [b"a", b"b", b"a", b"b", b"a"]


# -- TextLineReader


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_lines_have_numbers_from_1(tmp_path, end):
    paths = [tmp_path / f"text.{i}.txt" for i in range(2)]
    for i, path in enumerate(paths):
        path.write_bytes(b"".join(b"%d: %d%b" % (i, j, end) for j in range(5)))
    expected = [(key(p, j + 1), b"%d: %d" % (i, j)) for i, p in enumerate(paths) for j in range(5)]
    reader = lt.TextLineReader()
    assert rest(reader, names(*paths)) == expected
    assert (reader.num_records_produced(), reader.num_work_units_completed()) == (10, 2)


def test_header_lines_are_passed_over_and_counted(tmp_path):
    path = tmp_path / "t"
    path.write_text("head\na\nb")
    short = tmp_path / "short"
    short.write_text("only a head\n")
    expected = [(key(path, 2), b"a"), (key(path, 3), b"b")]
    assert rest(lt.TextLineReader(skip_header_lines=1), names(short, path, short)) == expected


def test_lines_of_real_text_are_those_of_python():
    path = DATA / "text" / "tfio-lorem" / "lorem.txt"
    if not path.exists():
        pytest.skip(f"no data at {path}")
    lines = path.read_bytes().split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    pairs = rest(lt.TextLineReader(), names(path, f"{path}.gz"))
    assert [value for _, value in pairs] == 2 * [line.removesuffix(b"\r") for line in lines]
    assert pairs[0][0] == key(path, 1)


# -- FixedLengthRecordReader


def fixed(tmp_path, pieces, header=b"HHHHH", footer=b"FFF", pack=bytes):
    path = tmp_path / "fixed"
    path.write_bytes(pack(header + pieces + footer))
    return path


PACKED = {None: bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize(("hop", "step"), [(0, 3), (3, 3), (2, 2), (5, 5)])
def test_records_of_one_length(tmp_path, encoding, hop, step):
    body = bytes(range(32))
    path = fixed(tmp_path, body, pack=PACKED[encoding])
    reader = lt.FixedLengthRecordReader(3, 5, 3, hop, encoding=encoding)
    starts = [at for at in range(0, 32, step) if at + 3 <= 32]
    expected = [(key(path, i), body[at : at + 3]) for i, at in enumerate(starts)]
    assert rest(reader, names(path)) == expected
    keys, values = reader.read_up_to(names(path), 4)
    assert list(zip(keys, values, strict=True)) == expected[:4]


@pytest.mark.parametrize("hop", [0, 700, 3_000_000])
def test_records_do_not_depend_on_how_files_are_read(tmp_path, hop):
    body = np.random.default_rng(0).bytes(4_500_000)
    path = fixed(tmp_path, body)
    step = hop or 1000
    starts = range(0, len(body) - 999, step)
    pairs = rest(lt.FixedLengthRecordReader(1000, 5, 3, hop), names(path))
    assert [value for _, value in pairs] == [body[at : at + 1000] for at in starts]
    assert [k for k, _ in pairs] == [key(path, i) for i in range(len(starts))]


def test_a_file_shorter_than_its_header_has_no_records(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    assert rest(lt.FixedLengthRecordReader(1, 5), names(path)) == []
    assert rest(lt.FixedLengthRecordReader(2, 0, 2), names(path)) == []


@pytest.mark.parametrize("encoding", ["GZIP", "ZLIB"])
def test_compressed_data_cut_off_is_data_loss(tmp_path, encoding):
    path = fixed(tmp_path, bytes(5000), pack=lambda data: PACKED[encoding](data)[:-6])
    reader, queue = lt.FixedLengthRecordReader(10, encoding=encoding), names(path, path)
    for _ in range(2):
        with pytest.raises(errors.DataLossError) as info:
            while True:
                reader.read(queue)
    assert info.value.file == str(path)
    reader.reset()
    assert queue.size() == 1


def test_wrong_sizes_are_refused():
    for options in ({"record_bytes": 0}, {"record_bytes": 1, "header_bytes": -1},
                    {"record_bytes": 1, "hop_bytes": -2},
                    {"record_bytes": 2**31},
                    {"record_bytes": 1, "encoding": "LZ"}):  # fmt: skip
        with pytest.raises(ValueError):
            lt.FixedLengthRecordReader(**options)
    with pytest.raises(ValueError, match="skip_header_lines=-1 must be at least 0"):
        lt.TextLineReader(-1)
    for reader in (lt.FixedLengthRecordReader, lt.TextLineReader):
        with pytest.raises(TypeError):
            reader(1.5)
    queue = names("a")
    for wrong in (1.5, None, "3"):
        with pytest.raises(TypeError):
            lt.TextLineReader().read_up_to(queue, wrong)
    assert queue.size() == 1


def test_records_that_overlap_much_stay_small_in_memory(tmp_path):
    """A chunk of a megabyte holds a million records that begin at each byte: gigabytes at once."""
    data = np.random.default_rng(1).bytes(3 << 19)
    reader = lt.FixedLengthRecordReader(4096, hop_bytes=1)
    queue = names(fixed(tmp_path, data, b"", b""))
    at = 0
    while at <= len(data) - 4096:
        keys, values = reader.read_up_to(queue, 300)
        assert values.data.nbytes <= 8 << 20
        assert values[0] == data[at : at + 4096] and keys[0].endswith(b":%d" % at)
        at += len(values)
    assert at == len(data) - 4095


def test_images_of_mnist():
    folder = DATA / "fixed" / "mnist-t10k"
    if not folder.exists():
        pytest.skip(f"no data at {folder}")
    path = folder / "t10k-images-idx3-ubyte.gz"
    reader = lt.FixedLengthRecordReader(28 * 28, header_bytes=16, encoding="GZIP")
    pairs = rest(reader, names(path))
    assert len(pairs) == 10_000 and pairs[-1][0] == key(path, 9_999)
    whole = gzip.decompress(path.read_bytes())[16:]
    assert b"".join(value for _, value in pairs) == whole
    labels = rest(lt.FixedLengthRecordReader(1, 8), names(folder / "t10k-labels-idx1-ubyte"))
    assert [label[0] for _, label in labels[:5]] == [7, 2, 1, 0, 4]


# -- TFRecordReader


def records(path, values, compression=None):
    with lv.TFRecordWriter(str(path), compression=compression) as writer:
        for value in values:
            writer.write(value)
    return path


@pytest.mark.parametrize("compression", [None, "gzip", "zlib"])
def test_tfrecords_have_their_offsets_as_keys(tmp_path, compression):
    values = [[b"Record %d of file %d" % (j, i) for j in range(7)] for i in range(2)]
    paths = [records(tmp_path / f"{i}", rows, compression) for i, rows in enumerate(values)]
    offsets = [j * (16 + len(values[0][0])) for j in range(7)]
    expected = [
        (key(path, at), value)
        for path, rows in zip(paths, values, strict=True)
        for at, value in zip(offsets, rows, strict=True)
    ]
    assert rest(lt.TFRecordReader(), names(*paths)) == expected


@pytest.mark.parametrize("n", [1, 3, 7, 300, 1000])
def test_read_up_to_gives_all_records_and_stops_at_the_end_of_a_file(tmp_path, n):
    values = [b"r%d" % j * (j % 5) for j in range(700)]
    paths = [records(tmp_path / f"{i}", values) for i in range(2)]
    queue, reader, found, sizes = names(*paths), lt.TFRecordReader(), [], []
    with pytest.raises(errors.OutOfRangeError):
        while True:
            keys, got = reader.read_up_to(queue, n)
            assert len(keys) == len(got)
            found += list(zip(keys, got, strict=True))
            sizes.append(len(got))
    assert found == rest(lt.TFRecordReader(), names(*paths))
    per_file = [n] * (700 // n) + [700 % n] * (700 % n > 0)
    assert sizes == 2 * per_file
    assert (reader.num_records_produced(), reader.num_work_units_completed()) == (1400, 2)


def test_one_and_many_may_be_asked_by_turns(tmp_path):
    values = [b"%d" % j for j in range(600)]
    path = records(tmp_path / "100%d.tfrecord", values)
    at = np.cumsum([0, *(len(value) + 16 for value in values)])
    queue, reader, found = names(path), lt.TFRecordReader(), []
    while len(found) < 600:
        found.append(reader.read(queue))
        if len(found) % 2 and len(found) < 600:
            found += zip(*reader.read_up_to(queue, 97), strict=True)
        assert reader.num_records_produced() == len(found)
    assert found == [(key(path, i), value) for i, value in zip(at[:-1], values, strict=True)]


def test_empty_files_are_passed_over(tmp_path):
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    full = records(tmp_path / "full", [b"x"])
    reader = lt.TFRecordReader()
    assert rest(reader, names(empty, full, empty, empty)) == [(key(full, 0), b"x")]
    assert reader.num_work_units_completed() == 4


@pytest.mark.parametrize("bad", [0, 5, 600])
@pytest.mark.parametrize("n", [1, 8, 300, 700])
def test_records_in_front_of_damage_come_first_and_the_error_again(tmp_path, bad, n):
    values = [b"%03d" % i for i in range(1000)]
    path = records(tmp_path / "r", values)
    data = bytearray(path.read_bytes())
    data[bad * 19 + 13] ^= 1
    path.write_bytes(data)
    good = records(tmp_path / "good", [b"fine"])
    reader, queue, found = lt.TFRecordReader(), names(path, good), []
    while len(found) < bad:
        keys, got = reader.read_up_to(queue, n)
        assert list(keys) == [key(path, 19 * i) for i in range(len(found), len(found) + len(got))]
        found += got.to_list()
    assert found == values[:bad]
    for _ in range(2):
        with pytest.raises(errors.DataLossError) as info:
            reader.read(queue)
    assert info.value.offset == bad * 19
    reader.reset()
    assert reader.read(queue) == (key(good, 0), b"fine")


def test_names_that_look_like_patterns_are_names(tmp_path):
    odd = records(tmp_path / "a[1]*.tfrecord", [b"odd"])
    records(tmp_path / "a1x.tfrecord", [b"other"])
    assert rest(lt.TFRecordReader(), names(odd)) == [(key(odd, 0), b"odd")]


def test_real_files_have_the_records_of_the_source():
    path = DATA / "tfrecord" / "lingvo" / "en_fr.tfrecord"
    if not path.exists():
        pytest.skip(f"no data at {path}")
    pairs = rest(lt.TFRecordReader(), names(path))
    assert [value for _, value in pairs] == [r["record"] for r in lv.tfrecord(str(path))]
    at = 0
    for name, value in pairs:
        assert name == key(path, at)
        at += 16 + len(value)


# -- all readers


def test_readers_that_wait_do_not_block_others():
    readers = [lt.IdentityReader() for _ in range(3)]
    queues = [names(closed=False) for _ in range(3)]
    found = {}

    def read(i):
        found[i] = readers[i].read(queues[i])

    threads = [threading.Thread(target=read, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for i in (2, 1, 0):
        queues[i].enqueue(str(i))
        threads[i].join(10)
        assert found[i] == (b"%d" % i, b"%d" % i)


def test_a_reader_of_several_threads_loses_nothing(tmp_path):
    path = records(tmp_path / "r", [b"%d" % i for i in range(3000)])
    queue, reader, found = names(path), lt.TFRecordReader(), []

    def read():
        try:
            while True:
                found.append(reader.read(queue)[1])
        except errors.OutOfRangeError:
            pass

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(map(int, found)) == list(range(3000))


def turns_at(name):
    return [row for row in lt.waiters() if (row["object"], row["waits_for"]) == (name, "its turn")]


def test_threads_that_wait_for_their_turn_are_listed():
    names = lt.FIFOQueue(3, [lv.string], shapes=[()])
    reader = lt.IdentityReader(name="one for all")
    calls = [(reader.read, names), (reader.read, names), (reader.read_up_to, names, 1)]
    threads = [threading.Thread(target=call, args=args, name=f"turn {i}", daemon=True)
               for i, (call, *args) in enumerate(calls)]  # fmt: skip
    for thread in threads:
        thread.start()
    until(lambda: len(turns_at("one for all")) == 2)  # the third is inside, and waits for a name
    found = turns_at("one for all")
    assert {row["thread"] for row in found} < {"turn 0", "turn 1", "turn 2"}
    assert all(0 <= row["seconds"] < 20 for row in found)
    resetting = threading.Thread(target=reader.reset, daemon=True)
    resetting.start()
    until(lambda: len(turns_at("one for all")) == 3)
    names.enqueue_many([["a", "b", "c"]])
    for thread in (*threads, resetting):
        thread.join(20)
    assert turns_at("one for all") == []


def test_threads_that_share_an_iterable_are_listed_in_front_of_it():
    def numbers():
        yield from iter(gate.get, None)

    gate = SimpleQueue()
    source = as_source(numbers(), "test")
    threads = [threading.Thread(target=source, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: len(turns_at("generator")) == 2)
    for i in range(3):
        gate.put(i)
    for thread in threads:
        thread.join(20)
    assert turns_at("generator") == []


def test_readers_say_what_they_need():
    with pytest.raises(TypeError, match="must come from a queue"):
        lt.IdentityReader().read(["a"])
    with pytest.raises(errors.InvalidArgumentError, match="num_records=0"):
        lt.IdentityReader().read_up_to(names("a"), 0)
    numbers = lt.FIFOQueue(2, [lv.int64], shapes=[()])
    numbers.enqueue(7)
    with pytest.raises(errors.InvalidArgumentError, match="queue of file names must hold"):
        lt.IdentityReader().read(numbers)


def test_many_keys_are_an_array_of_bytes(tmp_path):
    path = records(tmp_path / "r", [b"aa", b"b"])
    keys, values = lt.TFRecordReader().read_up_to(names(path), 5)
    assert np.asarray(keys).tolist() == [key(path, 0), key(path, 18)]
    assert np.asarray(values).tolist() == [b"aa", b"b"]
    assert keys[-1] == key(path, 18) and list(keys[1:]) == [key(path, 18)]


def test_a_reader_is_a_dataset_of_what_its_queue_names(tmp_path):
    paths = [records(tmp_path / f"{i}[x]", [b"%d" % (10 * i + j) for j in range(3)])
             for i in range(3)]  # fmt: skip
    found = [r["record"] for r in lt.TFRecordReader().dataset(names(*paths))]
    assert found == [b"%d" % (10 * i + j) for i in range(3) for j in range(3)]
    text = tmp_path / "t"
    text.write_text("a\nb\n")
    lines = lt.TextLineReader(1).dataset(names(text))
    assert [r["line"] for r in lines] == ["b"]
