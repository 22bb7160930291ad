# SPDX-License-Identifier: Apache-2.0
"""pyarrow, imported when it is first needed."""


def pyarrow():
    """The module pyarrow, imported when it is first needed."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("this needs pyarrow 17 or newer: pip install pyarrow") from error
    if int(pa.__version__.split(".")[0]) < 17:
        raise ImportError(f"this needs pyarrow 17 or newer, found {pa.__version__}")
    return pa
