# SPDX-License-Identifier: Apache-2.0
"""Python functions inside pipelines: the threads that run them, and what they run.

The threads are made by Python and wait in the extension with the interpreter released. One more
than is busy always waits, so that a function may itself iterate a dataset that calls functions.
"""

import contextlib
import math
import operator
import os
import sys
import threading
import time
import weakref
from collections.abc import Sequence

from levada import _levada, errors
from levada._batch import Batch, column_of, rows_of
from levada._columns import Columns, Kind, pack_column
from levada._exact import own
from levada._identity import text_of
from levada._objects import check_member, member
from levada._values import integer

BLOCK = 256  # records in a block of a Python source
FIRST = 8  # records of the first block, which fix the columns; of a list or tuple BLOCK
PATIENCE = 0.05  # seconds after which a slow source returns what it has
_MOST_IDLE = 4
_MOST_WAIT = 2.0
_lock = threading.Lock()
_started = False
_threads: "weakref.WeakSet[threading.Thread]" = weakref.WeakSet()
_targets: "weakref.WeakSet[_Target]" = weakref.WeakSet()  # those of the handles
HANDLE = _levada.Function


def ensure():
    """Makes the first thread; to be called where a function may soon be needed."""
    global _started
    with _lock:
        if not _started:
            _started = True
            _start()


def _start():
    thread = threading.Thread(target=_serve, name="levada function", daemon=True)
    thread.start()
    _threads.add(thread)


def end():
    """Ends the threads, before Python ends: it unwinds each thread that asks for the interpreter
    afterwards, which aborts the process where C++ code of a library called it. Waits at most
    ``_MOST_WAIT`` seconds for functions that still run."""
    global _started
    deadline = time.monotonic() + _MOST_WAIT
    _levada.end(True)
    while (threads := list(_threads)) and (left := deadline - time.monotonic()) > 0:
        threads[0].join(left)
        _threads.discard(threads[0])
    with _lock:  # functions at exit that run later may need threads again
        _started = False
    _levada.end(False)


def _forked():
    global _started, _lock
    _lock = threading.Lock()
    _started = False
    _threads.clear()
    _levada.after_fork()


os.register_at_fork(after_in_child=_forked)


def _serve():
    while _serve_one():
        pass


def _serve_one():
    """One task; its objects are gone when this returns."""
    given = _levada.take(_MOST_IDLE)
    if given is None:
        return False
    task, target, op, run, data, alone, draw, keys = given
    if alone:
        _start()
    try:
        if op == "call":
            target.tasks[run] = task
        if getattr(target, "rng", False):
            target.draws[run] = draw
        if keys is not None:
            target.keys[run] = keys
        result = getattr(target, op)(run, data)
    except BaseException as error:
        _levada.fail(task, *errors.keep(error), getattr(error, "levada_row", -1))
    else:
        _levada.answer(task, result)
    return True


def handle(target, fn, **options):
    """The extension's handle of a target, named in descriptions as the target is, or by `fn`."""
    ensure()
    if "workers" in options:
        options["workers"] = integer("workers", options["workers"], 1, 256)
    target.handled = fn, options
    if target.text is None:
        target.text = text_of(fn, target.arguments())
    _targets.add(target)
    return _levada.Function(target, name=target.text, **options)


def handle_again(target):
    """A handle for the target of another one."""
    fn, options = target.handled
    return handle(target, fn, **options)


def named(text):
    """The handle of the function that a description names, or a str that says why there is none.
    It is one of a dataset of this process, or a registered source or decoder."""
    plugins = sys.modules.get("levada._plugins")  # loaded if something is registered
    live = [target for target in list(_targets) if target.text == text]
    if text.endswith("#?") and any(t.handled[0] != live[0].handled[0] for t in live):
        return f"{text!r} is the text of several functions; use the dataset itself, or a copy"
    if live:
        return handle_again(live[0])
    try:
        made = plugins.made_again(text) if plugins is not None else None
    except Exception as error:
        return f"{text}: {type(error).__name__}: {error}"
    return made or (
        f"the function {text!r} belongs to no dataset of this process and is not registered; make "
        "the dataset with it, or use register_source() or register_decoder()"
    )


