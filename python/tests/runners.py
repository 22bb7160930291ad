# SPDX-License-Identifier: Apache-2.0
"""Functions for queue runners to run, and what their tests have in common."""

import pytest
from levada import errors

LONG = 60  # seconds that nothing should ever take
OUT, CANCELLED = errors.OutOfRangeError, errors.CancelledError
QUIET = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


class Counter:
    """Counts its calls; OutOfRangeError past the limit."""

    def __init__(self, limit, name="count_up_to"):
        self.calls, self.limit, self.__name__ = 0, limit, name

    def __call__(self):
        if self.calls >= self.limit:
            raise OUT(f"reached {self.limit}")
        self.calls += 1


def bad(error=None):
    raise ValueError("bad") if error is None else error


def run(runner, coord=None):
    """Runs all enqueue threads to their end."""
    threads = runner.create_threads(coord=coord, daemon=True, start=True)
    for one in threads:
        if not one.name.endswith("close_on_stop"):
            one.join(LONG)
            assert not one.is_alive()
    return threads
