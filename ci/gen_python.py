#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes _sources.py (functions) and _stages.py (methods) of the package from the option tables.

Reads the JSON of `levada stages --json` from standard input:
    levada stages --json | ci/gen_python.py python/levada
"""

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import example_calls

# Written by hand, because they need more than the table says.
BY_HAND = set(
    "cache call concat filter flat_map group_by_window interleave map memory mix random range "
    "records select split with_columns zip".split()
)
# Which options may be given by position, where it is not [the positional one, required ones].
POSITIONAL = {
    "add_noise": ["field", "snr"],
    "bucket_by_sequence_length": ["length"],
    "cast": ["field", "dtype"],
    "change_speed": ["field", "factors"],
    "decode_csv": ["field", "record_defaults"],
    "decode_flac": ["field"],
    "decode_image": ["field"],
    "decode_jpeg": ["field", "channels", "ratio", "crop", "out"],
    "decode_json": ["field", "fields"],
    "decode_npy": ["field", "dtype", "shape", "out"],
    "decode_png": ["field", "channels", "dtype", "out"],
    "decode_raw": ["field", "dtype"],
    "decode_wav": ["field"],
    "gain": ["field", "db"],
    "normalize": ["field", "mean", "std"],
    "pad_to": ["field", "size"],
    "parse_sequence_example": ["context", "sequences"],
    "random_flip": ["field"],
    "random_resized_crop": ["field", "size"],
    "resample": ["field", "rate"],
    "reshape": ["field", "shape"],
    "resize_image": ["field", "size"],
    "shard": ["index", "count"],
    "slice": ["field", "begin", "size", "out"],
}
# Options that other methods set: shard(sync="buckets").
HIDDEN = {("bucket_by_sequence_length", "ranks"), ("bucket_by_sequence_length", "tail")}
FUNCTIONS = {
    ("bucket_by_sequence_length", "length"): "str | Iterable[str] | Callable[[Any], int]",
    ("bucket_by_sequence_length", "boundaries"): (
        "int | Iterable[int] | Iterable[tuple[int, int]] | LengthHistogram"
    ),
    ("bucket_by_sequence_length", "cost"): "str | Callable[..., float]",
}
# Parameters of Python alone: a stage that follows.
THEN = {"window": ("collect", "one record of each window, as ``collect()`` makes it")}
RECORDS = {"collect"}  # stages that return records of batches
TYPES = {
    "int": "int", "size": "int | str", "float": "float", "bool": "bool", "text": "str",
    "choice": "str", "dtype": "Any", "ints": "int | Iterable[int]", "texts": "str | Iterable[str]",
    "floats": "float | Iterable[float]",
    "value": "Any", "function": "Callable", "block": "Any", "pipe": "Dataset",
}  # fmt: skip

HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
"""{what} from their option tables. Made by ci/gen_python.py; do not edit."""

from __future__ import annotations

from levada import _levada
from levada._typed import T, Typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from levada._batch import Batch
    from levada._dataset import Dataset
    from levada._lengths import LengthHistogram
    from levada._values import Paths

'''

HELPER = """

def _source(name: str, **options: Any) -> Dataset[dict[str, Any]]:
    from levada._dataset import Dataset
    from levada._values import paths

    given = {key: value for key, value in options.items() if value is not None}
    for key in ("files", "pattern"):
        if key in given:
            given[key] = paths(given[key])
    if isinstance(given.get("dtypes"), (list, tuple)) and "record_defaults" not in given:
        given["record_defaults"] = given.pop("dtypes")  # of all columns
    for key in ("record_defaults", "dtypes"):
        if key in given:
            from levada._decoders import csv_defaults

            given[key] = csv_defaults(given[key])
    if name in ("json", "jsonl") and "fields" in given:
        from levada._decoders import json_fields

        given["fields"] = json_fields(given["fields"])
    return Dataset(_levada.append(name, given, ()))
"""

CLASS = '''
class Stages(Typed[T]):
    """Methods of Dataset that are a name and options."""

    __slots__ = ()

    def _append(
        self, name: str, options: dict[str, Any], more: Iterable[Dataset[Any]] = ()
    ) -> Dataset[Any]:
        raise NotImplementedError

    def _stage(self, name: str, **options: Any) -> Dataset[Any]:
        given = {key: value for key, value in options.items() if value is not None}
        return self._append(name, given)
'''


def is_source(row: dict) -> bool:
    return row["inputs"][1] == 0


def ordered(row: dict) -> tuple[list[dict], list[dict]]:
    """Options by position and by name only."""
    shown = [arg for arg in row["args"] if (row["name"], arg["name"]) not in HIDDEN]
    args = {arg["name"]: arg for arg in shown}
    first = [name for name in POSITIONAL.get(row["name"], []) if name in args]
    if not first:
        first = [name for name, arg in args.items() if arg["positional"]]
        first += [name for name, arg in args.items() if arg["required"] and name not in first]
    by_position = [args[name] for name in first]
    if first[:1] == ["field"]:  # a field that the core could guess, but stands before others
        by_position[0] = {**by_position[0], "required": True}
    # Python wants those without a default in front.
    by_position.sort(key=lambda arg: not arg["required"])
    return by_position, [arg for name, arg in args.items() if name not in first]


def parameter(row: dict, arg: dict) -> str:
    place = row["name"], arg["name"]
    kind = FUNCTIONS.get(place, TYPES[arg["type"]])
    if is_source(row) and arg["name"] in ("files", "pattern"):
        kind = "Paths"
    if arg["required"]:
        return f"{arg['name']}: {kind}"
    default = arg["default"]
    if default is None:
        return f"{arg['name']}: {kind} | None = None".replace("Any | None", "Any")
    if isinstance(default, list):  # not a default that a caller could change
        default = default[0] if len(default) == 1 else tuple(default)
    return f"{arg['name']}: {kind} = {default!r}"


def sentence(text: str) -> str:
    first = text.split(" ", 1)[0]
    text = text[:1].upper() + text[1:] if first.isalpha() else text
    return text + ("" if text.endswith(".") else ".")


def in_python(text: str) -> str:
    """The text with Python's words for null, true and false."""
    for word, name in (("null", "None"), ("true", "True"), ("false", "False")):
        text = re.sub(rf"\b{word}\b", name, text)
    return text


