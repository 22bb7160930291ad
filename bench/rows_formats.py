# SPDX-License-Identifier: Apache-2.0
"""Rows on formats: lines, CSV, JSON lines, tar, images, sounds: 5 to 8, 19b to 24, P6 to P8."""

from row import Measure, Row, Series, limit_of, ours_c, python

GB, MB = 1e-9, 1e-6


def table(what, name):
    """A work of the program `tables`."""
    return Measure("c", what, name, program="tables")


def cached_lines():
    """Lines found in the cache: what comes after reading or decompressing."""
    return Measure("c", "lines", "text", program="parse")


def text_rows():
    """5, 6, 19b, 24 and P7: one thread, beside read() and the libraries that decode."""
    unzstd = Measure("c", "zstd", "text.zst", program="unzstd")
    ondemand = Measure("c", "texts", "jsonl", program="ondemand")
    whole = Measure("c", "whole", "jsonl", program="ondemand")
    zstd, lines = ours_c("lines", "text.zst"), ours_c("lines", "text")
    return [
        Row("5", "zstd text to lines", "GB/s", zstd, {},
            {"libzstd": unzstd, "libzstd, then lines in cache": Series(unzstd, cached_lines())},
            {"libzstd": 0.95}, GB, "bytes"),
        Row("5", "zstd text to lines, two iterators", "GB/s", ours_c("lines", "text.zst", 2),
            {"ours, 1 thread": zstd},
            {"libzstd, two side by side": Measure("c", "zstd", "text.zst", 2, program="unzstd")},
            {"ours, 1 thread": 1.9}, GB, "bytes"),
        Row("6", "text to lines", "GB/s", lines,
            {"getline()": table("getline", "text"), "Python": python("stdlib_text:lines", "text")},
            {"read()": limit_of("read", "text"),
             "read(), then lines in cache": Series(limit_of("read", "text"), cached_lines())},
            {"getline()": 8.0, "Python": 15.0, "read()": 0.45}, GB, "bytes"),
        Row("19b", "JSON lines of 1 KB, one text of each", "GB/s", ours_c("jsonl", "jsonl"),
            {"orjson": python("orjson_lines:texts", "jsonl"),
             "Python": python("stdlib_text:json", "jsonl")},
            {"simdjson on demand, not validated": ondemand, "simdjson, whole documents": whole},
            {"orjson": 2.0, "Python": 8.0, "simdjson on demand, not validated": 0.7}, GB, "bytes"),
        Row("24", "tar of members of 4 KB", "GB/s", ours_c("tar", "tar"),
            {"Python": python("stdlib_text:tar", "tar"),
             "webdataset": python("webdataset_samples:samples", "tar")},
            {"read()": limit_of("read", "tar")}, {"Python": 25.0}, GB, "bytes"),
        *line_rows(lines),
    ]  # fmt: skip


def line_rows(in_c):
    """P7: lines from Python."""
    ours = python("ours_formats:lines", "text")
    peers = {
        "Polars": python("polars_tables:lines", "text"),
        "pyarrow": python("pyarrow_tables:lines", "text"),
        "Python": python("stdlib_text:lines", "text"),
        "tf.data": python("tf_text:lines", "text"),
    }
    return [
        Row("P7", "text to lines in Python, 1 core", "MB/s", ours, peers, {"ours in C": in_c},
            {"Polars": 4.0, "pyarrow": 4.0}, MB, "bytes"),
        Row("P7", "text to lines in Python, 2 cores", "MB/s",
            python("ours_formats:lines", "text", 2, threads=2),
            {"Polars": python("polars_tables:lines", "text", 2), "ours, 1 core": ours},
            {"ours in C": ours_c("lines", "text", 2, 2)}, {"Polars": 4.0}, MB, "bytes"),
    ]  # fmt: skip


def tables_of(name, cores):
    """The libraries that make tables; pandas has one thread."""
    modules = {"Polars": "polars", "pyarrow": "pyarrow"}
    modules |= {"pandas": "pandas"} if cores == 1 else {}
    return {
        title: python(f"{module}_tables:csv", name, cores, name=name)
        for title, module in modules.items()
    }  # fmt: skip


def csv_rows():
    """7, 8 and P6."""
    rows = []
    for number, name, title, in_python in (
        ("7", "numbers", "CSV, 13 columns of numbers", ((6.0, 6.0), (5.0, 5.0))),
        ("8", "quoted", "CSV, strings in quotes", ((5.0, 5.0), (4.0, 4.0))),
    ):
        work = f"csv_{name}"
        limits = {"read and index": table("csv_index", name)}
        if name == "numbers":
            limits["the kernels in one loop"] = table("csv_numbers", name)
        else:
            limits["index, and copy each string"] = table("csv_strings", name)
        alone, both = ours_c(work, name), ours_c(work, name, 2, 2)
        goals = {"Polars": 5.0}
        if name == "numbers":
            goals |= {"pandas": 8.0, "the kernels in one loop": 0.6}
        rows += [
            Row(number, f"{title}, 1 thread", "GB/s", alone, tables_of(name, 1), limits, goals,
                GB, "bytes"),
            Row(number, f"{title}, 2 threads", "GB/s", both,
                {"ours, 1 thread": alone, **tables_of(name, 2)},
                {"read(), 2 threads": limit_of("read", name, 2)},
                {"ours, 1 thread": 1.8, "Polars": 5.0}, GB, "bytes"),
            *table_rows(name, title, in_python, alone, both),
        ]  # fmt: skip
    return rows