class _Target:
    """What levada calls: call(run, block) -> block, save, restore, close. `run` is a number.

    A pickle holds the function, the spec and the options of its handle, no run.
    """

    text = None  # how a description names it; `handle` sets it if nobody else did

    def __init__(self, spec=None):
        self.spec = spec
        self._begin()

    def arguments(self):
        """What its results depend on besides the function and the options of the stage."""
        return {}

    def _begin(self):
        self.columns = Columns(self.spec)
        self.older = []  # (run, columns) of runs up to that number, before a restore brought others
        self.states = {}
        self.draws = {}  # (seed, epoch) of each run, for those who draw random numbers
        self.tasks = {}  # the call of each run that is not finished
        self.keys = {}  # keys of the records of that call, for those who ask for them

    def __getstate__(self):
        running = ("columns", "older", "states", "draws", "tasks", "keys", "last_pass", "last_read")
        return {name: value for name, value in self.__dict__.items() if name not in running}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._begin()

    def go_on(self, run):
        """Raises CancelledError where nobody waits for the block any more: between two records."""
        if not _levada.wanted(self.tasks[run]):
            raise errors.CancelledError("the iterator was cancelled")

    def begin_with(self, columns):
        """Columns of the runs that begin from now on: other iterators keep theirs."""
        if columns is not self.columns:
            self.older.append((_levada.runs(), self.columns))
            self.columns = columns

    def columns_of(self, run):
        return next((columns for last, columns in self.older if run <= last), self.columns)

    def close(self, run, _):
        self.states.pop(run, None)
        self.draws.pop(run, None)
        self.tasks.pop(run, None)
        self.keys.pop(run, None)


def wrong_result(fn, value, wanted):
    """Text of an error; a forgotten return is the most frequent mistake."""
    from levada._show import function_text

    if value is None:
        return f"the function {function_text(fn)} returned None; it must return {wanted}"
    kind = type(value).__name__
    return f"the function {function_text(fn)} must return {wanted}, not {kind}"


class Map(_Target):
    """fn(record) -> dict for each record of a block."""

    def __init__(self, fn, spec=None, rng=False):
        super().__init__(spec)
        self.fn, self.rng = fn, rng

    def arguments(self):
        return {"rng": True} if self.rng else {}

    def call(self, run, block):
        return self.finish(run, block, *self.rows(run, block))

    def finish(self, run, block, rows, rejects):
        """The block of what the function returned; fields that it did not receive stay."""
        columns, flags = self.columns_of(run), block.flags & 2
        if not stays(self.fn):
            return columns.block(rows, rejects, flags, block)
        names = dict.fromkeys([n for row in rows if row for n in row] + columns.declared())
        if len(rejects) == len(rows):
            names = dict.fromkeys(columns.fields())
        if not names:
            made = _levada.build(len(rows), [], rejects, flags)
            return _levada.join(block, made, rejects, range(len(block.names)))
        rows = _completed(block, rows, names)
        made = columns.block(rows, rejects, flags, block, names)
        return _beside(block, made, rejects, names, columns)

    def finish_batch(self, run, block, made):
        """The block of the columns that the function returned; others stay."""
        columns, flags = self.columns_of(run), block.flags & 2
        if not stays(self.fn):
            return columns.batch(made, flags, block)
        for name in columns.declared():
            if name not in made and name in block.names:
                made[name] = column_of(block, block.find(name))
        new = columns.batch(made, flags, block, made)
        _check_levels(block, new, made, columns.like)
        return _beside(block, new, [], made, columns)

    def made(self, row):
        """The result of the function, as a record."""
        if hasattr(row, "keys"):
            return row
        raise TypeError(wrong_result(self.fn, row, "a dict"))

    def more(self, run, block):
        """Iterator of what the function gets besides each record, or None."""
        return generators(block.origins(), self.draws[run]) if self.rng else None

    def rows(self, run, block):
        rows, rejects = [], []
        more = self.more(run, block)
        for i, record in enumerate(rows_of(block, getattr(self.fn, "fields", None))):
            self.go_on(run)
            row = None
            try:
                row = self.fn(record, next(more)) if more else self.fn(record)
                row = own(self.made(row))
            except Exception as error:
                rejects.append((i, *errors.keep(error, first=not rejects)))
            rows.append(row)
        return rows, rejects


class Decode(Map):
    """fn(record, key) -> dict for each record; its handle is made with ``keyed=True``."""

    def more(self, run, block):
        return map(os.fsdecode, self.keys[run].split(b"\0"))


class Keep(Map):
    """fn(record) -> bool, as a column `keep`."""

    def __init__(self, fn):
        super().__init__(fn, spec={"keep": "bool"})

    def made(self, row):
        if row is None:
            raise TypeError(wrong_result(self.fn, row, "True or False"))
        return {"keep": bool(row)}


