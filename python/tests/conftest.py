# SPDX-License-Identifier: Apache-2.0
"""Where pytest was started in the background (`make test &`) shells have it ignore Ctrl-C, and so
do its children: tests that press it would wait for ever."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
