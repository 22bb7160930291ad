# SPDX-License-Identifier: Apache-2.0
"""Generates hostile tf.train.Example and SequenceExample messages, from a seed.

Each message is built field by field. At each place the generator may pick an odd form that the wire
format allows (split lists, two kinds, repeated keys, unknown fields, long varints), or one that it
does not. Some messages are then truncated or have bytes changed.
"""

import struct

from wire import varint

KEYS = [b"a", b"a", b"f", b"s", b"p", b"x", b"y"]
KIND_OF = {b"f": 2, b"s": 1}  # all other keys hold int64
LISTS = (1, 2, 3)


class Hostile:
    """Messages of one seed; `odd` is the chance of an odd form at each place."""

    def __init__(self, draw, odd):
        self.draw, self.odd = draw, odd

    def rarely(self, times=1.0):
        return self.draw.random() < self.odd * times

    def tag(self, field, wire):
        return varint(field << 3 | wire, self.draw.randrange(5) if self.rarely(0.1) else 0)

    def sized(self, field, body):
        size = len(body)
        if self.rarely(0.05):
            size = max(0, size + self.draw.randrange(-2, 3))
        return self.tag(field, 2) + varint(size, 1 if self.rarely(0.2) else 0) + body

    def unknown(self):
        """A field that no message knows, or a known number with another wire type."""
        field = self.draw.choice([1, 2, 3, 4, 5, 15, 16, 2000])
        wire = self.draw.choice(
            [0, 0, 1, 2, 3, 5, 5, 4, 6, 7] if self.rarely() else [0, 1, 2, 3, 5]
        )
        bodies = {0: varint(self.draw.randrange(1 << 20)), 1: bytes(8), 5: bytes(4)}
        if wire == 2:
            field = max(field, 4)
            return self.tag(field, 2) + b"\x02zz"
        if wire == 3:
            inner = self.tag(7, 0) + b"\x01" if self.rarely(3) else b""
            return self.tag(field, 3) + inner + self.tag(field, 4)
        return self.tag(field, wire) + bodies.get(wire, b"")

    def maybe_unknown(self):
        return self.unknown() if self.rarely(0.3) else b""

    def number(self):
        draw = self.draw
        value = draw.choice([draw.randrange(6), draw.randrange(300), draw.getrandbits(64)])
        pad = 0
        if self.rarely(0.2):
            pad = draw.randrange(1, 10)
        return varint(value, pad)

    def run(self, kind, n):
        """Packed numbers."""
        if kind == 2:
            body = b"".join(struct.pack("<f", self.draw.uniform(-9, 9)) for _ in range(n))
            if self.rarely(0.1):
                body += b"\0"
        else:
            body = b"".join(self.number() for _ in range(n))
            if self.rarely(0.1):
                body += b"\x80"
        return self.sized(1, body)

    def list_body(self, kind, n):
        """A BytesList, FloatList or Int64List of n values."""
        out = b""
        if kind == 1:
            for _ in range(n):
                out += self.sized(1, self.draw.randbytes(self.draw.choice([0, 1, 2, 20])))
                out += self.maybe_unknown()
            return out
        if not self.rarely(1.5):
            return self.run(kind, n)
        while n > 0 or self.rarely(0.3):
            some = self.draw.randrange(n + 1)
            if self.draw.random() < 0.5:
                out += self.run(kind, some)
                n -= some
            elif n > 0:
                value = self.number() if kind == 3 else struct.pack("<f", self.draw.random())
                out += self.tag(1, 0 if kind == 3 else 5) + value
                n -= 1
            out += self.maybe_unknown()
        return out

    def feature(self, kind, n=None):
        if self.rarely(0.4):
            return self.maybe_unknown()
        if self.rarely(0.3):
            kind = self.draw.choice(LISTS)
        if n is None:
            n = self.draw.choice([0, 1, 1, 1, 2, 2, 2, 3, 4, 40])
        out = self.maybe_unknown() + self.sized(kind, self.list_body(kind, n))
        while self.rarely(0.7):
            if self.draw.random() < 0.3:
                kind = self.draw.choice(LISTS)
            out += self.maybe_unknown() + self.sized(kind, self.list_body(kind, 1))
        return out + self.maybe_unknown()

    def feature_list(self, kind):
        n = self.draw.choice([None, 1, 2, 2])
        steps = self.draw.choice([0, 1, 2, 3, 7])
        out = b""
        for _ in range(steps):
            out += self.sized(1, self.feature(kind, n)) + self.maybe_unknown()
        return out

    def entry(self, steps):
        key = self.draw.choice(KEYS)
        if self.rarely(0.3):
            key = self.draw.choice([b"", b"z", b"\xff", b"other" * 4, b"k" * 70])
        make = self.feature_list if steps else self.feature
        fields = [(1, key), (2, make(KIND_OF.get(key, 3)))]
        if self.rarely(0.3):
            self.draw.shuffle(fields)
        while self.rarely(0.4):
            extra = self.draw.choice([(1, self.draw.choice(KEYS)), (2, make(KIND_OF.get(key, 3)))])
            fields.insert(self.draw.randrange(len(fields) + 1), extra)
        while fields and self.rarely(0.3):
            fields.pop(self.draw.randrange(len(fields)))
        return b"".join(self.sized(*field) for field in fields) + self.maybe_unknown()

    def map(self, steps=False):
        out = b""
        for _ in range(self.draw.choice([0, 1, 2, 3, 4])):
            out += self.sized(1, self.entry(steps))
            if self.rarely(0.1):
                out += self.unknown()
        return out

    def example(self):
        out = self.maybe_unknown() + self.sized(1, self.map())
        while self.rarely(0.5):
            out += self.sized(1, self.map()) + self.maybe_unknown()
        return self.damage(out)

    def sequence_example(self):
        out = self.maybe_unknown()
        parts = [(1, self.map()), (2, self.map(steps=True))]
        while self.rarely(0.5):
            parts.append(self.draw.choice([(1, self.map()), (2, self.map(steps=True))]))
        if self.rarely():
            self.draw.shuffle(parts)
        for part in parts:
            out += self.sized(*part) + self.maybe_unknown()
        return self.damage(out)

    def damage(self, message):
        """Truncates, or changes some bytes of some messages."""
        draw = self.draw
        if not self.rarely():
            return message
        body = bytearray(message)
        how = draw.randrange(4)
        if how == 0:
            return message[: draw.randrange(len(message) + 1)]
        for _ in range(draw.choice([1, 1, 1, 3])):
            at = draw.randrange(len(body) + 1)
            if how == 1:
                body[at : at + 1] = bytes([draw.randrange(256)])
            elif how == 2:
                body[at:at] = bytes([draw.choice([0, 1, 2, 8, 10, 18, 26, 128, 255])])
            else:
                del body[at : at + 1]
        return bytes(body)


def messages(draw, n, sequence=False):
    """n messages: from nearly plain ones to very odd ones."""
    for _ in range(n):
        hostile = Hostile(draw, draw.choice([0.03, 0.1, 0.25, 0.5]))
        yield hostile.sequence_example() if sequence else hostile.example()
