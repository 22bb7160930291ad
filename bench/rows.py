# SPDX-License-Identifier: Apache-2.0
"""What is compared with what: the rows of bench/RESULTS.md and their goals."""

from row import Measure, Row, Series, fused, limit_of, ours_c, python
from rows_doors import door_rows
from rows_formats import cached_lines, csv_rows, image_rows, media_rows, text_rows
from rows_lengths import boundary_rows, length_rows, order_rows
from rows_segments import segment_rows

SERIAL = "read(), then checked in cache"
PARALLEL = "read(), headers, then all checked in cache, 2 threads"
FUSED = "fused kernels"
TWICE = "fused kernels, two side by side"
ALONE = "ours in C"


def scan_rows():
    rows = []
    for number, size, name, goals in (
        ("1", "64 B", "plain64", {"TF-style copy": 3.0}),
        ("2", "1 KiB", "plain1k", {}),
        ("3", "64 KiB", "plain64k", {"TF-style copy": 1.5}),
    ):
        read = limit_of("read", name)
        check = Measure("c", "check", name, program="parse")
        limits = {SERIAL: Series(read, check), "read()": read, "checked in cache": check}
        if number == "1":
            limits["framing only"] = limit_of("frame", name)
        peers = {
            "TF-style copy": limit_of("tf_scan", name),
            "crc32c over spans": limit_of("span_scan", name),
        }
        rows.append(
            Row(
                number, f"TFRecord, verified, {size}, 1 thread", "GB/s",
                ours_c("scan", name), peers, limits, {**goals, SERIAL: 0.8}, 1e-9, "bytes",
            )
        )  # fmt: skip
        rows.append(
            Row(
                number, f"TFRecord, verified, {size}, one iterator with 2 threads", "GB/s",
                ours_c("scan", name, 2, 2), {"ours, 1 thread": ours_c("scan", name)},
                {
                    PARALLEL: Series(
                        limit_of("read", name, 2),
                        Measure("c", "check_twice", name, 2, program="parse"),
                    ),
                    "read(), 2 threads": limit_of("read", name, 2),
                },
                {"ours, 1 thread": 1.8}, 1e-9, "bytes",
            )
        )  # fmt: skip
    rows.append(
        Row(
            "3", "TFRecord, verified, 64 KiB, two iterators", "GB/s",
            ours_c("scan", "plain64k", 2), {"ours, 1 thread": ours_c("scan", "plain64k")},
            {"read(), 2 threads": limit_of("read", "plain64k", 2)}, {"ours, 1 thread": 1.7},
            1e-9, "bytes",
        )
    )  # fmt: skip
    return rows + gzip_rows()


def gzip_rows():
    return [
        Row(
            "4", "gzip text to lines", "GB/s", ours_c("lines", "text.gz"),
            {"zlib": limit_of("zlib", "text.gz")},
            {
                "igzip": limit_of("igzip", "text.gz"),
                "igzip, then lines in cache": Series(limit_of("igzip", "text.gz"), cached_lines()),
            },
            {"zlib": 2.4, "igzip": 0.95}, 1e-9, "bytes",
        ),
        Row(
            "4", "gzip text to lines, 8 files, 2 threads", "M lines/s", shards(2),
            {"ours, 1 thread": shards(1)},
            {}, {"ours, 1 thread": 1.9}, 1e-6,
        ),
    ]  # fmt: skip


def shards(threads):
    return python("ours:text_shards", "text.gz", threads, threads=threads)


def padding_only(name):
    """The limit of A: its padded batches of 256 are filled, nothing is read and nothing parsed."""
    if name != "a":
        return {}
    return {"padding only, memset + memcpy": limit_of("pad_a", name)}


