# SPDX-License-Identifier: Apache-2.0
"""Rows on segments of long sequences and their states, U1 to U4, and on receipts, U5.

32 rows of 64 steps with two states of 512 floats, and batches of 64 rows that stay in their slots.
"""

from row import Measure, Row, python


def work(what):
    """A work of the program `segments`."""
    return Measure("c", what, program="segments")


def slots_rows():
    """U1: rows that stay in their slots, of records that lie apart, against plain batches.

    A plain batch reads its rows in the order of memory; the limit copies those of slots.
    """
    return [
        Row(
            "U1", f"unroll in slots, rows of {title} from memory", "M rows/s",
            work(f"slots_{size}"),
            {
                "ours, plain batch": work(f"batch_{size}"),
                "ours, plain batch with the same columns": work(f"columns_{size}"),
            },
            {"memcpy of the same rows": work(f"copy_{size}")},
            {"memcpy of the same rows": least}, 1e-6,
        )
        for size, title, least in (
            ("512", "512 B", 0.55), ("2k", "2 KiB", 0.8), ("16k", "16 KiB", 0.85)
        )
    ]  # fmt: skip


def state_rows():
    """U2 to U4: states from a segment to the next, and in a checkpoint."""
    tf = {"TensorFlow's barrier, from Python": python("tf_segments:segments")}
    states = {"the states, copied": work("states")}
    return [
        Row("U2", "state saver in C, segments", "M segments/s", work("saver"), tf,
            goals={"TensorFlow's barrier, from Python": 10.0}, scale=1e-6),
        Row("U2", "unroll, layout ready, in C, segments", "M segments/s", work("ready"), tf,
            goals={"TensorFlow's barrier, from Python": 10.0}, scale=1e-6),
        Row("U3", "state saver in Python, with inserts", "k segments/s",
            python("ours_segments:segments"), tf, {"ours in C": work("saver")}, scale=1e-3),
        Row("U3", "next_batch and save_state in Python", "us", python("ours_segments:hand_over"),
            {"TensorFlow's barrier": python("tf_segments:hand_over")},
            {"the copies of the states": python("ours_segments:copies")},
            {"ours": 30, "TensorFlow's barrier": 10.0}, 1e6, "each"),
        Row("U3", "layout ready in Python: next, state, save_states", "us",
            python("ours_segments:ready"),
            limits={"the copies of the states": python("ours_segments:copies")},
            goals={"ours": 30}, scale=1e6, value="each"),
        Row("U4", "checkpoint of 256 sequences with two states: time to save", "ms",
            work("checkpoint"), {}, states, {"ours": 5}, 1e3, "each"),
        Row("U4", "checkpoint of 256 sequences with two states: size", "KiB", work("checkpoint"),
            {}, states, {"ours": 1190.4}, 1 / 1024, "mean"),
    ]  # fmt: skip


def receipt_rows():
    """U5: what the epoch receipt costs for each record."""
    limit = {"the numbers of the records, added up": Measure("c", "sum", program="receipts")}
    return [
        Row("U5", f"epoch receipt, records in {order}", "ns",
            Measure("c", work, program="receipts"), {}, limit, {"ours": 3}, 1e9, "each")
        for order, work in (
            ("file order", "runs"), ("the order of a shuffle of 8,192", "shuffled"),
            ("the order of a shuffle of all", "scattered"),
        )
    ]  # fmt: skip


def segment_rows():
    return [*slots_rows(), *state_rows(), *receipt_rows()]
