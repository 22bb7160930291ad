# SPDX-License-Identifier: Apache-2.0
"""What a row of bench/RESULTS.md is.

A measure is one thing that can be timed; a row has ours, its peers, its limits
(what this machine or Python allows; sizes and threads that sleep have none), and goals: the
least ratio of ours to a peer or limit (where less is better, the ratio is turned round), or, under
the name "ours", the largest value that is allowed.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measure:
    # "c": a work of a program; "py": a function in a worker; "import", "size", "first", "idle"
    kind: str
    what: str
    file: str = ""  # warmed before each run
    cores: int = 1
    inner: int = 1  # threads inside the library (C)
    options: tuple = ()  # of a Python function
    program: str = "baseline"


def limit_of(what, file, cores=1):
    """A work of the baseline program."""
    return Measure("c", what, file, cores)


def ours_c(what, file, cores=1, inner=1):
    return Measure("c", what, file, cores, inner, program="ours")


def python(what, file="", cores=1, **options):
    return Measure("py", what, file, cores, options=tuple(sorted(options.items())))


@dataclass(frozen=True)
class Series:
    """The limit of threads that each do one work after the other with the same bytes.

    Records are those of the second work.
    """

    first: Measure
    second: Measure


@dataclass(frozen=True)
class Row:
    number: str
    title: str
    unit: str
    ours: Measure
    peers: dict = field(default_factory=dict)
    limits: dict = field(default_factory=dict)
    goals: dict = field(default_factory=dict)
    scale: float = 1.0  # from n/s (or the field) to the unit
    # "n" or "bytes" per second; else less is better: seconds of "each" of n, or the field itself
    value: str = "n"

    @property
    def less_is_better(self):
        return self.value not in ("n", "bytes")


def fused(what, file, cores=1):
    """A work of the fused program: levada's kernels in one loop."""
    return Measure("c", what, file, cores, program="fused")