class Length(Map):
    """fn(record) -> int, as one more column."""

    dtype = "int64"

    def __init__(self, fn, name):
        super().__init__(fn, spec={name: self.dtype})
        self.name = name

    def arguments(self):
        return {"field": self.name}

    def made(self, row):
        try:
            return {self.name: operator.index(row)}
        except TypeError:
            raise TypeError(wrong_result(self.fn, row, "an integer")) from None

    def call(self, run, block):
        rows, rejects = self.rows(run, block)
        return _levada.join(block, self.columns.block(rows, rejects), rejects)


class Key(Length):
    """fn(record) -> the key of its window, encoded, as one more column."""

    dtype = "string"

    def made(self, row):
        try:
            return {self.name: encode_key(row)}
        except TypeError:
            raise TypeError(wrong_result(self.fn, row, "an integer, bytes or a str")) from None
        except OverflowError:
            raise OverflowError(
                f"the key {row} of a window must be an integer of 64 bits, bytes or a str"
            ) from None


class BatchMap(Map):
    """fn(Batch) -> dict of columns for a whole block."""

    def arguments(self):
        return {"batched": True, **super().arguments()}

    def call(self, run, block):
        generator = (next(generators(block.origins(), self.draws[run])),) if self.rng else ()
        columns = self.fn(Batch(block), *generator)
        if not hasattr(columns, "keys"):
            raise TypeError(wrong_result(self.fn, columns, "a dict of columns"))
        return self.finish_batch(run, block, dict(columns))


class FlatMap(Map):
    """fn(record) -> any number of dicts; the first column says which row each was made of."""

    def call(self, run, block):
        import numpy as np

        rows, of, rejects = [], [], []
        more = self.more(run, block)
        for i, record in enumerate(rows_of(block)):
            self.go_on(run)
            try:
                given = self.fn(record, next(more)) if more else self.fn(record)
                made = [own(self.made(row)) for row in self.several(given)]
            except Exception as error:
                rejects.append((len(rows), *errors.keep(error, first=not rejects)))
                made = [None]
            rows += made
            of += [i] * len(made)
        kind = Kind("int64", 0, (), declared=True)
        first = _levada.build(len(of), [("", *pack_column(kind, np.array(of, np.int64)))], [], 0)
        made = self.columns_of(run).block(rows, rejects, given=block)
        return _levada.join(first, made, rejects)

    def several(self, given):
        """The records that the function returned."""
        if hasattr(given, "keys") or not hasattr(given, "__iter__"):
            raise TypeError(wrong_result(self.fn, given, "a list of dicts, or yield dicts"))
        return given


def in_processes(fn, spec, batched, workers, pure, rng):
    """The handle of a function of ``map`` that runs in processes."""
    from levada._processes import InProcesses

    if not pure:
        raise errors.InvalidArgumentError(
            "map(processes=True) needs a pure function: each process has a state of its own"
        )
    target = InProcesses(fn, spec, rng, batched)
    return handle(target, fn, workers=workers, keyed=True, per_record=not batched)


class OnFields:
    """fn(value, ...) of some fields of a record or batch, whose other fields stay. Returns the
    fields that `fn` made."""

    def __init__(self, fn, fields):
        self.fn, self.fields = fn, fields
        self.__wrapped__ = fn  # error messages name it

    def named(self):
        return "on_fields", {"fn": self.fn, "fields": self.fields}

    def __call__(self, record, *generator):
        made = self._named(self.fn(*(member(record, name) for name in self.fields), *generator))
        for name in self.fields:
            if name in made:
                check_member(record, name, made[name])
        return made

    def _named(self, made):
        """The result as a dict: new values of the fields, in their order, if it is none."""
        n = len(self.fields)
        if hasattr(made, "keys"):
            return made
        if n == 1 and made is not None:
            return {self.fields[0]: made}
        if n > 1 and isinstance(made, tuple) and len(made) == n:
            return dict(zip(self.fields, made, strict=True))
        wanted = "a value" if n == 1 else f"a tuple of {n} values"
        raise TypeError(wrong_result(self.fn, made, f"{wanted}, or a dict"))


class WithColumns:
    """Makes more fields of a record, which stays: constants, or functions of the record."""

    fields = None  # it receives all of them

    def __init__(self, columns):
        self.columns = columns

    def named(self):
        return "with_columns", self.columns

    def __call__(self, record):
        return {k: value(record) if callable(value) else value for k, value in self.columns.items()}


def stays(fn):
    """Whether a function returns some fields of a record, whose other fields stay."""
    return isinstance(fn, (OnFields, WithColumns))


def _completed(block, rows, names):
    """The rows with the values of the block in those of these fields that they lack."""
    lacks = [name for name in names if any(row is not None and name not in row for row in rows)]
    if not lacks:
        return rows
    made = []
    for row, record in zip(rows, rows_of(block, lacks), strict=True):
        made.append(row and dict(row))
        for name in lacks if row else ():
            with contextlib.suppress(KeyError):
                made[-1].setdefault(name, member(record, name))
    return made


