# SPDX-License-Identifier: Apache-2.0
"""A reader of C that knows just enough for the checks: words, lines, functions, nesting."""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|->|\.\.\.|[^\s\w]")
LITERAL = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
BRANCHES = {"if", "for", "while", "switch"}


@dataclass(frozen=True)
class Token:
    text: str
    line: int


@dataclass
class Function:
    name: str
    first: int  # line where its declaration begins
    last: int  # line of its closing brace
    head: list[Token] = field(default_factory=list)
    body: list[Token] = field(default_factory=list)

    @property
    def lines(self) -> int:
        return self.last - self.first + 1

    @property
    def static(self) -> bool:
        return any(token.text == "static" for token in self.head)

    @property
    def nesting(self) -> int:
        return deepest(self.body)


def strip(text: str) -> str:
    """The same lines without comments and with empty literals."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        keep = found[0] * 2 if found[0] in "\"'" else " "
        return keep + "\n" * found.count("\n")

    return LITERAL.sub(blank, text)


def split_directives(stripped: str) -> tuple[str, list[tuple[int, str]]]:
    """The text with preprocessor lines blanked, and those lines with their numbers."""
    lines, directives, taken = [], [], False
    for number, line in enumerate(stripped.split("\n"), 1):
        if taken:
            first, text = directives[-1]
            directives[-1] = (first, text.rstrip("\\") + "\n" + line)
        elif line.lstrip().startswith("#"):
            directives.append((number, line.strip()))
            taken = True
        else:
            lines.append(line)
            continue
        lines.append("")
        taken = line.endswith("\\")
    return "\n".join(lines), directives


def tokens(code: str) -> list[Token]:
    return [
        Token(match.group(), number)
        for number, line in enumerate(code.split("\n"), 1)
        for match in TOKEN.finditer(line)
    ]


def matching(stream: list[Token], start: int, opener: str, closer: str) -> int:
    """Index of the closer that belongs to the opener at start."""
    depth = 0
    for i in range(start, len(stream)):
        depth += (stream[i].text == opener) - (stream[i].text == closer)
        if depth == 0:
            return i
    return len(stream) - 1


def declarations(stream: list[Token]) -> list[tuple[list[Token], list[Token]]]:
    """Everything at file scope as (head, braces): a function, or what ends with a semicolon."""
    found, head, i = [], [], 0
    while i < len(stream):
        text = stream[i].text
        if text == "{" and [token.text for token in head] in (["extern"], ["extern", '"', '"']):
            head = []  # extern "C": what is inside counts as file scope
        elif text == "{":
            end = matching(stream, i, "{", "}")
            if function_name(head):
                found.append((head, stream[i : end + 1]))
                head = []
            else:
                head += stream[i : end + 1]
            i = end
        elif text == ";":
            found.append((head, []))
            head = []
        elif not (text == "}" and not head):
            head.append(stream[i])
        i += 1
    return found


def function_name(head: list[Token]) -> str | None:
    """The name when head is the declarator of a function: NAME ( ... ) at its end."""
    if not head or head[-1].text != ")" or any(token.text == "=" for token in head):
        return None
    depth = 0
    for i in range(len(head) - 1, 0, -1):
        depth += (head[i].text == ")") - (head[i].text == "(")
        if depth == 0:
            name = head[i - 1].text
            return name if name.isidentifier() else None
    return None


def functions(stream: list[Token]) -> list[Function]:
    return [
        Function(function_name(head) or "", head[0].line, body[-1].line, head, body)
        for head, body in declarations(stream)
        if body
    ]


def deepest(body: list[Token]) -> int:
    """How deep branches and loops stand in each other; `else if` is as deep as its `if`."""
    return _Nesting(body).block(0, 0)[1]


class _Nesting:
    def __init__(self, stream: list[Token]) -> None:
        self.stream = [token.text for token in stream]
        self.tokens = stream

    def at(self, i: int) -> str:
        return self.stream[i] if i < len(self.stream) else ""

    def block(self, i: int, depth: int) -> tuple[int, int]:
        """From the brace at i: the index after its end, and the deepest level inside."""
        i, most = i + 1, depth
        while i < len(self.stream) and self.at(i) != "}":
            i, level = self.statement(i, depth)
            most = max(most, level)
        return i + 1, most

    def statement(self, i: int, depth: int) -> tuple[int, int]:
        word = self.at(i)
        if word == "{":
            return self.block(i, depth)
        if word in BRANCHES:
            end = matching(self.tokens, i + 1, "(", ")")
            i, most = self.statement(end + 1, depth + 1)
            return self.otherwise(i, depth, most) if word == "if" else (i, most)
        if word == "do":
            i, most = self.statement(i + 1, depth + 1)
            return self.simple(i), most
        if word in ("case", "default") or self.at(i + 1) == ":":
            while self.at(i) != ":" and i < len(self.stream):
                i += 1
            return (i + 1, depth) if self.at(i + 1) == "}" else self.statement(i + 1, depth)
        return self.simple(i), depth

    def otherwise(self, i: int, depth: int, most: int) -> tuple[int, int]:
        if self.at(i) != "else":
            return i, most
        chained = self.at(i + 1) == "if"
        i, level = self.statement(i + 1, depth if chained else depth + 1)
        return i, max(most, level)

    def simple(self, i: int) -> int:
        """The index after the semicolon that ends a plain statement."""
        while i < len(self.stream) and self.at(i) not in (";", "}"):
            if self.at(i) in ("{", "("):
                closer = "}" if self.at(i) == "{" else ")"
                i = matching(self.tokens, i, self.at(i), closer)
            i += 1
        return i if self.at(i) == "}" else i + 1
