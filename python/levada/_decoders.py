# SPDX-License-Identifier: Apache-2.0
"""Decoders as functions of byte strings: decode_csv, decode_raw, decode_json, decode_npy."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from levada import _levada
from levada._batch import Batch
from levada._dtypes import as_dtype, name_of
from levada._ragged import Bytes
from levada.errors import InvalidArgumentError, LevadaError

if TYPE_CHECKING:
    import numpy as np

_INT32 = range(-(1 << 31), 1 << 31)


@overload
def decode_csv(
    records: Any,
    record_defaults: Mapping[str, Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Iterable[int] | None = None,
    *,
    name: str | None = None,
    key: str | None = None,
) -> dict[str, np.ndarray[Any, Any]]: ...


@overload
def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Iterable[int] | None = None,
    *,
    name: str | None = None,
    key: str | None = None,
) -> list[np.ndarray[Any, Any]]: ...


def decode_csv(
    records: Any,
    record_defaults: Sequence[Any] | Mapping[str, Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Iterable[int] | None = None,
    *,
    name: str | None = None,
    key: str | None = None,
) -> list[np.ndarray[Any, Any]] | dict[str, np.ndarray[Any, Any]]:
    """Decodes lines of CSV, one array per column, as ``tf.io.decode_csv``.

    Args:
        records (bytes | list[bytes]): a byte string, or an array or nested lists of them: one line
            each.
        record_defaults (Sequence | Mapping): one entry per column: a default ([0], [""], an array
            of at most one element), or a dtype, an empty list (float32) or an empty array for a
            required field. Dtypes are float32, float64, int32, int64 and string, or their names. A
            map names the columns: {"id": lv.int64, "price": [0.0]}.
        field_delim (str, default ","): one character between fields.
        use_quote_delim (bool, default True): double quotes enclose fields.
        na_value (str, default ""): text of a missing field, besides the empty one.
        select_cols (Iterable[int]): numbers of the fields to decode, ascending from 0.
        name (str): ignored.
        key (str): for the attribute ``key`` of errors.

    Returns:
        One array per column, with the shape of ``records``; strings are ``bytes`` objects. A
        map of them if ``record_defaults`` is a map.

    Raises:
        ValueError, TypeError: an argument is wrong.
        InvalidArgumentError: a line does not fit.

    Example:
        print(lv.decode_csv([b"1,2.5", b"3,"], [0, 1.0]))
    """
    defaults = csv_defaults(record_defaults)
    named = isinstance(defaults, dict)
    options = {
        "record_defaults": defaults,
        "field_delim": field_delim,
        "use_quote_delim": bool(use_quote_delim),
        "na_value": na_value,
        "select_cols": None if select_cols is None else [int(i) for i in select_cols],
        "columns": None if named else [str(i) for i in range(len(record_defaults))],
    }
    if options["select_cols"] == []:
        raise ValueError(
            f"select_cols and record_defaults must have the same length, got 0 and "
            f"{len(record_defaults)}"
        )
    batch, shape = _decode("decode_csv", options, records, key)
    arrays = {column: _array(batch[column]).reshape(shape) for column in batch}
    return arrays if named else list(arrays.values())


def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: int | None = None,
    *,
    name: str | None = None,
    key: str | None = None,
) -> np.ndarray[Any, Any]:
    """Reinterprets byte strings as numbers, like ``tf.io.decode_raw``.

    Args:
        input_bytes (bytes | array): a byte string, or an array or nested lists of them.
        out_type (dtype): dtype of the numbers.
        little_endian (bool, default True): byte order of the numbers.
        fixed_length (int): bytes of each row; longer strings are truncated, and shorter strings
            padded with zeros. None: all strings must have the same length.
        name (str): ignored.
        key (str): for the attribute ``key`` of errors.

    Returns:
        Array with the shape of ``input_bytes``, plus a last dimension for the numbers of a string.

    Raises:
        InvalidArgumentError: ``fixed_length`` does not fit the dtype, the strings differ in
            length, or a length is not a multiple of the size of the dtype.

    Example:
        print(lv.decode_raw(b"\\x01\\x02", lv.uint8))
    """
    import numpy as np

    options = {"dtype": name_of(out_type), "little_endian": bool(little_endian)}
    if fixed_length is not None:
        options["fixed_length"] = int(fixed_length)
    else:
        _same_sizes(input_bytes)
    batch, shape = _decode("decode_raw", options, input_bytes, key)
    column = batch["value"]
    values = np.asarray(column.values if fixed_length is None else column)
    if fixed_length is not None:
        return values.reshape(*shape, values.shape[-1])
    return values.reshape(*shape, values.size // max(1, math.prod(shape)))


def decode_padded_raw(
    input_bytes: Any,
    fixed_length: int,
    out_type: Any,
    little_endian: bool = True,
    *,
    name: str | None = None,
    key: str | None = None,
) -> np.ndarray[Any, Any]:
    r"""Decodes the bytes of strings as numbers, with strings of one length.

    Args:
        input_bytes (bytes | array): a byte string, or an array or nested lists of byte strings.
        fixed_length (int): bytes of each row: longer strings are cut, shorter ones padded with
            zeros.
        out_type (dtype): dtype of the numbers.
        little_endian (bool, default True): byte order of the numbers.
        name (str): ignored.
        key (str): for the attribute ``key`` of errors.

    Returns:
        An array with the shape of ``input_bytes`` and one more dimension.

    Raises:
        InvalidArgumentError: ``fixed_length`` is not a multiple of the size of the dtype.

    Example:
        print(lv.decode_padded_raw([b"\x01\x02", b"\x03"], 4, lv.uint8))
    """
    return decode_raw(input_bytes, out_type, little_endian, fixed_length, key=key)


def decode_json(records: Any, fields: dict[str, Any], *, key: str | None = None) -> dict[str, Any]:
    """Decodes JSON objects to fields, as the source ``jsonl`` reads them.

    Args:
        records (bytes | list[bytes]): a byte string, or a list of them: one object each.
        fields (dict[str, Any]): name to dtype (int32, int64, float32, float64, bool, string);
            ``[dtype]`` and ``[[dtype]]`` are lists; ``{"dtype": ..., "default": ..., "path":
            "a.b"}`` has a default, and a path in nested objects.
        key (str): for the attribute ``key`` of errors.

    Returns:
        {name: value}. For one byte string, a value is a number, ``bytes`` or an array; for a list,
        it is a column of a ``Batch``.

    Raises:
        InvalidArgumentError: ``fields`` is wrong, or an object does not fit.
        UnimplementedError: levada was built without simdjson.

    Example:
        print(lv.decode_json(b'{"id": 7}', {"id": "int64"}))
    """
    from levada._batch import rows_of

    strings, shape = _flat(records)
    if len(shape) > 1:
        raise ValueError(f"records must be a byte string or a list of them, got the shape {shape}")
    batch = run_decoder("decode_json", {"fields": json_fields(fields)}, strings, key)
    return dict(batch) if shape else rows_of(batch._block)[0]


def decode_npy(contents: bytes, *, key: str | None = None) -> np.ndarray[Any, Any]:
    """Decodes an array of NumPy (.npy) without ``numpy.load``, so no pickle is loaded.

    Args:
        contents (bytes): the file as bytes.
        key (str): for the attribute ``key`` of errors.

    Returns:
        The array, in the order of C.

    Raises:
        InvalidArgumentError: the data is not an array of numbers.
        DataLossError: the data is damaged, or not as long as its header says.

    Example:
        import io
        import numpy as np
        file = io.BytesIO()
        np.save(file, np.arange(3))
        print(lv.decode_npy(file.getvalue()))
    """
    info = run_decoder("npy_info", {}, [contents], key)
    dtype, shape = info["dtype"].to_list()[0].decode(), info["shape"].values.tolist()
    options: dict[str, Any] = {"dtype": dtype}
    if 0 not in shape:
        options["shape"] = shape or [1]
        return _array(run_decoder("decode_npy", options, [contents], key)["array"]).reshape(shape)
    import numpy as np

    return np.zeros(shape, as_dtype(dtype).dtype)


def csv_defaults(entries: Sequence[Any] | Mapping[str, Any]) -> list[Any] | dict[str, Any]:
    """``record_defaults`` as the option of the stage: dtypes, and {dtype, default}."""
    if isinstance(entries, Mapping):
        return {name: _csv_default(entry) for name, entry in entries.items()}
    if isinstance(entries, (str, bytes)) or not hasattr(entries, "__iter__"):
        raise TypeError(
            f"record_defaults must be a map or a list with one entry per column, got {entries!r}"
        )
    return [_csv_default(entry) for entry in entries]


def json_fields(fields: Any) -> Any:
    """``fields`` of jsonl as its option: names of dtypes, also in lists and maps; or "auto"."""
    if isinstance(fields, str):
        return fields
    if not hasattr(fields, "items"):
        raise InvalidArgumentError(f"fields must be {{name: dtype, ...}} or 'auto', got {fields!r}")
    return {name: _json_type(entry) for name, entry in dict(fields).items()}


def _json_type(entry):
    if isinstance(entry, str):
        return entry
    if isinstance(entry, list):
        return [_json_type(item) for item in entry]
    if isinstance(entry, dict):
        return {k: _json_type(v) if k == "dtype" else v for k, v in entry.items()}
    if type(entry).__name__.endswith("Feature"):
        raise InvalidArgumentError(
            f"fields: {entry!r} is for tf.train.Example messages; write lv.int64 for a number, "
            "[lv.int64] for a list"
        )
    return name_of(entry)


_CSV_DTYPES = (
    *("float32", "float64", "int32", "int64", "string", "text"),
    *(f"datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")),
)
_LIKE_DTYPES = re.compile(
    r"u?int\d*|b?float\d*|bool|str|string|text|bytes|double|long|object|datetime64(\[\w*\])?",
    re.IGNORECASE,
)


def _csv_default(entry):
    if isinstance(entry, dict):
        return {k: _csv_dtype(v) if k == "dtype" else v for k, v in entry.items()}
    if isinstance(entry, str) and _LIKE_DTYPES.fullmatch(entry):
        if entry in _CSV_DTYPES:
            return entry
        raise InvalidArgumentError(
            f"record_defaults: {entry!r} must be one of {', '.join(_CSV_DTYPES)}; "
            f"write [{entry!r}] for a default text"
        )
    if getattr(entry, "kind", None) == "M":
        return _csv_dtype(entry)
    if isinstance(entry, type) or not hasattr(entry, "__len__"):
        try:
            return name_of(entry)
        except TypeError:
            pass  # a single value
    dtype, values = _default_values(entry)
    if len(values) > 1:
        raise ValueError(f"a field must have one default, got {values!r:.60}")
    if not values:
        return dtype
    value = values[0]
    if isinstance(value, str):
        return {"dtype": "text", "default": value}
    return {"dtype": dtype, "default": value}


def _csv_dtype(dtype):
    times = getattr(dtype, "kind", None) == "M"  # of NumPy: datetime64[ms]
    return str(dtype) if isinstance(dtype, str) or times else name_of(dtype)


def _default_values(entry):
    """(dtype, [value] or []) of a default as users write it."""
    if hasattr(entry, "dtype") and hasattr(entry, "tolist"):
        if getattr(entry, "ndim", 0) > 1:
            raise ValueError(f"a record default must be a value or a list, got {entry!r:.60}")
        values = entry.tolist()
        return name_of(entry.dtype), values if isinstance(values, list) else [values]
    values = list(entry) if isinstance(entry, (list, tuple)) else [entry]
    if any(isinstance(value, (list, tuple)) for value in values):
        raise ValueError(f"a record default must be a value or a list, got {entry!r:.60}")
    return _dtype_of(values), values


def _dtype_of(values):
    if not values or isinstance(values[0], float):
        return "float32"
    if isinstance(values[0], (str, bytes)):
        return "string"
    if hasattr(values[0], "dtype"):
        return name_of(values[0].dtype)
    return "int32" if int(values[0]) in _INT32 else "int64"


def _flat(value):
    """(list of byte strings, shape) of a byte string, an array or nested lists."""
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return [bytes(value)], ()
    if hasattr(value, "to_list"):
        value = value.to_list()
    if not isinstance(value, (list, tuple)):
        import numpy as np

        array = np.asarray(value, object)
        return [_flat(item)[0][0] for item in array.ravel().tolist()], array.shape
    parts = [_flat(item) for item in value]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise ValueError(f"lists of strings must have the same length, got {sorted(shapes)}")
    inner = shapes.pop() if shapes else ()
    return [string for strings, _ in parts for string in strings], (len(parts), *inner)


def _same_sizes(value):
    strings, _ = _flat(value)
    for i, string in enumerate(strings):
        if len(string) != len(strings[0]):
            from levada.errors import InvalidArgumentError

            raise InvalidArgumentError(
                "decode_raw requires strings of one size: element 0 has "
                f"{len(strings[0])} bytes, element {i} has {len(string)}"
            )


def _decode(decoder, options, value, key):
    strings, shape = _flat(value)
    return run_decoder(decoder, options, strings, key), shape


def run_decoder(
    decoder: str, options: dict[str, Any], strings: list[bytes], key: str | None
) -> Batch:
    """Columns of a list of ``bytes``; options that are None are skipped."""
    given = {name: option for name, option in options.items() if option is not None}
    try:
        return Batch(_levada.decode(_levada.decoder(decoder, given), strings))
    except LevadaError as error:
        raise type(error)(error.message, record=error.record, key=key) from None


def _array(column: Any) -> np.ndarray[Any, Any]:
    """A column as an array; strings as ``bytes`` or ``str`` objects."""
    import numpy as np

    if not hasattr(column, "to_list"):
        return np.asarray(column)
    values = np.empty(len(column), as_dtype("string").dtype)
    values[:] = column.items() if isinstance(column, Bytes) else column.to_list()
    return values
