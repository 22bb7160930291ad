# SPDX-License-Identifier: Apache-2.0
"""How datasets and batches look in a terminal and in a notebook."""

from __future__ import annotations

import html
import os
from typing import Any

from levada._plain import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS, _VALUES, _TEXT = 5, 8, 60  # shown of a batch, of a sequence, of a byte string


def short(value: Any) -> str:
    """One value on one line: the first values of a sequence, and how many it has."""
    if isinstance(value, (bytes, bytearray)):
        return repr(bytes(value[:_TEXT])) + (
            f"... {len(value)} bytes" if len(value) > _TEXT else ""
        )
    if hasattr(value, "to_list"):
        value = list(value)
    if isinstance(value, list) or getattr(value, "shape", ()) != ():
        shown = ", ".join(short(item) for item in value[:_VALUES])
        return f"[{shown}]" if len(value) <= _VALUES else f"[{shown}, ...] ({len(value)} values)"
    return plain(value)


def record_text(record: Any, indent: str = "") -> str:
    """The fields of a record, one per line."""
    names = [plain(name) for name in record]
    width = max(map(len, names), default=0)
    rows = zip(names, record.values(), strict=True)
    return "\n".join(f"{indent}{name:<{width}}  {short(value)}" for name, value in rows)


def batch_text(batch: Any, rows: int) -> str:
    """What a batch is, and its first records."""
    parts = [repr(batch)]
    parts += [
        f"  record {i}\n{record_text(record, '    ')}"
        for i, record in enumerate(rows_without_padding(batch, rows))
    ]
    return "\n".join(parts)


def rows_without_padding(batch: Any, rows: int) -> list[dict[str, Any]]:
    """The first records of a batch; padded sequences have their own lengths again."""
    padded = {field[0] for field in batch._block.fields() if field[4]}
    made = []
    for i in range(min(rows, len(batch))):
        record = {name: value[i] for name, value in batch.items()}
        for name in padded:
            record[name] = record[name][: int(batch.lengths(name)[i])]
        made.append(record)
    return made


def _table(head: list[str], rows: list[list[str]]) -> str:
    cells = "".join(f"<th>{html.escape(plain(name))}</th>" for name in head)
    lines = [f"<tr>{cells}</tr>"]
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>")
    return "<table>" + "".join(lines) + "</table>"


def batch_html(batch: Any) -> str:
    """The first rows of a batch as a table."""
    head = ["", *batch.keys()]
    rows = [
        [str(i), *(short(record[name]) for name in head[1:])]
        for i, record in enumerate(rows_without_padding(batch, _ROWS))
    ]
    more = f"<p>{len(rows)} of {len(batch)} records</p>"
    return f"<pre>{html.escape(repr(batch))}</pre>{_table(head, rows)}{more}"


def function_text(fn: Any) -> str:
    """Name and place of a function: "clean (train.py:12)"."""
    fn = getattr(fn, "__wrapped__", fn)
    name = getattr(fn, "__qualname__", None) or type(fn).__name__
    code = getattr(fn, "__code__", None) or getattr(type(fn).__call__, "__code__", None)
    if code is None:
        return name
    return f"{name.rpartition('.')[2]} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def _functions(core: Any) -> list[str]:
    """The Python functions among the options of a stage."""
    handles = [value for value in core.options().values() if hasattr(value, "handled")]
    return [function_text(handle.handled[0]) for handle in handles]


def _notes(core: Any) -> list[str]:
    """What the readers among the options of a stage do to fields."""
    handles = [value for value in core.options().values() if hasattr(value, "handled")]
    return [text for handle in handles for text in getattr(handle.handled[0], "notes", ())]


def stage_text(core: Any) -> str:
    """The name of a stage, with its Python functions."""
    functions = ", ".join(_functions(core))
    return plain(f"{core.name} {functions}" if functions else core.name)


def _in_order(core: Any) -> Iterator[Any]:
    """The stages of a description in the order of their numbers."""
    for below in core.inputs():
        yield from _in_order(below)
    yield core


def explained(core: Any) -> str:
    """The text of the core, with the functions that each stage calls."""
    stages, lines = _in_order(core), []
    for line in core.explain().removesuffix("\n").split("\n"):
        lines.append(line)
        if not line.startswith(" "):
            stage = next(stages)
            lines += [f"    calls   {text}" for text in _functions(stage)]
            lines += [f"    fields  {text}" for text in _notes(stage)]
    return plain("\n".join(lines), lines=True) + "\n"


_BOX = "display:inline-block;border:1px solid #888;border-radius:4px;padding:2px 8px;margin:2px"


def _boxes(core: Any) -> str:
    """The stages of a description from left to right; several inputs one below the other."""
    inputs = core.inputs()
    text, title = html.escape(stage_text(core)), html.escape(plain(core.text()), quote=True)
    name = f'<span style="{_BOX}" title="{title}">{text}</span>'
    if not inputs:
        return name
    if len(inputs) == 1:
        return f"{_boxes(inputs[0])} → {name}"
    rows = "".join(f"<div>{_boxes(below)}</div>" for below in inputs)
    return f'<span style="display:inline-block;vertical-align:middle">{rows}</span> → {name}'


def dataset_html(dataset: Any) -> str:
    """The pipeline as a picture, and the fields that it delivers."""
    batched = bool(dataset._core.flags & 2)
    rows = [[name, field.describe(batched)] for name, field in dataset.spec.items()]
    if dataset._core.flags & 1:
        rows.append(["?", "more fields, known when it runs"])
    return f"<div>{_boxes(dataset._core)}</div>{_table(['field', 'type'], rows)}"
