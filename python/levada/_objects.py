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


def check_member(record, name, value):
    """Raises if the value of a member has other lists around it than the record."""
    if _is_list(record):
        if not hasattr(value, "__len__") or len(value) != len(record):
            raise ValueError(
                f"member {name!r} must be a list of {len(record)} values, got {value!r}"
            )
        for item, new in zip(record, value, strict=True):
            check_member(item, name, new)
    elif name not in record and "." in name:
        key, rest = _split(record, name)
        check_member(record[key], rest, value)


# -- columns of lists of objects, by their names and marks


def _ends(column, mark):
    """(level, end of the name) of each object around the values of a column."""
    return [(level, _after_dots(column, k)) for level, k in enumerate(mark) if k]


def is_under(column, mark, name):
    """Whether a column is the field or member `name`, or a part of its objects."""
    return column == name or any(
        end == len(name) + 1 and column.startswith(f"{name}.") for _, end in _ends(column, mark)
    )


def _path(column, mark, start, depth):
    """[(lists, key)...] of a column from the objects on whose name ends at `start`, where `depth`
    lists are around those."""
    path = []
    ends = [each for each in _ends(column, mark) if each[1] > start]
    for i, (level, end) in enumerate(ends):
        last = ends[i + 1][1] - 1 if i + 1 < len(ends) else len(column)
        path.append((level + 1 - depth, column[end:last]))
        depth = level + 1
    return path


class Like:
    """The columns that a function receives: what it returns under their names is of their types,
    if its values fit them."""

    def __init__(self, fields, marks, kinds):
        self.names = [field[0] for field in fields]
        self.marks = dict(zip(self.names, marks or [b""] * len(self.names), strict=True))
        self.kinds = kinds

    def under(self, name):
        """The columns of a field, of a member, or of the objects of one."""
        return [column for column in self.names if is_under(column, self.marks[column], name)]

    def around(self, name):
        """The mark of the objects that a member is in."""
        for column in self.under(name)[:1]:
            mark = bytearray(LEVELS)
            for level, end in _ends(column, self.marks[column]):
                mark[level] = self.marks[column][level] if end <= len(name) else 0
            return bytes(mark)
        return bytes(LEVELS)

    def members(self, name, path, depth):
        """What `_members` says, of objects of which there is no value."""
        for column in self.under(name):
            if column != name:
                mark = self.marks[column]
                inner = _path(column, mark, len(name), depth)
                yield column, [*path, *inner], self.kinds[column].depth, mark


# -- the other way: records with lists of dicts to columns


def _is_list(value):
    return isinstance(value, (list, tuple))


def _first(value):
    """The first item in lists of lists that is not a list; None if there is none."""
    for item in value:
        found = _first(item) if _is_list(item) else item
        if found is not None:
            return found
    return None


def _dicts(value):
    """The dicts in lists of lists, and how many lists are around each; None: there are none."""
    if not isinstance(_first(value), dict):
        return None
    depth, items = 0, [value]
    while items and all(map(_is_list, items)):
        items = [item for part in items for item in part]
        depth += 1
    return items, depth


def _depth(values):
    """Lists around the values of a member."""
    depth = 0
    while any(_is_list(value) or getattr(value, "ndim", 0) for value in values):
        values = [item for value in values for item in value]
        depth += 1
    return depth


def has_lists(values, depth):
    """Whether the values are lists of Python with `depth` levels, as far as they show it."""
    return all(map(_is_list, values)) and (_first(values) is None or _depth(values) == depth)


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

    def flat_columns(self, columns, known, like=None):
        """Whole columns, with one for each member of those that are lists of rows. The first of a
        field that is not `known` say which members it has."""
        made = {}
        for name, column in columns.items():
            if not known(name) and name not in self.members and _is_list(column):
                self._learn(name, column, like)
            elif not known(name) and like is not None and any(like.around(name)):
                mark = self.marks[name] = like.around(name)
                self.members[name] = [(name, [], like.kinds[name].depth, mark)]
            if name not in self.members or not self.members[name][0][1]:
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

    def depth_of(self, column):
        """The levels of a member; None of other columns."""
        members = (member for found in self.members.values() for member in found)
        return next((depth for name, _, depth, _ in members if name == column), None)

    def flat(self, rows, known, like=None):
        """The rows with a field for each member. The first of a field that is not `known` say
        which members it has."""
        tried = set()
        for row in rows:
            for name, value in row.items() if isinstance(row, dict) else ():
                if not isinstance(value, (list, tuple)) or name in tried or name in self.members:
                    continue
                if not known(name):
                    tried.add(name)
                    self._learn(name, [r.get(name) for r in rows if isinstance(r, dict)], like)
                elif isinstance(_first(value), dict):
                    self._learn(name, [value], None)
        return [self._row(row) for row in rows] if self.members else rows

    def _learn(self, name, values, like):
        around = like.around(name) if like is not None else bytes(LEVELS)
        first = _first([value for value in values if _is_list(value)])
        if isinstance(first, dict) or any(around) or (first is None and like is not None):
            found = list(_members(name, values, [], 0, around, like))
            if found[0][1] or any(around):
                self.members[name] = found
                self.marks.update((member[0], member[3]) for member in found)

    def _row(self, row):
        if not isinstance(row, dict) or self.members.keys().isdisjoint(row):
            return row
        made = {}
        for name, value in row.items():
            if name not in self.members:
                made[name] = value
                continue
            _check_members(name, value, _tree(self.members[name]))
            for column, path, *_ in self.members[name]:
                made[column] = _pick(name, value, path)
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


def _members(name, values, path, depth, mark, like):
    """(column, path, ragged levels, mark) of each member of the lists in `values`."""
    lists = [value for value in values if _is_list(value) and value]
    found = _dicts(lists)
    if found is None:
        known = []
        if like is not None and _first(lists) is None:
            known = list(like.members(name, path, depth))
        yield from known or [(name, path, depth + _depth(values), mark)]
        return
    items, lists = found
    items = [item for item in items if isinstance(item, dict)]
    lists -= 1  # the list of rows
    if depth + lists > LEVELS:
        raise InvalidArgumentError(f"field {name!r} must have at most {LEVELS} levels of lists")
    level = depth + lists
    mark = mark[: level - 1] + bytes([name.count(".") + 1]) + mark[level:]
    for key in dict.fromkeys(key for item in items for key in item):
        if not isinstance(key, str):
            raise TypeError(f"field {name!r}: the name of a member must be a str, got {key!r}")
        inner = [item[key] for item in items if key in item]
        yield from _members(f"{name}.{key}", inner, [*path, (lists, key)], level, mark, like)


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
