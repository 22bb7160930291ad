# SPDX-License-Identifier: Apache-2.0
"""Lists of objects: ``messages.role`` and ``messages.content`` as one list of dicts in a record.

A column has a mark of one number for each ragged level (``levada_field.object`` in C): k > 0 says
that an item of the level is an object, whose members' names begin after the k-th dot.
"""

from typing import Any

from levada._ragged import Bytes, Ragged, objects, part_of
from levada.errors import InvalidArgumentError

LEVELS = 4  # ragged levels that a column may have


def _after_dots(name, k):
    """Where the rest of the name begins after its k-th dot; 0 if it has fewer."""
    at = 0
    for _ in range(k):
        at = name.find(".", at) + 1
        if not at:
            return 0
    return at


def _object_level(field, level):
    """(level, end of prefix) of the outermost list of objects from that level on, or None."""
    name, depth, mark = field
    for i in range(level, depth):
        end = _after_dots(name, mark[i])
        if end:
            return i, end
    return None


def _plan(fields, level, start):
    """How a dict is made of values: (key, column, 0, None), or (key, columns, lists around the
    objects, plan of an object) for a list. `fields` are {column: (name, depth, mark)}."""
    plan, done = [], set()
    for i, field in fields.items():
        if i in done:
            continue
        found = _object_level(field, level)
        if found is None:
            plan.append((field[0][start:], i, 0, None))
            continue
        at, end = found
        members = {
            k: other
            for k, other in fields.items()
            if other[0][:end] == field[0][:end]
            and other[2][: at + 1] == field[2][: at + 1]
            and other[1] > at
        }
        done.update(members)
        inner = _plan(members, at + 1, end)
        plan.append((field[0][start : end - 1], list(members), at - level, inner))
    return plan


def _make(plan, values):
    made = {}
    for key, index, lists, inner in plan:
        if inner is None:
            made[key] = values[index]
        else:
            made[key] = _lists({i: values[i] for i in index}, lists, inner)
    return made


def _lists(values, lists, plan):
    items = (dict(zip(values, item, strict=True)) for item in zip(*values.values(), strict=True))
    if lists:
        return [_lists(item, lists - 1, plan) for item in items]
    return [_make(plan, item) for item in items]


def nested(column: Any) -> list[Any]:
    """The rows of a ragged column as nested lists of Python values, with str of text."""
    if isinstance(column, Ragged) and isinstance(column.values, Bytes):
        column = part_of(objects(column.values.items()), column.nested)
    return column.to_list() if isinstance(column, Ragged) else list(column)


def records(fields: list[tuple[str, int, bytes]], columns: list[list[Any]]) -> list[dict[str, Any]]:
    """Records of columns; `fields` are (name, ragged levels, mark) of each."""
    plan = _plan(dict(enumerate(fields)), 0, 0)
    return [_make(plan, row) for row in zip(*columns, strict=True)]


# -- members of records, by the names of their columns


def _split(record, name):
    """(key, name of the member in it) of a column: (name, "") if the record has it as it is."""
    at = len(name)
    while at > 0 and name[:at] not in record:
        at = name.rfind(".", 0, at)
    if at <= 0:
        raise KeyError(name)
    return name[:at], name[at + 1 :]


def member(record, name):
    """The field of a record; `messages.role` = a list of the values in its list of dicts."""
    if _is_list(record):
        return [member(item, name) for item in record]
    if name in record:
        return record[name]
    key, rest = _split(record, name)
    return member(record[key], rest)


def with_member(record, name, value):
    """The record with another value of the field, or with other values in its list of dicts."""
    if _is_list(record):
        if not hasattr(value, "__len__") or len(value) != len(record):
            raise ValueError(
                f"member {name!r} must be a list of {len(record)} values, got {value!r}"
            )
        return [with_member(item, name, new) for item, new in zip(record, value, strict=True)]
    if name in record or "." not in name:
        return {**record, name: value}
    key, rest = _split(record, name)
    return {**record, key: with_member(record[key], rest, value)}


# -- the other way: records with lists of dicts to columns


def _is_list(value):
    return isinstance(value, (list, tuple))