def table_rows(name, title, least, alone, both):
    """P6: columns of numbers as arrays; columns of strings stay in the memory of the library."""
    rows = []
    for cores, in_c, goals in ((1, alone, least[0]), (2, both, least[1])):
        peers = tables_of(name, cores)
        if cores == 1:
            peers["tf CsvDataset"] = python("tf_text:csv", name, name=name)
            peers["Python"] = python("stdlib_text:csv", name, name=name)
        rows.append(
            Row("P6", f"{title}, in Python, {cores} core{'s' if cores > 1 else ''}", "MB/s",
                python("ours_formats:csv", name, cores, name=name, threads=cores), peers,
                {"ours in C": in_c}, dict(zip(("Polars", "pyarrow"), goals, strict=True)),
                MB, "bytes")
        )  # fmt: skip
    return rows


def media(what):
    """A work of the program `media`, which makes its data itself."""
    return Measure("c", what, program="media")


def media_rows():
    """20 to 23: images and sounds, one thread, beside the libraries that decode them."""
    images = "images/s"
    return [
        Row("20", "JPEG of 500 x 375", images, media("jpeg"),
            {"Pillow": python("pil_images:decode", kind="jpeg"),
             "mlx-data": python("mlx_images:decode")},
            {"libjpeg-turbo": media("turbo")}, {"libjpeg-turbo": 0.97, "mlx-data": 1.0}),
        Row("20", "JPEG, a window of 224 x 224 at a random place", images, media("jpeg_crop"),
            {"the whole image": media("jpeg")}, {"libjpeg-turbo": media("turbo_crop")},
            {"the whole image": 1.7}),
        Row("21", "PNG of 500 x 375", images, media("png"),
            {"Pillow": python("pil_images:decode", kind="png")},
            {"libpng": media("libpng")}, {"libpng": 1.0}),
        *(Row("22", f"{kind} of 16 bits, one channel, to float32", "M samples/s",
              media(kind.lower()), {"soundfile": python("sf_sounds:decode", kind=kind)},
              {title: media(limit)}, {"soundfile": goal}, 1e-6)
          for kind, goal, title, limit in (("WAV", 4.0, "the conversion alone", "convert"),
                                           ("FLAC", 1.05, "libFLAC", "libflac"))),
        Row("23", "resample 44,100 to 16,000", "M samples/s", media("resample"), {},
            {"soxr": media("soxr")}, {"soxr": 0.95}, 1e-6),
        Row("23", "change_speed by 1.1", "M samples/s", media("change_speed"), {},
            {"soxr": media("soxr_speed")}, {"soxr": 0.95}, 1e-6),
        *(Row("23", f"{stage} of a minute in memory, in Python", "M samples/s",
              python("ours_formats:sounds", kind=stage), {"NumPy": python(f"numpy_mel:{stage}")},
              {"a copy": python("numpy_mel:copied")}, {}, 1e-6)
          for stage in ("gain", "spec_augment")),
        Row("23", "add_noise, white, beside the reading of the file", "M samples/s",
            media("white_noise"), {"NumPy, in memory": python("numpy_mel:white_noise")}, {},
            {"NumPy, in memory": 1.0}, 1e-6),
        Row("23", "log_mel of 80 bands", "M samples/s", media("log_mel"),
            {"NumPy": python("numpy_mel:spectrogram")}, {"the transforms alone": media("fft")}, {},
            1e-6),
    ]  # fmt: skip


def image_rows():
    """P8: images in memory to arrays, in Python, one core."""
    whole = python("ours_formats:images")
    peers = {
        "mlx-data": python("mlx_images:decode"),
        "tf, eager": python("tf_text:images"),
        "Pillow": python("pil_images:decode", kind="jpeg"),
        "torchcodec": python("torchcodec_images:decode"),
    }
    return [
        Row("P8", "JPEG of 500 x 375 in Python, 1 core", "images/s", whole, peers,
            {"libjpeg-turbo": media("turbo")}, dict.fromkeys(peers, 1.0)),
        Row("P8", "JPEG in Python, a window of 224 x 224, 1 core", "images/s",
            python("ours_formats:images", crop=(224, 224)), {"the whole image": whole},
            {"libjpeg-turbo": media("turbo_crop")}, {"the whole image": 1.7}),
        *augment_rows(),
    ]  # fmt: skip


def augment_rows():
    """P8: augmentation, in Python, one core, beside torchvision on tensors."""
    rows = [
        Row("P8", f"{title} of 500 x 375, 1 core", "images/s",
            python("ours_formats:augmented", kind=what),
            {"torchvision": python("torchvision_images:stage", kind=what)}, {},
            {"torchvision": 2.0})
        for what, title in (
            ("crop", "random_resized_crop to 224 x 224"),
            ("flip", "random_flip"),
            ("normalize", "normalize, channels first"),
            ("pad", "pad_to 512 x 512"),
        )
    ]  # fmt: skip
    whole = Row(
        "P8", "JPEG to a normalized window of 224 x 224, 1 core", "images/s",
        python("ours_formats:windows"), {"torchvision": python("torchvision_images:decode")},
        {"libjpeg-turbo": media("turbo_crop")}, {"torchvision": 2.0},
    )  # fmt: skip
    return [*rows, whole]
