# SPDX-License-Identifier: Apache-2.0
"""The example of an option table, which is the text of a pipeline, as calls in Python."""

import json
import re
import textwrap
from collections.abc import Callable
from typing import Any

COLUMN = {"text_lines": "line", "range": "value"}  # of the records of a source; else record


class Reader:
    """Reads the text of a pipeline: stages, options, and JSON whose strings may be bare words."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def accept(self, word: str) -> bool:
        """Skips spaces, and `word` if it is next."""
        while self.text[self.at : self.at + 1] == " ":
            self.at += 1
        found = self.text.startswith(word, self.at)
        self.at += len(word) * found
        return found

    def match(self, pattern: str) -> re.Match[str] | None:
        """Skips what `pattern` matches."""
        found = re.compile(pattern).match(self.text, self.at)
        self.at += len(found[0]) if found else 0
        return found

    def word(self, pattern: str) -> str:
        found = self.match(pattern)
        return found[0] if found else ""

    def items(self, end: str, item: Callable[[], Any]) -> list[Any]:
        found = []
        while not self.accept(end):
            found.append(item())
            self.accept(",")
        return found

    def entry(self) -> tuple[str, Any]:
        key = self.value(":")
        self.accept(":")
        return key, self.value()

    def value(self, also: str = "") -> Any:
        """A value; a bare word ends at a comma, a bracket, or a character of `also`."""
        if self.accept("["):
            return self.items("]", self.value)
        if self.accept("{"):
            return dict(self.items("}", self.entry))
        if self.text[self.at] == '"':
            return json.loads(self.word(r'"(?:[^"\\]|\\.)*"'))
        word = self.word(rf"[^\s,\[\]{{}}|{also}]+")
        try:
            return json.loads(word)
        except ValueError:
            return word

    def option(self) -> tuple[str, Any]:
        name = self.match(r"(\w+)=")
        return name[1] if name else "", self.value()

    def stages(self) -> list[tuple[str, list[tuple[str, Any]]]]:
        """(name, [(option or "", value)]) of each stage."""
        found: list[tuple[str, list[tuple[str, Any]]]] = []
        while not found or self.accept("|"):
            self.accept("")
            name, options = self.word(r"\w+"), []
            while self.accept("," if options else ":"):
                options.append(self.option())
            found.append((name, options))
        return found


def shown(value: Any, kind: str = "") -> str:
    """A value as Python writes it: features as lv.VarLenFeature(...), dtypes as lv.int64."""
    if isinstance(value, dict) and "kind" in value:
        shape = [shown(value["shape"])] if "shape" in value else []
        return f"lv.{value['kind']}Feature({', '.join([*shape, shown(value['dtype'], 'dtype')])})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    if kind == "dtype":
        return f"lv.{value}"
    return json.dumps(str(value)) if kind == "text" or isinstance(value, str) else repr(value)


def arguments(row: dict, by_position: list[str], options: list, column: str) -> list[str]:
    """The arguments of a stage. Those that the text names are named here, too."""
    args = {arg["name"]: arg for arg in row["args"]}
    first = next((name for name, arg in args.items() if arg["positional"]), "")
    values = {name or first: value for name, value in options}
    if row["name"] == "range" and "start" in values:  # in Python: start, stop
        return [str(values["start"]), str(values["start"] + values["count"])]
    if by_position[:1] == ["field"]:
        values = {"field": column} | values
    bare = {"field", *([first] if options and not options[0][0] else [])}
    found, in_order = [], True
    for place, (name, value) in enumerate(values.items()):
        in_order = in_order and name in bare and by_position[place : place + 1] == [name]
        text = shown(value, args[name]["type"])
        found.append(text if in_order else f"{name}={text}")
    return found


def calls(text: str, rows: dict[str, dict], positions: Callable, width: int) -> list[str]:
    """Lines of a call for each stage of `text`; rows are {name: option table}."""
    stages = Reader(text).stages()
    column = COLUMN.get(stages[0][0], "record")
    lines: list[str] = []
    for number, (name, options) in enumerate(stages):
        call = f".{name}" if number else f"lv.{name}"
        given = arguments(rows[name], positions(rows[name]), options, column)
        whole = f"{call}({', '.join(given)})"
        if len(whole) + 4 * (len(stages) > 1) <= width:
            lines.append(whole)
            continue
        lines.append(f"{call}(")
        for each in given:
            wrapped = textwrap.wrap(f"{each},", width - 16, break_long_words=False)
            lines += [f"    {'    ' * (i > 0)}{part}" for i, part in enumerate(wrapped)]
        lines.append(")")
    if len("".join(lines)) <= width and len(lines) == len(stages):
        return ["".join(lines)]
    return ["(", *(f"    {line}" for line in lines), ")"] if len(stages) > 1 else lines
