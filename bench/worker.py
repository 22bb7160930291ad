# SPDX-License-Identifier: Apache-2.0
"""A long-lived, pinned process that runs bench functions on request, one JSON line each.

The driver keeps one worker for each library and number of cores, so that an import is paid once and
thread pools are sized for the cores that the run may use. Requests: {"call": "module:function",
"options": {...}, "least": seconds}; answers: the function's dict, or {"error": text}.
"""

import importlib
import json
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))


def repeated(call, options, least):
    """Calls until `least` seconds are measured; n, bytes, seconds and cpu are sums."""
    result = call(**options)
    while "n" in result and result["seconds"] < least and result["n"] > 1:
        more = call(**options)
        for sum_of in ("n", "seconds", "cpu", "bytes"):
            if sum_of in result:
                more[sum_of] += result[sum_of]
        result = more
    return result


def answer(request):
    module, function = request["call"].split(":")
    try:
        call = getattr(importlib.import_module(module), function)
        result = repeated(call, request["options"], request["least"])
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    return result


def main():
    os.sched_setaffinity(0, {int(core) for core in sys.argv[1].split(",")})
    sys.path[:0] = [HERE, os.path.join(HERE, "peers")]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not end up among the answers
    for line in sys.stdin:
        out.write(json.dumps(answer(json.loads(line))) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
