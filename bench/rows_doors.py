# SPDX-License-Identifier: Apache-2.0
"""Rows on the data of other libraries: D1 to D6."""

from row import Row, python

US = 1e6


def each(number, title, ours, peers, goals, limits=()):
    """Microseconds for each record."""
    return Row(number, title, "us", ours, peers, dict(limits), goals, US, "each")


def arrow_rows():
    """D1 and D2: goals of 1/1.3 of the time of touching the values, and of decoding them."""
    summed, ours = python("pyarrow_doors:summed"), python("ours_doors:arrow")
    shuffled = python("ours_doors:hugging_face", shuffle=True)
    return [
        each("D1", "Arrow file of token lists to batches, a record", ours, {},
             {"each value summed": 0.77}, {"each value summed": summed}),
        each("D1", "the same in random order", python("ours_doors:arrow", shuffle=True),
             {"pyarrow take": python("pyarrow_doors:take")}, {}),
        each("D1", "Parquet of token lists to batches, 1 core", python("ours_doors:parquet"),
             {"pyarrow iter_batches": python("pyarrow_doors:row_groups")},
             {"pyarrow iter_batches": 0.77}),
        each("D1", "Parquet of token lists to batches, 2 cores",
             python("ours_doors:parquet", "", 2),
             {"pyarrow iter_batches": python("pyarrow_doors:row_groups", "", 2)},
             {"pyarrow iter_batches": 0.91}),
        each("D2", "Hugging Face dataset to batches", python("ours_doors:hugging_face"),
             {"datasets, NumPy": python("datasets_doors:arrays")}, {"datasets, NumPy": 15}),
        each("D2", "Hugging Face dataset in random order", shuffled,
             {"datasets, Arrow": python("datasets_doors:shuffled")}, {"datasets, Arrow": 0.83}),
    ]  # fmt: skip


def number_rows():
    """D3: objects by number."""
    return [
        each("D3", "NumPy array in random order, a row of 64", python("ours_doors:array"),
             {"NumPy": python("numpy_doors:array")}, {"NumPy": 0.71}),
        each("D3", "ArrayRecord in random order", python("ours_doors:array_record", "", 2),
             {"Grain": python("grain_doors:array_record", "", 2)}, {"Grain": 5}),
        Row("D3", "50 million records in random order: first batch", "ms",
            python("ours_doors:fifty_million"), goals={"ours": 10}, scale=1e3, value="seconds"),
        Row("D3", "50 million records in random order: checkpoint", "bytes",
            python("ours_doors:fifty_million"), goals={"ours": 2048}, value="size"),
    ]  # fmt: skip


def format_rows():
    """D4 and D5: batches of ours against rows of theirs, and rows against rows."""
    peer = {"Megatron": python("megatron_doors:sequences")}
    shuffled = {"Megatron": python("megatron_doors:sequences", shuffled=True)}
    streaming = {"Streaming": python("streaming_doors:samples")}
    return [
        each("D4", "Megatron in order, batches", python("ours_doors:megatron"), peer,
             {"Megatron": 10}),
        each("D4", "Megatron, shuffle(10,000)", python("ours_doors:megatron", how="shuffle"),
             shuffled, {"Megatron": 4}),
        each("D4", "Megatron, shuffle_records", python("ours_doors:megatron", how="records"),
             shuffled, {}),
        each("D4", "Megatron, row by row", python("ours_doors:megatron", how="rows"), peer,
             {"Megatron": 2}),
        each("D5", "MDS in order, batches", python("ours_doors:mds"), streaming,
             {"Streaming": 40}),
        each("D5", "MDS, row by row", python("ours_doors:mds", how="rows"), streaming,
             {"Streaming": 20}),
    ]  # fmt: skip


def position_rows():
    """D6: what a position with each batch costs."""
    return [
        each("D6", "torch batch of 8,192 tokens with its position",
             python("ours_doors:positions", position=True),
             {"without position": python("ours_doors:positions")}, {"without position": 0.95}),
    ]  # fmt: skip


def door_rows():
    return [*arrow_rows(), *number_rows(), *format_rows(), *position_rows()]
