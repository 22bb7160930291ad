# SPDX-License-Identifier: Apache-2.0
"""QueueRunnerDef: a queue runner as bytes, those of TensorFlow's queue_runner.proto.

Written by hand, as the message has five fields. Unknown fields are skipped, the codes are read
packed and one by one, and written packed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from levada.errors import DataLossError

_VARINT, _FIXED64, _BYTES, _GROUP, _END_GROUP, _FIXED32 = range(6)
_DEEPEST = 64  # groups inside groups of unknown fields
_TEXTS = {1: "queue_name", 2: "enqueue_op_name", 3: "close_op_name", 4: "cancel_op_name"}
_CODES = 5


class QueueRunnerDef:
    """Holds the names of a queue and its functions, and the codes of the errors that mean its end.

    Args:
        queue_name (str, default ""): name of the queue.
        enqueue_op_name (Iterable[str], default ()): names of the functions.
        close_op_name (str, default ""): name of the function that closes the queue.
        cancel_op_name (str, default ""): name of the function that cancels at a stop.
        queue_closed_exception_types (Iterable[int], default ()): positive codes of errors:
            OutOfRangeError has 11, which is ``-levada.errors.OutOfRangeError.code``.

    Example:
        print(lt.QueueRunnerDef("numbers", ["fill"]).SerializeToString())
    """

    def __init__(
        self,
        queue_name: str = "",
        enqueue_op_name: Iterable[str] = (),
        close_op_name: str = "",
        cancel_op_name: str = "",
        queue_closed_exception_types: Iterable[int] = (),
    ) -> None:
        self.queue_name = queue_name
        self.enqueue_op_name = list(enqueue_op_name)
        self.close_op_name = close_op_name
        self.cancel_op_name = cancel_op_name
        self.queue_closed_exception_types = list(queue_closed_exception_types)

    def SerializeToString(self) -> bytes:
        """Returns the message in protobuf's wire format.

        Example:
            print(lt.QueueRunnerDef("numbers").SerializeToString())
        """
        out = bytearray()
        for number, name in _TEXTS.items():
            value = getattr(self, name)
            for text in [value] if isinstance(value, str) else value:
                if text or number == 2:
                    _put_bytes(out, number, text.encode())
        if self.queue_closed_exception_types:
            packed = bytearray()
            for code in self.queue_closed_exception_types:
                _put_varint(packed, int(code))
            _put_bytes(out, _CODES, packed)
        return bytes(out)

    @classmethod
    def FromString(cls, data: bytes) -> QueueRunnerDef:
        r"""Parses a message in protobuf's wire format.

        Args:
            data (bytes): the message.

        Returns:
            The parsed message.

        Raises:
            DataLossError: the bytes are not such a message.

        Example:
            print(lt.QueueRunnerDef.FromString(b"\n\x01q").queue_name)
        """
        self = cls()
        for number, kind, value in _fields(_Cursor(bytes(data))):
            self._take(number, kind, value)
        return self

    def _take(self, number: int, kind: int, value: int | bytes) -> None:
        if number in _TEXTS and isinstance(value, bytes) and kind == _BYTES:
            try:
                text = value.decode()
            except UnicodeDecodeError:
                raise DataLossError(f"QueueRunnerDef: {_TEXTS[number]} is not UTF-8") from None
            if number == 2:
                self.enqueue_op_name.append(text)
            else:
                setattr(self, _TEXTS[number], text)
        elif number == _CODES and kind == _VARINT and isinstance(value, int):
            self.queue_closed_exception_types.append(_int32(value))
        elif number == _CODES and kind == _BYTES and isinstance(value, bytes):
            packed = _Cursor(value)
            while packed.at < len(value):
                self.queue_closed_exception_types.append(_int32(packed.varint()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QueueRunnerDef) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value)
        return f"QueueRunnerDef({given})"


class _Cursor:
    """Bytes and a position in them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise DataLossError(
                f"QueueRunnerDef: {size} bytes at {self.at} go past the end at {len(self.data)}"
            )
        self.at += size
        return self.data[self.at - size : self.at]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                return value & (1 << 64) - 1
        raise DataLossError(f"QueueRunnerDef: the number before byte {self.at} has no end")

    def tag(self) -> tuple[int, int]:
        value = self.varint()
        if not 0 < value >> 3 < 1 << 29:
            raise DataLossError(f"QueueRunnerDef: no field has the tag {value}, byte {self.at}")
        return value >> 3, value & 7


def _fields(cursor: _Cursor) -> Iterator[tuple[int, int, int | bytes]]:
    while cursor.at < len(cursor.data):
        number, kind = cursor.tag()
        yield number, kind, _value(cursor, number, kind, 0)


def _value(cursor: _Cursor, number: int, kind: int, depth: int) -> int | bytes:
    if kind == _VARINT:
        return cursor.varint()
    if kind == _BYTES:
        return cursor.take(cursor.varint())
    if kind in (_FIXED64, _FIXED32):
        return cursor.take(8 if kind == _FIXED64 else 4)
    if kind == _GROUP and depth < _DEEPEST:
        inner = cursor.tag()
        while inner != (number, _END_GROUP):
            _value(cursor, *inner, depth + 1)
            inner = cursor.tag()
        return b""
    raise DataLossError(f"QueueRunnerDef: field {number} has wire type {kind}, byte {cursor.at}")


def _int32(value: int) -> int:
    value &= (1 << 32) - 1
    return value - (1 << 32) if value >> 31 else value


def _put_varint(out: bytearray, value: int) -> None:
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _put_bytes(out: bytearray, number: int, data: bytes | bytearray) -> None:
    _put_varint(out, number << 3 | _BYTES)
    _put_varint(out, len(data))
    out += data
