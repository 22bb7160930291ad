# SPDX-License-Identifier: Apache-2.0
"""P4: TFRecord in plain Python: framing with struct, payload checksums with google-crc32c."""

import mmap
import struct

from common import files, main, timed


def frames(path, limit=None):
    """The payloads of a TFRecord file and their stored checksums, nothing verified."""
    with open(path, "rb") as stream:
        data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    at = done = 0
    while at < len(data) and done != limit:
        (size,) = struct.unpack_from("<Q", data, at)
        end = at + 12 + size
        yield data[at + 12 : end], struct.unpack_from("<I", data, end)[0]
        at = end + 4
        done += 1


def scan(folder, name="plain64", limit=None, verify=True):
    import google_crc32c

    def count():
        n = 0
        for payload, stored in frames(files.path(name, folder), limit):
            if verify:
                crc = google_crc32c.value(bytes(payload))
                if ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF != stored:
                    raise ValueError(f"record {n} is damaged")
            n += 1
        return n

    return timed(count)


def tfrecord_package(folder, name="plain64", limit=None):
    """The `tfrecord` package: no checksums."""
    from tfrecord import reader

    def count():
        n = 0
        for _ in reader.tfrecord_iterator(files.path(name, folder)):
            n += 1
            if n == limit:
                break
        return n

    return timed(count)


if __name__ == "__main__":
    main(globals())