def parse_rows():
    rows = []
    for number, name, title, least in (
        ("9", "a", "Example A (248 tokens) to padded", None),
        ("10", "b", "Example B (40 scalars) to columns", 3.5),
        ("11", "f", "Example F (512 floats) to columns", 2.0),
    ):
        limits = {"one copy": limit_of("copy_records", name), **padding_only(name)}
        limits[FUSED] = fused(f"fused_{name}_memory", name)
        goals = {FUSED: 0.6} if name == "a" else {"TF-style": least}
        rows.append(
            Row(
                number, title + ", from memory", "M examples/s",
                Measure("c", f"parse_{name}", name, program="parse"),
                {"TF-style": limit_of(f"tf_parse_{name}", name)}, limits, goals, 1e-6,
            )
        )  # fmt: skip
    for name, goals, twice in (
        ("a", {}, 1.6), ("b", {"TF-style": 3.5}, 1.7), ("f", {"TF-style": 3.0}, 1.7)
    ):  # fmt: skip
        ours, peer = f"batch_{name}", limit_of(f"tf_batch_{name}", name)
        title = f"file {name.upper()} to padded batches of 256"
        rows.append(
            Row(
                "12", title + ", 1 thread", "M examples/s", ours_c(ours, name),
                {"TF-style": peer}, {FUSED: fused(f"fused_{name}", name), **padding_only(name)},
                {**goals, FUSED: 0.6}, 1e-6,
            )
        )  # fmt: skip
        rows.append(
            Row(
                "12", title + ", 2 threads", "M examples/s", ours_c(ours, name, 2, 2),
                {
                    "ours, 1 thread": ours_c(ours, name),
                    "TF-style, 2 threads": limit_of(f"tf_batch_{name}", name, 2),
                },
                {
                    TWICE: fused(f"fused_{name}", name, 2),
                    "DRAM copy, 2 threads": limit_of("copy_records", name, 2),
                },
                {"ours, 1 thread": twice}, 1e-6,
            )
        )  # fmt: skip
    return rows + pipeline_c_rows()


def pipeline_c_rows():
    """Narrow tokens, the main job, and SequenceExamples, in C."""
    rows = [
        Row(
            "12", f"file A to padded batches of 256, tokens as {dtype}, 1 thread", "M examples/s",
            ours_c(f"batch_a_{dtype}", "a"), {"ours, int64": ours_c("batch_a", "a")},
            {f"{FUSED}, int64": fused("fused_a", "a")}, {"ours, int64": 1.0}, 1e-6,
        )
        for dtype in ("int32", "uint16")
    ]  # fmt: skip
    for work, name, title in (
        ("main", "a", "main job: A, shuffle of 10,000, buckets"),
        ("buckets", "a", "file A to buckets"),
        ("batch", "s", "file S (SequenceExamples) to padded batches of 256"),
        ("buckets", "s", "file S to buckets"),
    ):
        ours = f"{work}_{name}"
        kernels = f"fused_{name}" if work == "batch" else f"fused_{ours}"
        rows.append(
            Row(
                "12", title + ", 1 thread", "M examples/s", ours_c(ours, name), {},
                {FUSED: fused(kernels, name)}, {FUSED: 0.6}, 1e-6,
            )
        )  # fmt: skip
        rows.append(
            Row(
                "12", title + ", 2 threads", "M examples/s", ours_c(ours, name, 2, 2),
                {"ours, 1 thread": ours_c(ours, name)}, {TWICE: fused(kernels, name, 2)}, {}, 1e-6,
            )
        )  # fmt: skip
    rows.append(
        Row(
            "12", "main job with a look-ahead of 4,000, 1 thread", "M examples/s",
            ours_c("main_lookahead_a", "a"), {"ours, boundaries": ours_c("main_a", "a")},
            {FUSED: fused("fused_main_a", "a")}, {"ours, boundaries": 0.8}, 1e-6,
        )
    )  # fmt: skip
    return rows


def python_rows():
    return [
        Row(
            "13", "Python loop over padded batches of A", "M examples/s",
            python("ours:padded", "a"),
            {"Python protobuf": python("python_proto:padded", "a", limit=30_000)},
            {
                ALONE: ours_c("batch_a", "a"),
                FUSED: fused("fused_a", "a"),
                "ours in C, a batch held as Python holds it": ours_c("batch_held_a", "a"),
            },
            {"ours in C, a batch held as Python holds it": 0.95}, 1e-6,
        ),
        *(
            Row(
                "13", f"records one by one in Python, {title}", "ns",
                python("ours:one_by_one", "a", parsed=parsed), {},
                {"the objects alone": python("limits:records", parsed=parsed)}, {"ours": most},
                1e9, "each",
            )
            for title, parsed, most in (("raw", False, 450), ("A as dicts", True, 900))
        ),
        Row(
            "19", "pad 64 ragged rows to int64", "GB/s", python("ours:pad"),
            {"NumPy row loop": python("numpy_pad:row_loop"), "lists": python("numpy_pad:lists")},
            {"memset + memcpy": limit_of("pad", "f")},
            {"NumPy row loop": 2.5, "lists": 80.0, "memset + memcpy": 0.85}, 1e-9,
        ),
    ]  # fmt: skip