def _dicts(value):
    """The dicts in lists of lists, and how many lists are around each; None: there are none."""
    depth = 0
    items = [value]
    while items and all(map(_is_list, items)):
        items = [item for part in items for item in part]
        depth += 1
    return (items, depth) if depth and items and isinstance(items[0], dict) else None


def _depth(values):
    """Lists around the values of a member."""
    depth = 0
    while any(_is_list(value) or getattr(value, "ndim", 0) for value in values):
        values = [item for value in values for item in value]
        depth += 1
    return depth


class Objects:
    """Turns lists of dicts of records into columns. The first records that have one say which
    members it has; later ones must have the same."""

    def __init__(self):
        self.members = {}  # field: [(name, path of (lists, key), ragged levels)]
        self.marks = {}  # column: mark

    def copy(self):
        other = Objects()
        other.members, other.marks = dict(self.members), dict(self.marks)
        return other

    def declare(self, kinds):
        """{column: kind} of kinds in lists and dicts, whose members it learns."""
        made = {}
        for field, entry in kinds.items():
            for name, path, mark, kind in _declared(field, entry, [], 0, bytes(LEVELS)):
                made[name] = kind
                if path:
                    self.members.setdefault(field, []).append((name, path, kind.depth, mark))
                if any(mark):
                    self.marks[name] = mark
        return made

    def flat_columns(self, columns, first):
        """Whole columns, with one for each member of those that are lists of rows. `first`: they
        say which members there are."""
        made = {}
        for name, column in columns.items():
            if first and name not in self.members and _is_list(column):
                self._learn(name, column)
            if name not in self.members:
                made[name] = column
                continue
            rows = [self._row({name: value}) for value in column]
            made.update((m[0], [row[m[0]] for row in rows]) for m in self.members[name])
        return made

    def chosen(self):
        """What rows chose, as JSON."""
        members = {
            field: [[name, path, depth, list(mark)] for name, path, depth, mark in found]
            for field, found in self.members.items()
        }
        return {"members": members, "marks": {k: list(mark) for k, mark in self.marks.items()}}

    @classmethod
    def of_chosen(cls, given):
        """The opposite of `chosen`. Raises ValueError, TypeError, KeyError or AttributeError."""
        made = cls()
        for field, members in given["members"].items():
            made.members[field] = []
            for name, path, depth, mark in members:
                path = [(int(lists), str(key)) for lists, key in path]
                made.members[field].append((str(name), path, int(depth), _mark(mark)))
        made.marks = {name: _mark(mark) for name, mark in given["marks"].items()}
        return made

    def field_of(self, column):
        """The field of a record that a column is of."""
        for field, members in self.members.items():
            if any(member[0] == column for member in members):
                return field
        return column

    def flat(self, rows):
        """The rows with a field for each member."""
        for row in rows:
            for name, value in row.items() if isinstance(row, dict) else ():
                if name not in self.members and _is_list(value) and value:
                    self._learn(name, [r.get(name) for r in rows if isinstance(r, dict)])
        return [self._row(row) for row in rows] if self.members else rows

    def _learn(self, name, values):
        if _dicts([value for value in values if _is_list(value) and value]):
            self.members[name] = list(_members(name, values, [], 0, bytes(LEVELS)))
            self.marks.update((member[0], member[3]) for member in self.members[name])

    def _row(self, row):
        if not isinstance(row, dict) or self.members.keys().isdisjoint(row):
            return row
        made = {}
        for name, value in row.items():
            if name not in self.members:
                made[name] = value
                continue
            _check_members(name, value, _tree(self.members[name]))
            for column, path, depth, _ in self.members[name]:
                made[column] = _ragged(_pick(name, value, path), depth)
        return made


def declaration(kinds, marks):
    """Kinds in lists and dicts, as a spec says them: the opposite of `Objects.declare`."""
    made: dict[str, Any] = {}
    for name, kind in kinds.items():
        at, start, before = made, 0, 0
        for level, dots in enumerate(marks.get(name, b"")):
            if not dots:
                continue
            end = _after_dots(name, dots)
            at = at.setdefault(name[start : end - 1], _in_lists({}, level + 1 - before))
            while isinstance(at, list):
                at = at[0]
            start, before = end, level + 1
        at[name[start:]] = _in_lists(kind.element(), (kind.depth or 0) - before)
    return made


