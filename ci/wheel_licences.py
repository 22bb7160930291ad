# SPDX-License-Identifier: Apache-2.0
"""Adds to a repaired wheel the licences of the libraries that auditwheel copied into it.

Called by ci/wheel.sh with the wheel, which is changed in place. The texts are those of the Debian
packages that own the libraries. A library without one, or one that a wheel must not bring, fails.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

REFUSED = {"libsoxr", "libgomp"}  # LGPL and GPL: their conditions are more than a text


def file_on_system(bundled: str) -> str:
    """The library that libjpeg-0a1b2c3d.so.62.3.0 is a copy of."""
    name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", bundled)
    if name.split(".")[0] in REFUSED:
        sys.exit(f"wheel: {name} must not be in it")
    return name


def licence(library: str) -> tuple[str, bytes]:
    """Debian's package of that library, and its licence."""
    owners = subprocess.run(
        ["dpkg", "-S", f"*/{library}"], capture_output=True, text=True, check=True
    ).stdout
    package = owners.split(":")[0]
    return package, Path(f"/usr/share/doc/{package}/copyright").read_bytes()


def record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def add(wheel: Path) -> list[str]:
    """Writes the wheel once more, with the licences. Returns the packages."""
    made = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old:
        names = old.namelist()
        libraries = [Path(n).name for n in names if ".libs/" in n and ".so" in n]
        info = next(n for n in names if n.endswith(".dist-info/RECORD")).rsplit("/", 1)[0]
        texts = dict(sorted(licence(file_on_system(library)) for library in libraries))
        added = {f"{info}/licenses/libraries/{name}.txt": texts[name] for name in texts}
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
            for item in old.infolist():
                data = old.read(item)
                if item.filename == f"{info}/RECORD":
                    data += "".join(record_line(*entry) for entry in added.items()).encode()
                new.writestr(item, data, zipfile.ZIP_DEFLATED)
            for name, text in added.items():
                new.writestr(name, text)
    os.replace(made, wheel)
    return list(texts)


if __name__ == "__main__":
    print("licences of", *add(Path(sys.argv[1])))