MAIN_JOB = {
    "tf recipe": python("tf_example:recipe", "a", limit=40_000),
    "tf window sort": python("tf_example:window", "a"),
    "protobuf + own buckets": python("python_proto:buckets", "a", limit=50_000),
    "torch DataLoader": python("torch_loader:loader", "a", limit=50_000),
    "mlx-data": python("mlx_pipeline:buckets", "a", limit=50_000),
    "grain": python("grain_pipeline:buckets", "a", limit=30_000),
}


def sequence_rows():
    """P1, P2 on one and two cores."""
    on = {"threads": 2, "autotune": False}
    return [
        Row(
            "P1", "A to buckets to padded NumPy, 1 core", "k examples/s",
            python("ours:buckets", "a"),
            MAIN_JOB,
            {ALONE: ours_c("buckets_a", "a"), FUSED: fused("fused_buckets_a", "a")},
            {"tf window sort": 20.0, "mlx-data": 1.0, "grain": 1.0}, 1e-3,
        ),
        Row(
            "P1", "A to buckets to padded NumPy, 2 cores", "k examples/s",
            python("ours:buckets", "a", 2, threads=2),
            {
                "tf recipe, no autotune": python("tf_example:recipe", "a", 2, limit=40_000, **on),
                "tf window sort, ragged": python("tf_example:window", "a", 2, ragged=True, **on),
                "ours, 1 core": python("ours:buckets", "a"),
            },
            {ALONE: ours_c("buckets_a", "a", 2, 2), TWICE: fused("fused_buckets_a", "a", 2)},
            {"tf window sort, ragged": 30.0, "ours, 1 core": 1.6}, 1e-3,
        ),
        Row(
            "P2", "S to buckets to padded NumPy, 1 core", "k examples/s",
            python("ours:sequences", "s"),
            {
                "tf recipe": python("tf_sequence:recipe", "s", limit=15_000),
                "tf window sort": python("tf_sequence:window", "s", limit=25_000),
                "Python protobuf": python("python_proto:sequences", "s", limit=2_000),
            },
            {ALONE: ours_c("buckets_s", "s"), FUSED: fused("fused_buckets_s", "s")},
            {"tf window sort": 10.0}, 1e-3,
        ),
        Row(
            "P2", "S to buckets to padded NumPy, 2 cores", "k examples/s",
            python("ours:sequences", "s", 2, threads=2),
            {
                "tf window sort": python("tf_sequence:window", "s", 2, limit=25_000, **on),
                "ours, 1 core": python("ours:sequences", "s"),
            },
            {ALONE: ours_c("buckets_s", "s", 2, 2), TWICE: fused("fused_buckets_s", "s", 2)},
            {"tf window sort": 10.0}, 1e-3,
        ),
    ]  # fmt: skip


def column_rows():
    """P3 on one and two cores."""
    on = {"threads": 2, "autotune": False}
    return [
        Row(
            "P3", "B to columns, 1 core", "k examples/s", python("ours:columns", "b"),
            {
                "tf parse_example": python("tf_example:columns", "b"),
                "Python protobuf": python("python_proto:columns", "b", limit=15_000),
            },
            {ALONE: ours_c("batch_b", "b"), FUSED: fused("fused_b", "b")},
            {"tf parse_example": 14.0}, 1e-3,
        ),
        Row(
            "P3", "B to columns, 2 cores", "k examples/s",
            python("ours:columns", "b", 2, threads=2),
            {"tf parse_example": python("tf_example:columns", "b", 2, **on)},
            {ALONE: ours_c("batch_b", "b", 2, 2), TWICE: fused("fused_b", "b", 2)},
            {"tf parse_example": 14.0}, 1e-3,
        ),
    ]  # fmt: skip


def reader_rows():
    """P4: records in blocks, checksums verified."""
    rows = []
    for name, title, least in (
        ("plain64", "64 B", 40.0),
        ("plain1k", "1 KiB", 15.0),
        ("a", "A", 15.0),
        ("a.gz", "gzip of A", 3.0),
    ):
        peers = {"tf.data": python("tf_scan:scan", name, name=name, limit=1_000_000)}
        read = limit_of("igzip" if name == "a.gz" else "read", name)
        check = Measure("c", "check", name.removesuffix(".gz"), program="parse")
        serial = SERIAL.replace("read()", "igzip") if name == "a.gz" else SERIAL
        if name != "a.gz":
            peers["Python + crc32c"] = python("python_scan:scan", name, name=name, limit=500_000)
        rows.append(
            Row(
                "P4", f"TFRecord scan in Python, {title}", "M records/s",
                python("ours:scan", name, name=name), peers,
                {ALONE: ours_c("scan", name), serial: Series(read, check)},
                {"tf.data": least, ALONE: 0.9}, 1e-6,
            )
        )  # fmt: skip
    return rows