def _check_levels(block, made, names, like):
    """Raises if the members of objects in a batch would be lists of other lengths."""
    import numpy as np

    for name in names:
        levels = sum(map(bool, like.around(name)))
        if not levels or made.fields()[made.find(name)][2] == 0:
            continue
        for level in range(levels):
            was, now = (b.parts(b.find(name))[1][level] for b in (block, made))
            if not np.array_equal(np.asarray(was), np.asarray(now)):
                raise errors.InvalidArgumentError(
                    f"member {name!r} of a list of objects must have the lengths that it had, "
                    f"{np.asarray(was)!r:.60}, got {np.asarray(now)!r:.60}"
                )


def _beside(block, made, rejects, names, columns):
    """The columns of a block, with those of `made` in the places of what they replace."""
    owner = {}  # the field of each column that is replaced
    for name in names:
        owner.update(dict.fromkeys(columns.like.under(name), name))
    first = len(block.names)
    of = {name: [] for name in names}
    for i, column in enumerate(made.names):
        of[columns.objects.field_of(column)].append(first + i)
    order = []
    for i, column in enumerate(block.names):
        order += of.pop(owner[column], []) if column in owner else [i]
    return _levada.join(block, made, rejects, [*order, *(i for more in of.values() for i in more)])


class Cost(_Target):
    """fn(length, ...) -> number for each combination of padded lengths in a block."""

    def __init__(self, fn):
        super().__init__(spec={"cost": "float64"})
        self.fn = fn

    def call(self, run, block):
        lengths = [Batch(block)[name].tolist() for name, *_ in block.fields()]
        costs = []
        for row in zip(*lengths, strict=True):
            self.go_on(run)
            costs.append(self._cost(row))
        return self.columns.batch({"cost": costs})

    def _cost(self, lengths):
        cost = self.fn(*lengths)
        try:
            if isinstance(cost, (str, bytes, bytearray)):  # float() would parse them
                raise TypeError
            return float(cost)
        except OverflowError:
            return math.inf  # refused as one, by its lengths
        except TypeError:
            raise TypeError(wrong_result(self.fn, cost, "a number")) from None


def is_sequence(records: object) -> bool:
    """Whether record i is ``records[i]``: a Sequence, or a map-style dataset of torch or of Hugging
    Face. Such a dataset has items only, or ``__getitems__``; other tables iterate over columns."""
    if isinstance(records, Sequence):
        return True
    if not (hasattr(records, "__len__") and hasattr(records, "__getitem__")):
        return False
    return hasattr(records, "__getitems__") or not hasattr(records, "__iter__")


class _Positions:
    """An iterator over a sequence that knows where it is."""

    def __init__(self, items):
        self.items = items
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= len(self.items):
            raise StopIteration
        item = self.items[self.at]
        self.at += 1
        return item

    def save(self):
        return f"{self.at}/{len(self.items)}".encode()

    def restore(self, data):
        at, _, count = bytes(data).partition(b"/")
        if not (at.isdigit() and count.isdigit()):
            raise errors.FailedPreconditionError(
                "this checkpoint was not saved by a from_records() source"
            )
        if int(count) != len(self.items) or int(at) > int(count):
            raise errors.FailedPreconditionError(
                f"from_records has {len(self.items)} records, but had {int(count)} "
                "when the checkpoint was saved"
            )
        self.at = int(at)


