# SPDX-License-Identifier: Apache-2.0
"""What the benches of segments share: 32 sequences at a time, of 32 segments of 64 steps."""

import numpy as np

ROWS, STEPS, LONG, STATE = 32, 64, 32, 512
X = np.zeros(STEPS * LONG, np.int32)
FIRST = np.ones(STATE, np.float32)
STATES = tuple(np.ones((ROWS, STATE), np.float32) for _ in range(2))