def queue_work(what, cores=2):
    """A work of the queues program; its threads are its own."""
    return Measure("c", what, cores=cores, inner=2, program="queues")


BARE = "a ring without a lock, 1 producer, 1 consumer"


def hand_over_rows():
    """17: one item to a thread that waits for it."""

    def row(title, unit, shape, least, scale, value):
        peers = {
            "TF-style": queue_work(f"tf_{shape}"),
            "condition variables": queue_work(f"cond_{shape}"),
        }
        goals = {"condition variables": least}
        ours = queue_work(f"ours_{shape}")
        limits = {} if shape == "asleep" else {BARE: queue_work(f"bare_{shape}")}
        return Row("17", title, unit, ours, peers, limits, goals, scale, value)

    return [
        row("hand-over to a thread that waits", "M/s", "handover", 2.0, 1e-6, "n"),
        row("hand-over to a thread that sleeps", "us", "asleep", 1.0, 1e-3, "mean"),
    ]


def queue_rows():
    """14 to 18: queues in C, 8-byte items.

    moodycamel's promises less: it has no bound, and no order between producers.
    """
    rows = []
    for number, shape, title, tf, cond, moodycamel in (
        ("14", "1p1c_1", "1 producer, 1 consumer, one at a time", 3.0, 1.0, None),
        ("14", "2p2c_1", "2 producers, 2 consumers, one at a time", 3.0, 1.0, None),
        ("15", "1p1c_64", "1 producer, 1 consumer, 64 at a time", 5.0, None, 0.8),
        ("15", "2p2c_64", "2 producers, 2 consumers, 64 at a time", 5.0, None, 0.8),
        ("16", "4p_64", "4 producers of one, dequeue_many(64)", 3.5, 1.5, None),
    ):
        goals = {
            "TF-style": tf,
            "condition variables": cond,
            "moodycamel, unbounded": moodycamel,
        }
        rows.append(
            Row(
                number, f"FIFO queue, {title}", "M items/s", queue_work(f"ours_{shape}"),
                {
                    "TF-style": queue_work(f"tf_{shape}"),
                    "condition variables": queue_work(f"cond_{shape}"),
                    "moodycamel, unbounded": queue_work(f"moodycamel_{shape}"),
                },
                {BARE: queue_work(f"bare_1p1c_{64 if shape.endswith('64') else 1}")},
                {name: least for name, least in goals.items() if least}, 1e-6,
            )
        )  # fmt: skip
    rows += hand_over_rows()
    rows.append(
        Row(
            "18", "random shuffle queue of 10,000, one in, one out", "M pairs/s",
            queue_work("ours_shuffle", 1), {"TF-style": queue_work("tf_shuffle", 1)},
            {"an array without a lock": queue_work("bare_shuffle", 1)}, {"TF-style": 3.0}, 1e-6,
        )
    )  # fmt: skip
    rows.append(
        Row("18", "CPU of a pipeline whose threads wait", "% of a core",
            Measure("idle", "ours_idle", cores=2, program="queues"),
            goals={"ours": 5}, scale=100, value="cpu")
    )  # fmt: skip
    return rows


TRAIN_LIMITS = {
    "one": ("a deque", "one"),
    "many": ("two copies", "many"),
    "shuffle": ("two copies", "many"),
    "padding": ("two copies", "padding"),
    "runner": ("two copies", "many"),
    "buckets": ("two copies", "padding"),
    "barrier": ("a dict", "barrier"),
}