class Records(_Target):
    """Records of an iterable, or of the result of a factory."""

    last_pass = None  # (reference to its iterator, its run)
    last_read = False  # whether it got a record

    def __init__(self, source, spec=None, name=None):
        super().__init__(spec)
        self.source = source
        self.name = name or getattr(source, "__qualname__", type(source).__name__)

    def _iterator(self, run):
        if run not in self.states:
            given = self.source() if callable(self.source) else self.source
            given = _Positions(given) if is_sequence(given) else iter(given)
            self.states[run] = [given, None, None]  # and its position, and what it raised
        return self.states[run][0]

    def _begin_pass(self, run):
        """Notes the first call of a pass. Refuses one over an iterator that was read before and can
        be read only once; returns True where that shows only if it has no record."""
        given = self.states[run][0]
        reference, last = self.last_pass or (None, None)
        if last == run:
            return False
        again = reference is not None and reference() is given and self.last_read
        again = again and not hasattr(given, "restore")
        if again and not hasattr(type(given).__iter__, "__code__"):  # a class may start again there
            raise self._read_before()
        self.last_pass, self.last_read = (_reference(given), run), False
        return again

    def _read_before(self):
        return errors.FailedPreconditionError(
            f"from_records: {self.name} is an iterator, which can be read only once, and an "
            "earlier pass (epoch) has read it; pass a list, or a function that returns a new "
            "iterator for each pass: from_records(lambda: ...)"
        )

    def noted(self, run):
        """The iterator of a call, whose position is noted here: before its first record."""
        iterator = self._iterator(run)
        if hasattr(iterator, "save"):
            self.states[run][1] = self.save(run, None)
        _levada.noted(self.tasks[run])
        return iterator

    def call(self, run, _):
        rows, until = [], None
        self.noted(run)
        again = self._begin_pass(run)
        columns = self.columns_of(run)
        first, most = not columns.kinds, BLOCK
        if first and type(self.source) not in (list, tuple):
            most = FIRST
        while len(rows) < most and (first or until is None or time.monotonic() <= until):
            if not self._take(run, rows):
                break
            until = until or time.monotonic() + PATIENCE
        self.last_read = self.last_read or again or bool(rows)
        if again and not rows:
            raise self._read_before()
        return columns.block(rows) if rows else None

    def _take(self, run, rows):
        """One more record. False at the end, or where it raised: then the rows before come first,
        and the next call raises it."""
        state = self.states[run]
        if state[2] is not None:
            raise state[2]
        try:
            row = next(state[0])
            rows.append(row if isinstance(state[0], _Positions) else own(row))
        except StopIteration:
            return False
        except Exception as error:
            if not rows:
                raise
            state[2] = error
            return False
        self.go_on(run)
        return True

    def save(self, run, _):
        iterator = self._iterator(run)
        if not (hasattr(iterator, "save") and hasattr(iterator, "restore")):
            raise errors.UnimplementedError(
                f"the source {self.name} cannot be saved: its iterator must have save() and "
                "restore()"
            )
        return bytes(iterator.save())

    def save_before(self, run, _):
        """The position before the current call, during which this runs. The extension asks for it
        after `noted` only: before, this would be that of an earlier call."""
        before = self.states[run][1]
        return self.save(run, None) if before is None else before

    def restore(self, run, data):
        iterator = self._iterator(run)
        if not hasattr(iterator, "restore"):
            raise errors.UnimplementedError(
                f"the source {self.name} cannot be restored: its iterator must have restore()"
            )
        iterator.restore(data)


def _reference(value):
    """A function that returns the value; a weak reference where the type allows one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def generators(origins, draw):
    """One NumPy generator a record, a function of `draw` (seed, epoch) and the record's origin."""
    import numpy as np

    from levada._batch import ORIGIN

    for origin in np.frombuffer(origins, ORIGIN).tolist():
        seed = np.random.SeedSequence([*draw, *(max(part, 0) for part in origin[:5])])
        yield np.random.Generator(np.random.Philox(seed))


def with_length(ds, fn, name):
    """The dataset with fn(record), an integer, as one more field."""
    return with_field(ds, Length(fn, name))


def with_field(ds, target):
    """The dataset with what a target makes of a record as one more field."""
    options = {"fn": handle(target, target.fn, per_record=True)}
    known = _spec_of(ds._core)
    if known is not None and target.name not in known:
        options["spec"] = {**known, target.name: target.dtype}
    return ds._append("map", options)


def _spec_of(core):
    """The columns as the option `spec` of a stage has them; None if it cannot say them."""
    fields = core.fields()
    if core.flags & 1 or any(depth > 1 or padded for _, _, depth, _, padded, _ in fields):
        return None
    return {
        name: {
            "dtype": dtype,
            "kind": "Ragged" if depth else "FixedLen",
            "shape": [None if size < 0 else size for size in dims],
        }
        for name, dtype, depth, dims, *_ in fields
    }


def cost(fn):
    """The handle of fn(length, ...) -> number, the cost of a padded record."""
    return handle(Cost(fn), fn, pure=True)


def encode_key(key):
    """The key of a window as bytes in its order: integers come before bytes, and those before str.
    TypeError and OverflowError: it is none of these."""
    if isinstance(key, str):
        return b"2" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, (bytes, bytearray)):
        return b"1" + key
    return b"0" + (operator.index(key) + (1 << 63)).to_bytes(8, "big")


def decode_key(data):
    """The key that was encoded."""
    if data[:1] == b"2":
        return data[1:].decode("utf-8", "surrogatepass")
    return data[1:] if data[:1] == b"1" else int.from_bytes(data[1:], "big") - (1 << 63)
