# SPDX-License-Identifier: Apache-2.0
"""A slow and plain decoder of tf.train.Example and SequenceExample: what levada must return.

It follows the wire format of protobuf field by field. `note` records each form that TensorFlow or
protobuf is known to read differently; docs/migration.md lists these classes.
"""

from dataclasses import dataclass, field

NAMES = {1: "bytes", 2: "float", 3: "int64"}


noted: set = set()  # classes that the message at hand belongs to


# What protobuf reads otherwise than levada, and what TensorFlow reads otherwise.
PROTOBUF = {
    "damage that is not read",
    "key not UTF-8",
    "ends in a size",
    "short entry",
    "field in a map",
    "field 0 in a group",
    "unknown field in an entry",
    "no kind",
}
TENSORFLOW = {
    "long tag",
    "group",
    "unknown field",
    "unknown field in an entry",
    "several lists",
    "mixed list",
    "unusual entry",
    "repeated key",
    "no kind",
    "equal indices",
}


def note(name):
    noted.add(name)


class Refused(Exception):
    """These bytes are not a message, or do not fit the feature."""


@dataclass
class Feature:
    """The last kind and its values."""

    kind: int = 0
    values: list = field(default_factory=list)


def varint(data, at, limit=10):
    value = 0
    for i in range(limit):
        if at + i >= len(data):
            raise Refused("a varint ends early")
        value |= (data[at + i] & 0x7F) << 7 * i
        if data[at + i] < 0x80:
            return value & (1 << 64) - 1, at + i + 1
    raise Refused("a varint is too long")


def tag_at(data, at):
    value, end = varint(data, at, 5)
    if value >> 32 or value >> 3 == 0 or value & 7 > 5:
        raise Refused("not a tag")
    if end - at > max(1, (value.bit_length() + 6) // 7):
        note("long tag")
    return value >> 3, value & 7, end


def sized_at(data, at):
    size, start = varint(data, at, 5)
    if size > len(data) - start:
        raise Refused("a size goes beyond the end")
    return data[start : start + size], start + size


def group_end(data, at, field, depth):
    """Skips a group."""
    note("group")
    if depth > 90:
        raise Refused("groups too deep")
    while True:
        if varint(data, at, 5)[0] >> 3 == 0:
            note("field 0 in a group")
        number, wire, at = tag_at(data, at)
        if wire == 4:
            if number != field:
                raise Refused("a group ends that did not begin")
            return at
        _, at = value_at(data, at, number, wire, depth + 1)


def value_at(data, at, number, wire, depth=0):
    if wire == 0:
        return varint(data, at)
    if wire == 2:
        return sized_at(data, at)
    if wire == 3:
        return None, group_end(data, at, number, depth)
    if wire == 4:
        raise Refused("a group ends that did not begin")
    size = 8 if wire == 1 else 4
    if len(data) - at < size:
        raise Refused("a number ends early")
    return data[at : at + size], at + size


def fields(data):
    """(number, wire type, value) of each field of a message."""
    at = 0
    while at < len(data):
        number, wire, at = tag_at(data, at)
        value, at = value_at(data, at, number, wire)
        yield number, wire, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def list_values(kind, data):
    values, runs = [], []
    for number, wire, value in fields(data):
        runs.append(wire)
        if number != 1 or wire not in ((2,), (2, 5), (2, 0))[kind - 1]:
            note("unknown field")
            continue
        if kind != 1 and 2 in runs and len(runs) > 1:
            note("mixed list")
        if kind == 1 and wire == 2:
            values.append(value)
        elif kind == 2 and wire == 5:
            values.append(value)
        elif kind == 2 and wire == 2:
            if len(value) % 4:
                raise Refused("packed floats end early")
            values.extend(value[i : i + 4] for i in range(0, len(value), 4))
        elif kind == 3 and wire == 0:
            values.append(signed(value))
        elif kind == 3 and wire == 2:
            at = 0
            while at < len(value):
                one, at = varint(value, at)
                values.append(signed(one))
    return values


def feature_of(data):
    """The last kind wins; lists of that kind are joined. What was read already stays as it is."""
    if isinstance(data, Feature):
        return data
    out = Feature()
    for number, wire, value in fields(data):
        if wire != 2 or number > 3:
            note("unknown field")
            continue
        if out.kind:
            note("several lists")
        if number != out.kind:
            out = Feature(number)
        out.values += list_values(number, value)
    return out


def note_text(key):
    try:
        key.decode()
    except UnicodeDecodeError:
        note("key not UTF-8")


def entry_of(data):
    """(key, value) of a map entry: the last key; the values are merged."""
    key, value, met = b"", b"", []
    for number, wire, body in fields(data):
        if wire != 2 or number > 2:
            note("unknown field in an entry")
            continue
        met.append(number)
        if number == 1:
            key = body
            note_text(key)
        else:
            value += body
    if len(met) < 2:  # as in TensorFlow
        note("short entry")
        raise Refused("a map entry with less than two fields")
    if met != [1, 2]:
        note("unusual entry")
    return key, value


def map_of(data, into):
    for number, wire, value in fields(data):
        if number != 1 or wire != 2:  # as in TensorFlow
            note("field in a map")
            raise Refused("an unknown field in a map")
        key, body = entry_of(value)
        into.setdefault(key, []).append(body)


def ends_in_size(data, at):
    """As in TensorFlow: a SequenceExample may end after the size of a field."""
    try:
        _, end = varint(data, at, 5)
    except Refused:
        return False
    return end == len(data)


def read(data, sequence=False):
    """(features, feature lists): key to the bytes of each of its values, in order."""
    context, lists, at = {}, {}, 0
    while at < len(data):
        number, wire, at = tag_at(data, at)
        ours = wire == 2 and number in ((1, 2) if sequence else (1,))
        if ours and sequence and ends_in_size(data, at):
            note("ends in a size")
            return context, lists
        value, at = value_at(data, at, number, wire)
        if ours:
            map_of(value, context if number == 1 else lists)
    return context, lists


def steps_of(body):
    """The steps of a feature list."""
    found = list(fields(body))
    if any((number, wire) != (1, 2) for number, wire, _ in found):
        note("unknown field")
    return [value for number, wire, value in found if (number, wire) == (1, 2)]


def examine(features, lists):
    """Notes what protobuf refuses in the parts that levada and TensorFlow do not read."""
    if any(len(bodies) > 1 for bodies in [*features.values(), *lists.values()]):
        note("repeated key")
    try:
        bodies = [body for of_key in features.values() for body in of_key]
        for of_key in lists.values():
            bodies += [step for body in of_key for step in steps_of(body)]
        for body in bodies:
            feature_of(body)
    except Refused:
        note("damage that is not read")