def train_rows():
    """P5: queues, the barrier and buckets from Python."""
    rows = []
    for what, title, least in (
        ("one", "FIFO queue, one in, one out", 20.0),
        ("many", "FIFO queue, 64 in, 64 out", 10.0),
        ("shuffle", "random shuffle queue, 64 in, 64 out", 10.0),
        ("padding", "padding queue, 4 x 16 in, dequeue_many(64)", None),
        ("runner", "queue runner of a dataset, dequeue_many(64)", 10.0),
        ("runner_python", "queue runner of a function, dequeue_many(64)", 5.0),
        ("barrier", "barrier, insert_many and take_many of 64", 10.0),
        ("buckets", "bucket_by_sequence_length(64) of a dataset", 20.0),
        ("buckets_python", "bucket_by_sequence_length(64) of a function", 20.0),
    ):
        peers = {"TensorFlow": python(f"tf_queues:{what.removesuffix('_python')}")}
        name, limit = TRAIN_LIMITS.get(what, ("a function called for each", "calls"))
        rows.append(
            Row(
                "P5", f"{title}, 1 core", "k/s", python(f"ours_queues:{what}"), peers,
                {name: python(f"limits:{limit}")},
                {"TensorFlow": least} if least else {}, 1e-3,
            )
        )  # fmt: skip
    return rows


def pipeline_rows():
    """P5: the input program of TensorFlow 1.x."""
    peers = {
        "tf queue runners": python("tf_pipeline:classic", "a"),
        "tf, strings in batches": python("tf_pipeline:blocks", "a"),
        "tf, read_up_to": python("tf_pipeline:vectors", "a"),
        "ours, read_up_to": python("ours_pipeline:blocks", "a"),
        "ours, one by one": python("ours_pipeline:examples", "a"),
    }
    return [
        Row(
            "P5", "names, reader, parse, batch(64, dynamic_pad), 1 core", "k examples/s",
            python("ours_pipeline:dataset", "a"), peers, {ALONE: ours_c("batch_a", "a")},
            {"tf queue runners": 20.0}, 1e-3,
        )
    ]  # fmt: skip


def mix_rows():
    return [
        Row(
            "S1", "mix of three shuffles, 1 thread", "M records/s", ours_c("mix_shuffled", ""),
            {"ours, not shuffled": ours_c("mix", "")},
            {"ours, the shuffle alone": ours_c("shuffle", "")}, {"ours, the shuffle alone": 0.4},
            1e-6,
        )
    ]  # fmt: skip


def cost_rows():
    """P9, P10, P12: less is better; the goal is the largest value allowed."""
    save, theirs = python("ours:checkpoint", "a"), python("tf_checkpoint:checkpoint", "a")
    imports = {name: Measure("import", name) for name in ("tensorflow", "torch", "grain", "numpy")}
    sizes = {
        name: Measure("size", name) for name in ("tensorflow-cpu", "torch", "grain", "mlx-data")
    }
    first = {name: Measure("first", name, "a", 2) for name in ("tf", "torch", "grain")}
    ours_first = Measure("first", "levada", "a", 2)
    return [
        Row("P9", "checkpoint: shuffle(10,000) + buckets, size", "KiB", save, {"tf.data": theirs},
            goals={"ours": 256}, scale=1 / 1024, value="size"),
        Row("P9", "checkpoint: time to save", "ms", save, {"tf.data": theirs},
            goals={"ours": 2}, scale=1e3, value="seconds"),
        Row("P9", "checkpoint: restore to next batch", "ms", save, {"tf.data": theirs},
            scale=1e3, value="restore_seconds"),
        Row("P10", "import (ours: after NumPy's)", "ms", Measure("import", "levada"), imports,
            {"an extension of Python's own": Measure("import", "_lzma")},
            goals={"ours": 15}, scale=1e3, value="seconds"),
        Row("P10", "installed, with dependencies, without NumPy", "MB", Measure("size", "levada"),
            sizes, goals={"ours": 5}, scale=1e-6, value="size"),
        Row("P12", "process start to first batch of P1", "s", ours_first, first,
            {"Python and NumPy": python("limits:process", cores=2, code="import numpy")},
            goals={"ours": 0.25}, value="seconds"),
        Row("P12", "peak memory at the first batch of P1", "MB", ours_first, first,
            goals={"ours": 100}, value="peak_mb"),
    ]  # fmt: skip


ROWS = [
    *scan_rows(),
    *parse_rows(),
    *python_rows(),
    *queue_rows(),
    *sequence_rows(),
    *column_rows(),
    *reader_rows(),
    *train_rows(),
    *pipeline_rows(),
    *mix_rows(),
    *boundary_rows(),
    *length_rows(),
    *order_rows(),
    *text_rows(),
    *csv_rows(),
    *media_rows(),
    *image_rows(),
    *segment_rows(),
    *door_rows(),
    *cost_rows(),
]
