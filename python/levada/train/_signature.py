# SPDX-License-Identifier: Apache-2.0
"""Components of queues and barriers: what they are, and values made to fit or refused.

The extension takes plain values (numbers, arrays of the right dtype) directly; everything else
comes here, is checked by the rules of TensorFlow (python/ops/data_flow_ops.py) and leaves as arrays
of the right dtype or as (shape, list of strings).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from levada import errors
from levada._dtypes import DType, as_dtype, bfloat16_dtype
from levada._exact import check_mixed, of_tensor, other_value
from levada._ragged import check_mask

if TYPE_CHECKING:
    import numpy as np

Shape = tuple[int | None, ...] | None


def shape_text(shape: tuple[int | None, ...]) -> str:
    """ "[2,?]", as TensorFlow writes shapes."""
    return "[" + ",".join("?" if dim is None else str(dim) for dim in shape) + "]"


def as_list(values: Any) -> list[Any]:
    """The argument dtypes: one dtype is a list of one."""
    return list(values) if isinstance(values, (list, tuple)) else [values]


def as_shape(shape: Any) -> Shape:
    """A tuple with None for unknown dimensions; None for an unknown rank."""
    if shape is None or isinstance(shape, str):
        if shape is None:
            return None
        raise TypeError(f"a shape must be a sequence of integers, got {shape!r}")
    dims = tuple(None if dim is None else int(dim) for dim in shape)
    if any(dim is not None and dim < 0 for dim in dims):
        raise ValueError(f"dimensions of shape {shape} must be at least 0, or None")
    return dims


def as_shapes(shapes: Any, dtypes: list[Any]) -> list[Shape] | None:
    """One shape for each dtype, or None. A flat list of integers is one shape."""
    if shapes is None:
        return None
    if not isinstance(shapes, (list, tuple)):
        raise TypeError(f"shapes must be a list of shapes, got {shapes!r}")
    if all(dim is None or hasattr(dim, "__index__") for dim in shapes):
        shapes = [shapes] if len(dtypes) == 1 or shapes else shapes
    if len(shapes) != len(dtypes):
        raise ValueError(
            "Queue shapes must have the same length as dtypes, received "
            f"len(shapes)={len(shapes)}, len(dtypes)={len(dtypes)}"
        )
    return [as_shape(shape) for shape in shapes]


def keeps_values(source: np.dtype, target: np.dtype) -> bool:
    """Whether every value of one NumPy dtype is one of the other."""
    import numpy as np

    if source.kind in "iu" and target.kind in "fc":
        parts = np.finfo(target)
        return source.itemsize * 8 - (source.kind == "i") <= parts.nmant + 1
    return np.can_cast(source, target, "safe")


def _dtype_of(dtype: Any) -> DType:
    """As ``as_dtype``; but "float" and ``float`` are float32, and text is string, as in
    TensorFlow."""
    name = dtype if isinstance(dtype, str) else None  # float64 of NumPy equals "float"
    made = as_dtype("float32" if dtype is float or name == "float" else dtype)
    return as_dtype("string") if made.name == "text" else made


class Signature:
    """The components of one object; ``owner`` names it in messages."""

    def __init__(
        self,
        owner: str,
        dtypes: list[Any],
        shapes: list[Shape] | None,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.owner = owner
        self.dtypes = [_dtype_of(dtype) for dtype in dtypes]
        self.shapes = [None] * len(dtypes) if shapes is None else shapes
        self.names = names

    def components(self) -> tuple[tuple, ...]:
        """What the extension asks for: (dtype, dims or None, dtype in memory, dtype as seen)."""
        import numpy as np

        made = []
        for dtype, shape in zip(self.dtypes, self.shapes, strict=True):
            dims = None if shape is None else tuple(-1 if dim is None else dim for dim in shape)
            raw = dtype.name == "bfloat16"  # NumPy has none
            memory = np.dtype(np.uint16) if raw else dtype.dtype
            made.append((dtype.name, dims, memory, bfloat16_dtype() if raw else memory))
        return tuple(made)

    def adopt(self, dims: list[tuple[int, ...] | None]) -> None:
        """The shapes of an object that was there before."""
        self.shapes = [
            None if shape is None else tuple(None if dim < 0 else dim for dim in shape)
            for shape in dims
        ]

    def one(self, vals: Any) -> tuple[Any, ...]:
        """The components of one element."""
        return tuple(self._fit(i, value, None) for i, value in enumerate(self._split(vals)))

    def many(self, vals: Any) -> tuple[Any, ...]:
        """Those of elements with one more dimension in front, the same in all of them."""
        rows = [-1]
        return tuple(self._fit(i, value, rows) for i, value in enumerate(self._split(vals)))

    def value(self, i: int, value: Any) -> Any:
        """One value of component i alone."""
        return self._fit(i, value, None)

    def values(self, i: int, value: Any) -> Any:
        """Rows of component i alone."""
        return self._fit(i, value, [-1])

    def _split(self, vals: Any) -> list[Any]:
        named = isinstance(vals, dict)
        if named and self.names is None:
            raise ValueError(f"Queue must have names to enqueue a dictionary: {self.owner}")
        if not named and self.names is not None:
            raise ValueError(f"You must enqueue a dictionary in a Queue with names: {self.owner}")
        if self.names is not None:
            if set(vals) != set(self.names):
                raise ValueError(
                    f"Keys in dictionary to enqueue do not match names of Queue {self.owner}. "
                    f"Dictionary: {sorted(map(str, vals))}, Queue: {sorted(self.names)}"
                )
            return [vals[name] for name in self.names]
        parts = as_list(vals)
        if len(parts) != len(self.dtypes):
            hint = ""
            if len(self.dtypes) == 1:
                hint = "; a list stands for the tuple of components: give an array, or [value]"
            raise ValueError(
                f"{self.owner} has {len(self.dtypes)} components, got {len(parts)} values{hint}"
            )
        return parts

    def _label(self, i: int) -> str:
        name = "" if self.names is None else f" '{self.names[i]}'"
        return f"component {i}{name} of {self.owner}"

    def _fit(self, i: int, value: Any, rows: list[int] | None) -> Any:
        if self.dtypes[i].name == "string":
            return self._strings(i, value, rows)
        array = self._numbers(i, value)
        self._check(i, array.shape, rows)
        return array

    def _check(self, i: int, got: tuple[int, ...], rows: list[int] | None) -> None:
        want = self.shapes[i]
        front: tuple[int | None, ...] = ()
        if rows is not None:
            if rows[0] < 0 and got:
                rows[0] = got[0]
            front = (rows[0] if rows[0] >= 0 else None,)
            if want is None and got and got[0] != rows[0]:
                raise errors.InvalidArgumentError(
                    "All input tensors must have the same size in the 0th dimension. "
                    f"Component {i} has {got[0]}, and should have {rows[0]}"
                )
        fits = want is None and len(got) >= len(front)
        if want is not None:
            all_dims = zip((*front, *want), got, strict=False)
            fits = len(got) == len(front) + len(want)
            fits = fits and all(dim is None or dim == size for dim, size in all_dims)
        if not fits:
            name = "" if self.names is None else f" '{self.names[i]}'"
            expected = shape_text((*front, *(want or ()))) if want is not None else "[?,...]"
            raise errors.InvalidArgumentError(
                f"Shape mismatch in tuple component {i}{name}. "
                f"Expected {expected}, got {shape_text(got)}"
            )

    def _numbers(self, i: int, value: Any) -> np.ndarray:
        import numpy as np

        target = self.dtypes[i].dtype
        check_mask(value)
        try:
            array = np.asarray(of_tensor(value))
        except ValueError as error:  # rows of different lengths
            raise ValueError(f"{self._label(i)}: {error}") from None
        if array.size == 0 and not hasattr(value, "dtype"):
            array = array.astype(target)
        made = self._cast(i, array, value)
        made = made if made.dtype is target else made.view(target)  # long long is int64 too
        return made.view(np.uint16) if self.dtypes[i].name == "bfloat16" else made

    def _cast(self, i: int, array: np.ndarray, value: Any) -> np.ndarray:
        """The array in the dtype of the component: numbers of Python may lose digits where they
        are floats, nothing else changes."""
        import numpy as np

        target, typed = self.dtypes[i].dtype, hasattr(value, "dtype")
        raw = self.dtypes[i].name == "bfloat16" and target.kind == "u"  # without ml_dtypes
        if not typed and array.dtype.kind in "fc":
            try:
                check_mixed(array, value, "")
            except ValueError as error:
                raise TypeError(f"{self._label(i)}: {error}") from None
        if array.dtype == target and (typed or not raw):
            return array.astype(target, order="C", copy=False)
        if raw or not self._may_cast(array, target, typed):
            raise TypeError(
                f"{self._label(i)} is {self.dtypes[i]}; {value!r:.60} ({array.dtype}) cannot be "
                "converted to it without loss"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            made = array.astype(target, order="C", copy=False)
        lost = other_value(array, made, not typed)
        if lost is not None:
            raise TypeError(f"{self._label(i)} is {self.dtypes[i]}; {lost} does not fit")
        return made

    def _may_cast(self, array: np.ndarray, target: np.dtype, typed: bool) -> bool:
        if keeps_values(array.dtype, target):
            return typed or (array.dtype.kind == "b") == (target.kind == "b")
        if typed:
            return False
        wider = {"i": "iufcV", "u": "iufcV", "f": "fcV", "c": "c"}
        return target.kind in wider.get(array.dtype.kind, "")

    def _strings(self, i: int, value: Any, rows: list[int] | None) -> Any:
        if isinstance(value, (str, bytes)):
            self._check(i, (), rows)
            return value
        import numpy as np

        check_mask(value)
        array = np.asarray(value) if hasattr(value, "dtype") else np.array(value, dtype=object)
        flat = array.astype(object).ravel().tolist()
        for item in flat:
            if not isinstance(item, (str, bytes)):
                raise TypeError(
                    f"{self._label(i)} must be str or bytes, got {type(item).__name__}: "
                    f"{item!r:.60}"
                )
        self._check(i, array.shape, rows)
        return array.shape, flat
