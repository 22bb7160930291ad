# SPDX-License-Identifier: Apache-2.0
"""The strategies that docs/choose-buckets.md recommends, on the real files."""

import padding_figures
import pytest
from documents import ROOT

DATA = ROOT.parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is missing")


@needs_data
def test_the_recommended_strategy_pads_little_on_each_kind_of_data():
    for report in padding_figures.reports(DATA).values():
        assert report[report.recommended["strategy"]]["padding"] < 0.05
        assert report["random batches"]["padding"] > 0.35
