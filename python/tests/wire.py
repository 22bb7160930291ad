# SPDX-License-Identifier: Apache-2.0
"""Bytes of files, made without levada: checksums, TFRecord frames, varints."""

import struct


def _crc_of_byte(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = [_crc_of_byte(byte) for byte in range(256)]


def crc32c(data, before=0):
    """Of `data` after bytes whose checksum is `before`."""
    crc = before ^ 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame(record):
    """A TFRecord."""
    head = struct.pack("<Q", len(record))
    body = record + struct.pack("<I", masked(record))
    return head + struct.pack("<I", masked(head)) + body


def varint(value, pad=0):
    """A varint, with `pad` bytes more than it needs."""
    out = bytearray()
    while value >= 0x80 or pad > 0:
        out.append(value & 0x7F | 0x80)
        value >>= 7
        pad -= value < 1
    out.append(value)
    return bytes(out)


def sized(field, body):
    """A field with a length."""
    return varint(field << 3 | 2) + varint(len(body)) + body