def describe(row: dict, arg: dict) -> str:
    """An argument with its type, default, meaning and choices."""
    kind = parameter(row, arg).partition(": ")[2].replace(" | None = None", "")
    kind, _, default = kind.partition(" = ")
    default = f", default {default}" if default and default != "None" else ""
    choices = f" ({', '.join(arg['choices'])})" if arg.get("choices") else ""
    return f"{arg['name']} ({kind}{default}): {in_python(arg['doc'] or '')}{choices}"


def example(row: dict, rows: dict[str, dict], width: int) -> list[str]:
    """The lines of the section Example."""
    positions = {name: [arg["name"] for arg in ordered(each)[0]] for name, each in rows.items()}
    lines = example_calls.calls(row["example"], rows, lambda each: positions[each["name"]], width)
    return [f"        {line}" for line in lines]


def returned(row: dict) -> str:
    kinds = {"Dataset[Batch]": "batches", "Dataset[dict[str, Any]]": "records"}
    return f"Dataset: {kinds.get(result(row), 'records, or batches if the input has batches')}."


def wrap(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def function(row: dict, rows: dict[str, dict], indent: str) -> str:
    by_position, by_name = ordered(row)
    every = [*by_position, *by_name]
    width = 100 - len(indent)
    parameters = [] if is_source(row) else ["self"]
    parameters += [parameter(row, arg) for arg in by_position]
    parameters += ["*"] if by_name else []
    parameters += [parameter(row, arg) for arg in by_name]
    then, meaning = THEN.get(row["name"], ("", ""))
    parameters += [f"{then}: bool = False"] if then else []
    lines = [f"def {row['name']}({', '.join(parameters)}) -> {result(row)}:"]
    if len(lines[0]) > width:
        lines = [f"def {row['name']}("]
        lines += wrap(", ".join(parameters), width - 1, "    ", "    ")
        lines += [f") -> {result(row)}:"]
    lines += wrap(f'"""{in_python(sentence(row["doc"]))}', width - 4, "    ", "    ")
    lines += ["", "    Args:"] if every else []
    for arg in every:
        lines += wrap(describe(row, arg), width - 4, "        ", "            ")
    if then:
        text = f"{then} (bool, default False): {meaning}"
        lines += wrap(text, width - 4, "        ", "            ")
    lines += ["", "    Returns:", f"        {returned(row)}"]
    lines += ["", "    Raises:", "        InvalidArgumentError: an option or a field is invalid."]
    lines += ["", "    Example:"]
    lines += example(row, rows, width - 8)
    lines += ['    """']
    call = "_source" if is_source(row) else "self._stage"
    passed = [f'"{row["name"]}"', *(f"{arg['name']}={arg['name']}" for arg in every)]
    one = f"    return {call}({', '.join(passed)})"
    if then or len(one) > width:
        lines += [f"    made: Dataset[Any] = {call}(" if then else f"    return {call}("]
        lines += wrap(", ".join(passed), width - 1, "        ", "        ")
        lines += ["    )"]
        lines += [f"    return made.{then}() if {then} else made"] if then else []
    else:
        lines += [one]
    return "\n".join(indent + line if line else "" for line in lines)


def result(row: dict) -> str:
    """The type of the dataset that a source or stage returns."""
    rows = row["traits"]["rows"]
    if row["name"] in THEN:
        return "Dataset[Any]"
    if rows == "batches":
        return "Dataset[Batch]"
    if is_source(row) or rows == "unbatches" or row["name"] in RECORDS:
        return "Dataset[dict[str, Any]]"
    return "Dataset[T]"


def sources(rows: list[dict], every: dict[str, dict]) -> str:
    """The module _sources.py."""
    chosen = [row for row in rows if is_source(row)]
    names = "".join(f'    "{row["name"]}",\n' for row in chosen)
    code = HELPER + "".join(f"\n\n{function(row, every, '')}\n" for row in chosen)
    return HEAD.format(what="Sources") + f"__all__ = [\n{names}]\n" + code


def stages(rows: list[dict], every: dict[str, dict]) -> str:
    """The module _stages.py."""
    chosen = [row for row in rows if not is_source(row) and row["inputs"][0] == 1]
    code = CLASS + "".join(f"\n{function(row, every, '    ')}\n" for row in chosen)
    return HEAD.format(what="Stages") + code


def main(folder: Path) -> int:
    rows = json.load(sys.stdin)
    every = {row["name"]: row for row in rows}
    rows = [row for row in rows if row["name"] not in BY_HAND and not row.get("plugin")]
    (folder / "_sources.py").write_text(sources(rows, every))
    (folder / "_stages.py").write_text(stages(rows, every))
    ruff = Path(sys.executable).with_name("ruff")
    files = [str(folder / name) for name in ("_sources.py", "_stages.py")]
    subprocess.run([ruff, "check", "--quiet", "--fix", "--select", "F401", *files], check=True)
    subprocess.run([ruff, "format", "--quiet", *files], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
