# SPDX-License-Identifier: Apache-2.0
"""Names and messages from data on their way to a terminal or a notebook.

``plain`` escapes the characters that the command escapes (``tools/escape.h``), so that no name
moves the cursor, changes colors or reorders text. The attributes of errors keep the names as
they are.
"""

from __future__ import annotations

_OBEYED = [(0, 0x1F), (0x7F, 0x9F), (0x61C, 0x61C), (0x200E, 0x200F), (0x2028, 0x202E)]
_OBEYED += [(0x2066, 0x2069), (0xD800, 0xDFFF)]
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def _escape(code: int) -> str:
    if 0xDC80 <= code < 0xDD00:  # a byte that is not UTF-8, as in names of files
        return f"\\x{code - 0xDC00:02x}"
    return _SHORT.get(chr(code)) or (f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}")


_IN_A_LINE = {code: _escape(code) for first, last in _OBEYED for code in range(first, last + 1)}
_IN_LINES = {code: text for code, text in _IN_A_LINE.items() if chr(code) not in "\n\t"}


def plain(text: object, *, lines: bool = False) -> str:
    """Text without what a terminal would obey; with ``lines``, line ends and tabs stay."""
    return str(text).translate(_IN_LINES if lines else _IN_A_LINE)
