# SPDX-License-Identifier: Apache-2.0
"""Small real files, so that every example in the documentation runs as it stands."""

from __future__ import annotations

import os

from levada import _levada

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def write(directory: str | os.PathLike[str] = ".") -> list[Path]:
    """Writes the sample files into a directory and returns their paths.

    The data are 300 speeches of Shakespeare's "Coriolanus", one record each; the tokens of a
    speech are its bytes. The directory is created if it does not exist; files of these names are
    replaced.

    - ``train-0.tfrecord.gz``, ``train-1.tfrecord.gz``: 150 Examples each, with ``tokens``
      (int64), ``label`` (int64, the number of the speaker) and ``speaker`` (bytes)
    - ``spec.json``: the features ``tokens`` and ``label``, for ``parse_example:@spec.json``
    - ``speeches.txt``: one speech per line

    Args:
        directory (path, default "."): where the files are written.

    Returns:
        list: the paths of the files.

    Example:
        print([path.name for path in lv.samples.write("speeches")])
    """
    from pathlib import Path

    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    _levada.write_sample(folder)
    names = ("train-0.tfrecord.gz", "train-1.tfrecord.gz", "spec.json", "speeches.txt")
    return [folder / name for name in names]
