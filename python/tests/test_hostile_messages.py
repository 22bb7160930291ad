# SPDX-License-Identifier: Apache-2.0
"""levada returns what a plain decoder of the wire format returns, for hostile messages."""

import random
from pathlib import Path

import levada as lv
import pytest
from hostile import messages
from hostile_cases import CONTEXT, EXAMPLE, LISTS, OTHER, column_of, expected, parsed
from wire_reference import PROTOBUF, TENSORFLOW

TRIALS = 3000
VIEWS = [pytest.param(False, EXAMPLE, id="example")]
VIEWS.append(pytest.param(True, [*CONTEXT, *LISTS], id="sequence_example"))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("sequence", "cases"), VIEWS)
def test_a_function_returns_what_the_reference_returns(seed, sequence, cases, length):
    draw, trials = random.Random(seed), TRIALS * length
    accepted = others = 0
    for message in messages(draw, trials, sequence):
        case = draw.choice(cases)
        want = expected(case, message, sequence)
        for batch in (False, True):
            got = parsed(case, message, sequence, batch)
            assert got in (want, OTHER), (case, message.hex())
            accepted += got == want and want is not None
            others += got == OTHER
    assert accepted > trials // 2  # of two calls for each
    assert others < trials // 10


def staged(case, records, sequence):
    """What a stage makes of all records: what it accepts, by the number of the record."""
    spec = {case.column: case.feature(lv, lv)}
    ds = lv.from_arrays({"record": records}).enumerate()
    if not sequence:
        ds = ds.parse_example(spec)
    elif case.steps:
        ds = ds.parse_sequence_example(sequences=spec)
    else:
        ds = ds.parse_sequence_example(context=spec)
    found = {}
    with iter(ds.batch(7).with_options(errors="skip")) as it:
        for batch in it:
            found.update(zip(batch["index"].tolist(), column_of(case, batch), strict=True))
    return found


@pytest.mark.parametrize(("sequence", "cases"), VIEWS)
def test_a_stage_returns_what_the_reference_returns(sequence, cases, length):
    draw, count, others = random.Random(9), TRIALS * length // 8, 0
    for case in cases:
        records = list(messages(draw, count, sequence))
        wanted = [expected(case, record, sequence) for record in records]
        want = {i: value for i, value in enumerate(wanted) if value is not None}
        got = staged(case, records, sequence)
        for i, record in enumerate(records):
            other = i not in got and parsed(case, record, sequence) == OTHER
            assert other or got.get(i) == want.get(i), (case, record.hex())
            others += other
    assert others < count * len(cases) // 20


def test_each_class_of_differences_is_listed():
    page = Path(__file__).resolve().parents[2] / "docs" / "migration.md"
    text = page.read_text()
    assert [name for name in PROTOBUF | TENSORFLOW if f"| {name} |" not in text] == []
