# SPDX-License-Identifier: Apache-2.0
"""QueueRunnerDef: the bytes of TensorFlow's message, and names that become functions again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from levada import errors
from levada.train import FIFOQueue, QueueRunner, QueueRunnerDef, register_op

OUT, CANCELLED = errors.OutOfRangeError, errors.CancelledError

# What tensorflow 2.21 writes for a FIFOQueue, its enqueue and the defaults.
OF_TENSORFLOW = (
    b"\n\nfifo_queue\x12\x12fifo_queue_enqueue\x1a\x10fifo_queue_Close"
    b'"\x12fifo_queue_Close_1*\x01\x0b'
)
NAMES = ("fifo_queue", ["fifo_queue_enqueue"], "fifo_queue_Close", "fifo_queue_Close_1", [11])


def enqueue():
    pass


def close():
    pass


def cancel():
    pass


@pytest.fixture
def queue():
    return FIFOQueue(10, ["float32"], name="proto_queue")


def messages():
    codes = st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5)
    texts = st.text(max_size=20)
    return st.builds(QueueRunnerDef, texts, st.lists(texts, max_size=4), texts, texts, codes)


def test_a_message_of_tensorflow_is_read_and_written_byte_by_byte():
    message = QueueRunnerDef.FromString(OF_TENSORFLOW)
    assert message == QueueRunnerDef(*NAMES)
    assert message.SerializeToString() == OF_TENSORFLOW


def test_an_empty_message_is_no_bytes():
    assert QueueRunnerDef().SerializeToString() == b""
    assert QueueRunnerDef.FromString(b"") == QueueRunnerDef()


@given(messages())
def test_what_is_written_is_read_back(message):
    assert QueueRunnerDef.FromString(message.SerializeToString()) == message


@pytest.mark.parametrize(
    "data",
    [b"*\x02\x0b\x01", b"(\x0b(\x01", b"*\x01\x0b(\x01", b"(\x0b*\x01\x01", b"*\x00*\x02\x0b\x01"],
)
def test_codes_are_read_packed_and_one_by_one(data):
    assert QueueRunnerDef.FromString(data).queue_closed_exception_types == [11, 1]


def test_negative_codes_take_ten_bytes():
    data = QueueRunnerDef(queue_closed_exception_types=[-1]).SerializeToString()
    assert data == b"*\x0a" + b"\xff" * 9 + b"\x01"
    assert QueueRunnerDef.FromString(data).queue_closed_exception_types == [-1]


@pytest.mark.parametrize(
    "unknown",
    [
        b"\x30\x80\x01",  # field 6: a number, 8 bytes, 4 bytes, bytes
        b"\x31 8 bytes",
        b"\x35four",
        b"\x32\x03abc",
        b"\x33\x08\x01\x13\x14\x34",  # groups
        b"\xfa\xff\xff\xff\x0f\x00",  # the largest number of a field
        b"\x08\x07",  # fields 1, 2 and 5 of another type
        b"\x15four",
        b"\x2dfour",
    ],
)
def test_unknown_fields_are_skipped(unknown):
    """Also known ones of another wire type, and groups inside groups."""
    data = unknown + OF_TENSORFLOW + unknown
    assert QueueRunnerDef.FromString(data) == QueueRunnerDef(*NAMES)


def test_the_last_value_of_a_text_counts():
    assert QueueRunnerDef.FromString(b"\n\x01a\n\x01b").queue_name == "b"


@pytest.mark.parametrize(
    "data",
    [
        b"\n",  # lengths and numbers that go past the end
        b"\n\x05abc",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"*\x01\x80",
        b"(",
        b"\x35123",
        b"\xff" * 11,  # a number without an end
        b"\x00\x00",  # field 0
        b"\n\x01\xff",  # not UTF-8
        b"\x0e",  # wire types that there are not
        b"\x0f",
        b"\x0c",  # groups that end wrongly, not at all, or are too deep
        b"\x33\x08\x01",
        b"\x33\x3c",
        b"\x33" * 5000,
    ],
)
def test_damaged_bytes_are_data_loss(data):
    with pytest.raises(errors.DataLossError, match="QueueRunnerDef"):
        QueueRunnerDef.FromString(data)


@given(st.binary(max_size=64))
def test_no_bytes_do_anything_else(data):
    try:
        message = QueueRunnerDef.FromString(data)
    except errors.DataLossError:
        return
    assert QueueRunnerDef.FromString(message.SerializeToString()) == message


def test_every_cut_of_a_message_is_a_message_or_damage():
    for cut in range(len(OF_TENSORFLOW)):
        try:
            message = QueueRunnerDef.FromString(OF_TENSORFLOW[:cut])
        except errors.DataLossError:
            continue
        assert message.queue_name in ("", "fifo_queue")


def test_it_prints_what_is_set():
    message = QueueRunnerDef("q", queue_closed_exception_types=[11])
    assert repr(message) == "QueueRunnerDef(queue_name='q', queue_closed_exception_types=[11])"


# Runners


def test_a_runner_survives_the_round_trip(queue):
    for fn in (enqueue, close, cancel):
        assert register_op(f"test/{fn.__name__}", fn) is fn
    types = (OUT, CANCELLED)
    runner = QueueRunner(queue, [enqueue], close, cancel, queue_closed_exception_types=types)
    message = runner.to_proto()
    expected = (queue.name, ["test/enqueue"], "test/close", "test/cancel", [11, 1])
    assert message == QueueRunnerDef(*expected)
    again = QueueRunner.from_proto(QueueRunnerDef.FromString(message.SerializeToString()))
    assert again.name == queue.name
    assert again.queue is queue
    assert again.enqueue_ops == [enqueue]
    assert (again.close_op, again.cancel_op) == (close, cancel)
    assert again.queue_closed_exception_types == types
    assert again.to_proto() == message


def test_without_codes_the_end_of_the_input_closes(queue):
    register_op("test/enqueue", enqueue)
    message = QueueRunner(queue, [enqueue], queue_closed_exception_types=(CANCELLED,)).to_proto()
    del message.queue_closed_exception_types[:]
    assert QueueRunner.from_proto(message).queue_closed_exception_types == (OUT,)


def test_the_defaults_go_by_the_names_of_tensorflow(queue):
    register_op("test/enqueue", enqueue)
    message = QueueRunner(queue, [enqueue]).to_proto()
    assert message.close_op_name == f"{queue.name}_Close"
    assert message.cancel_op_name == f"{queue.name}_Close_1"
    again = QueueRunner.from_proto(message)
    again.close_op()
    assert queue.is_closed()
    again.cancel_op()


@pytest.mark.parametrize("form", ["{0}/{0}_Close{1}", "scope/{0}_Close{1}", ""])
def test_the_defaults_are_known_inside_scopes(queue, form):
    register_op("test/enqueue", enqueue)
    names = [form.format(queue.name, ending) for ending in ("", "_1")]
    again = QueueRunner.from_proto(QueueRunnerDef(queue.name, ["test/enqueue"], *names))
    again.close_op()
    assert queue.is_closed()


def test_functions_without_a_registered_name_go_by_their_own(queue):
    message = QueueRunner(queue, [enqueue, lambda: None], close_op=close).to_proto()
    assert message.enqueue_op_name[1] == "<lambda>"
    assert message.close_op_name.endswith("close")


def test_a_queue_is_found_by_its_shared_name():
    register_op("test/enqueue", enqueue)
    queue = FIFOQueue(10, ["float32"], shared_name="shared by tests")
    again = QueueRunner.from_proto(QueueRunnerDef("shared by tests", ["test/enqueue"]))
    assert again.queue is queue


def test_of_queues_of_one_name_the_newest_is_found():
    register_op("test/enqueue", enqueue)
    queues = [FIFOQueue(10, ["float32"], name="common name") for _ in range(5)]
    again = QueueRunner.from_proto(QueueRunnerDef(queues[-1].name, ["test/enqueue"]))
    assert again.queue is queues[-1]


def test_what_is_missing_is_named(queue):
    register_op("test/enqueue", enqueue)
    with pytest.raises(errors.NotFoundError, match="no such queue"):
        QueueRunner.from_proto(QueueRunnerDef("no such queue", ["test/enqueue"]))
    for message in (
        QueueRunnerDef(queue.name, ["no such op"]),
        QueueRunnerDef(queue.name, ["test/enqueue"], close_op_name="no such op"),
        QueueRunnerDef(queue.name, ["test/enqueue"], cancel_op_name="no such op"),
    ):
        with pytest.raises(errors.NotFoundError, match=r"'no such op'.*register_op"):
            QueueRunner.from_proto(message)


def test_codes_that_no_error_has_are_refused(queue):
    register_op("test/enqueue", enqueue)
    for code in (0, 16, -1):
        message = QueueRunnerDef(
            queue.name, ["test/enqueue"], queue_closed_exception_types=[11, code]
        )
        with pytest.raises(ValueError, match=f"code {code}"):
            QueueRunner.from_proto(message)


def test_every_class_has_its_code(queue):
    kinds = tuple(
        kind for kind in errors.LevadaError.__subclasses__() if not kind.__name__.startswith("_")
    )
    assert len(kinds) == 15
    register_op("test/enqueue", enqueue)
    message = QueueRunner(queue, [enqueue], queue_closed_exception_types=kinds).to_proto()
    assert message.queue_closed_exception_types == list(range(1, 16))
    assert QueueRunner.from_proto(message).queue_closed_exception_types == kinds
    with pytest.raises(ValueError, match="LevadaError"):
        QueueRunner(queue, [enqueue], queue_closed_exception_types=(errors.LevadaError,)).to_proto()


def test_a_message_excludes_the_other_arguments(queue):
    message = QueueRunnerDef(queue.name, ["test/enqueue"])
    for given_too in ({"queue": queue}, {"enqueue_ops": [enqueue]}, {"close_op": close}):
        with pytest.raises(ValueError, match="mutually exclusive"):
            QueueRunner(queue_runner_def=message, **given_too)


@pytest.mark.parametrize("given", [None, "queue", b"queue", 3])
def test_what_is_no_message_is_a_type_error(given):
    with pytest.raises(TypeError, match="must be a QueueRunnerDef"):
        QueueRunner.from_proto(given)


def test_the_latest_function_of_a_name_counts(queue):
    register_op("test/enqueue", close)
    register_op("test/enqueue", enqueue)
    again = QueueRunner.from_proto(QueueRunnerDef(queue.name, ["test/enqueue"]))
    assert again.enqueue_ops == [enqueue]


@pytest.mark.parametrize("given_name", ["", None, 3])
def test_a_name_is_a_text(given_name):
    with pytest.raises(TypeError, match="name"):
        register_op(given_name, enqueue)
    with pytest.raises(TypeError, match="function"):
        register_op("test/none", None)


def test_scopes_are_added_and_removed():
    queue = FIFOQueue(1, ["int64"], name="scope/q", shared_name="scope/q")
    ops = [lambda: 0, lambda: 1, lambda: 2]
    names = ["scope/in", "scope/close", "scope/cancel"]
    for name, op in zip(names, ops, strict=True):
        register_op(name, op)
    runner = QueueRunner(queue, ops[:1], ops[1], ops[2])
    for scope in ("scope", "scope/"):
        message = runner.to_proto(export_scope=scope)
        assert message == QueueRunnerDef("q", ["in"], "close", "cancel", [11])
    for made in (
        QueueRunner.from_proto(message, import_scope="scope"),
        QueueRunner(queue_runner_def=message, import_scope="scope"),
        QueueRunner.from_proto(runner.to_proto(), import_scope=None),
    ):
        assert (made.queue, made.enqueue_ops) == (queue, ops[:1])
        assert (made.close_op, made.cancel_op) == (ops[1], ops[2])
        assert made.to_proto(None) == runner.to_proto()
    assert runner.to_proto("other") is None
    with pytest.raises(errors.NotFoundError):
        QueueRunner.from_proto(message)
