# SPDX-License-Identifier: Apache-2.0
"""Rows on boundaries, padding, packing and orders: 26 to 28, and P13."""

from row import Measure, Row, python


def boundary_rows():
    """26: boundaries of a histogram of 60,000 lengths up to 2,048."""
    rows = [
        Row(
            "26", f"{buckets} boundaries: padding to them", "% padding",
            python("ours_lengths:chosen", buckets=buckets),
            {"10 of equal width": python("limits_lengths:equal_width", buckets=10)},
            {"every choice tried": python("limits_lengths:best_boundaries", buckets=buckets)},
            {"10 of equal width": least, "every choice tried": 1.0}, 100, "padding",
        )
        for buckets, least in ((10, 1 / 0.65), (16, 1 / 0.4))
    ]  # fmt: skip
    rows.append(
        Row(
            "26", "16 boundaries: time to choose", "ms",
            python("ours_lengths:chosen", buckets=16), {},
            {"16 passes of NumPy": python("limits_lengths:passes", buckets=16)}, {"ours": 2},
            1e3, "each",
        )
    )  # fmt: skip
    return rows


def gather(what):
    """A work of the program `gathers`."""
    return Measure("c", what, program="gathers")


def padding_rows(number, title, ours, peers, limit, most, speed, rows=None):
    """Padding and speed of the same runs; the sequences are in memory.

    `rows`: the copies of such rows, in their order, into such batches.
    """
    copies = {"two copies": python("limits_lengths:copied"), **(rows or {})}
    return [
        Row(number, f"{title}: padding", "% padding", ours, peers, limit,
            {"ours": most} if most else {}, 100, "padding"),
        Row(number, f"{title}: speed", "k records/s", ours, peers, copies, speed, 1e-3),
    ]  # fmt: skip


def grouping_rows():
    """P13: what buckets cost besides padding, on integers."""
    return [
        Row("P13", "buckets: more than plain batches of 256, for each record", "ns",
            python("ours_lengths:grouping"), {}, {}, {"ours": 25}, 1e9, "more"),
        Row("P13", "buckets of 4 records in Python, for each batch", "us",
            python("ours_lengths:small_batches"), {}, {}, {"ours": 5}, 1e6, "batch"),
    ]  # fmt: skip


def length_rows():
    """P13 and 27: padding within a budget of 16,384 steps, and packed to 2,048."""
    rows = grouping_rows()
    tf = {"tf.data, 16 buckets": python("tf_lengths:buckets")}
    limit = {"all sorted": python("limits_lengths:all_sorted")}
    for window, most in ((4_000, 2.5), (16_000, 0.9)):
        peers = {
            "mlx-data": python("mlx_lengths:lookahead", window=window),
            "Lhotse, not copied": python("lhotse_lengths:lookahead", window=window),
            **tf,
        }
        rows += padding_rows(
            "P13", f"look-ahead of {window:,}", python("ours_lengths:lookahead", window=window),
            peers, limit, most, dict.fromkeys(peers, 1.0),
        )  # fmt: skip
    rows += padding_rows(
        "P13", "boundaries chosen while data flows", python("ours_lengths:buckets"), tf, limit,
        None, {"tf.data, 16 buckets": 1.0}, {"the rows, copied": gather("buckets"),
                                             "copied in the order of memory": gather("plain")},
    )  # fmt: skip
    rows += padding_rows(
        "27", "packed to 2,048, 64 open bins", python("ours_lengths:packed"),
        {"Grain, first-fit": python("grain_lengths:packed")},
        {"best-fit, all open": python("limits_lengths:best_packed")}, 0.5,
        {"Grain, first-fit": 200.0}, {"the rows, copied": gather("packed")},
    )  # fmt: skip
    return rows


def order(what):
    """A work of the program `orders`."""
    return Measure("c", what, program="orders")


def order_rows():
    """28 and P11: one place of a shuffle of ten million; ours and Grain keep nothing of them."""
    peers = {
        "Fisher-Yates, 40 MB": order("fisher_yates"),
        "grain": python("grain_lengths:shuffled"),
    }
    in_python = {
        "torch.randperm, 80 MB": python("torch_orders:shuffled"),
        "NumPy, 80 MB": python("numpy_orders:shuffled"),
        "grain": peers.pop("grain"),
    }
    limits = {"one random number": order("hash")}
    return [
        Row(number, title, "ns", order("permutation"), those, limits, {"ours": 25}, 1e9, "each")
        for number, title, those in (
            ("28", "index of a shuffle of all records", peers),
            ("P11", "index of a shuffle of all records, against Python's", in_python),
        )
    ]