def _in_lists(value, lists):
    for _ in range(lists):
        value = [value]
    return value


def _declared(name, entry, path, depth, mark):
    """(column, path, mark, kind) of each column that an entry of a spec declares."""
    lists = 0
    while isinstance(entry, list):
        entry, lists = entry[0], lists + 1
    depth += lists
    if depth + (getattr(entry, "depth", 0) or 0) > LEVELS:
        raise InvalidArgumentError(f"field {name!r} must have at most {LEVELS} levels of lists")
    if not isinstance(entry, dict):
        kind = entry.copy()
        kind.depth += depth
        yield name, path, mark, kind
        return
    if lists:
        mark = mark[: depth - 1] + bytes([name.count(".") + 1]) + mark[depth:]
    for key, inner in entry.items():
        yield from _declared(f"{name}.{key}", inner, [*path, (lists, key)], depth, mark)


def _mark(given):
    mark = bytes(given)
    if len(mark) != LEVELS:
        raise ValueError(given)
    return mark


def _members(name, values, path, depth, mark):
    """(column, path, ragged levels, mark) of each member of the lists in `values`."""
    items, lists = _dicts([value for value in values if _is_list(value) and value])
    lists -= 1  # the list of rows
    if depth + lists > LEVELS:
        raise InvalidArgumentError(f"field {name!r} must have at most {LEVELS} levels of lists")
    level = depth + lists
    mark = mark[: level - 1] + bytes([name.count(".") + 1]) + mark[level:]
    for key in dict.fromkeys(key for item in items for key in item):
        if not isinstance(key, str):
            raise TypeError(f"field {name!r}: the name of a member must be a str, got {key!r}")
        inner = [item[key] for item in items if key in item]
        here = [*path, (lists, key)]
        if _dicts([value for value in inner if _is_list(value) and value]):
            yield from _members(f"{name}.{key}", inner, here, level, mark)
        else:
            yield f"{name}.{key}", here, level + _depth(inner), mark


def _tree(members):
    """{key: the same of its objects} of the members of a field."""
    tree: dict[str, Any] = {}
    for _, path, *_ in members:
        at = tree
        for _, key in path:
            at = at.setdefault(key, {})
    return tree


def _check_members(name, value, tree):
    """Raises if an object has members that would be lost."""
    if _is_list(value):
        for item in value:
            _check_members(name, item, tree)
    elif isinstance(value, dict):
        more = [key for key in value if key not in tree]
        if more:
            raise InvalidArgumentError(
                f"field {name!r}: an object has {more[0]!r}, but others have {', '.join(tree)}; "
                "return the same members in all objects, or declare them all with spec="
            )
        for key, below in tree.items():
            if below and key in value:
                _check_members(f"{name}.{key}", value[key], below)


def _pick(name, value, path):
    """The values of a member, in the lists that are around it."""
    if not path:
        return value
    (lists, key), *rest = path

    def inside(item, left):
        if left:
            if getattr(item, "size", 1) == 0:  # an empty list that has become an array
                return []
            if not _is_list(item):
                got = type(item).__name__
                raise TypeError(f"field {name!r}: expected a list of dicts, got {got}")
            return [inside(part, left - 1) for part in item]
        if not isinstance(item, dict) or key not in item:
            raise InvalidArgumentError(
                f"field {name!r}: every object must have {key!r}, got {item!r:.100}"
            )
        return _pick(name, item[key], rest)

    return inside(value, lists)


def _ragged(value, depth):
    """A value in lists as a Ragged, where there is more than one level."""
    import numpy as np

    if depth < 2:
        return value
    levels, items = [], value
    for _ in range(depth - 1):
        marks = np.zeros(len(items) + 1, np.int32)
        np.cumsum([len(item) for item in items], out=marks[1:])
        levels.append(marks)
        items = [part for item in items for part in item]
    text = any(isinstance(item, (str, bytes)) for item in items)
    return Ragged(objects(items) if text else np.asarray(items), levels)
