# SPDX-License-Identifier: Apache-2.0
"""Stages on images for training against torchvision's definitions, written out in NumPy."""

import io
import math
import struct
import zlib

import levada as lv
import numpy as np
import pytest
from test_media import DATA, ERRORS, needs_data, needs_jpeg, needs_png, png

PHOTOS = sorted((DATA / "jpeg/jpeg-decoder/reftest/images").glob("**/*.jpg"))

WORD = 2**64
STEP = 0x9E3779B97F4A7C15


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB % WORD
    return x ^ x >> 31


def key_of(seed, epoch):
    return mix(mix((seed + STEP) % WORD) ^ (epoch * STEP + 1) % WORD)


def draw(key, n):
    return mix((key + (n + 1) * STEP) % WORD)


def record_key(seed, epoch, record, times=0):
    """The key of a record of a first source, in a pass of it."""
    return key_of(key_of(key_of(key_of(seed, epoch), times), 0), record)


def window_of(key, height, width, scale, ratio):
    """RandomResizedCrop.get_params of torchvision, with these draws."""
    n = iter(range(40))

    def uniform(low, high):
        return low + (draw(key, next(n)) >> 11) * 2.0**-53 * (high - low)

    def randint(bound):
        return draw(key, next(n)) * bound >> 64

    for first in range(0, 40, 4):
        n = iter(range(first, first + 4))
        area = height * width * uniform(*scale)
        aspect = math.exp(uniform(*map(math.log, ratio)))
        w = round(math.sqrt(area * aspect))
        h = round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return randint(height - h + 1), randint(width - w + 1), h, w
    w, h = width, height
    if width / height < min(ratio):
        h = max(1, round(w / min(ratio)))  # torchvision fails without a pixel
    elif width / height > max(ratio):
        w = max(1, round(h * max(ratio)))
    return (height - h) // 2, (width - w) // 2, h, w


def weights(n, m, antialias):
    """Rows of weights of the m numbers that torch.nn.functional.interpolate makes of n."""
    scale = n / m
    center = (np.arange(m)[:, None] + 0.5) * scale
    at = np.arange(n)[None] + 0.5
    if antialias:
        out = np.maximum(0, 1 - np.abs(at - center) / max(scale, 1))
    else:
        out = np.maximum(0, 1 - np.abs(at - np.clip(center, 0.5, n - 0.5)))
    return out / out.sum(1, keepdims=True)


def resized(image, size, antialias):
    y, x = weights(image.shape[0], size[0], antialias), weights(image.shape[1], size[1], antialias)
    return np.einsum("ih,jw,hwc->ijc", y, x, image.astype(float), optimize=True)


def drawn_images(rng, n, channels=3, most=40):
    sizes = [tuple(rng.integers(1, most, 2)) for _ in range(n)]
    return [rng.integers(0, 256, (*size, channels), np.uint8) for size in sizes]


def dataset(images, dtype=np.uint8, **more):
    """Images of any sizes as records."""
    rows = [{"x": png(image), **more} for image in images]
    ds = lv.from_records(rows).decode_png("x", channels=images[0].shape[2])
    return ds if dtype == np.uint8 else ds.cast("x", dtype)


@needs_png
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("antialias", [False, True])
def test_random_resized_crop_is_that_of_torchvision(dtype, antialias):
    """2,000 images of any size, with several limits, through ten pipelines."""
    rng = np.random.default_rng(antialias)
    for case in range(10):
        images = drawn_images(rng, 50, channels=1 + 2 * (case % 2))
        scale = sorted(rng.uniform(0.02, 1, 2))
        ratio = sorted(np.exp(rng.uniform(-1, 1, 2)))
        size = [int(n) for n in rng.integers(1, 30, 2)]
        ds = dataset(images, dtype).random_resized_crop(
            "x", size, scale=scale, ratio=ratio, antialias=antialias, seed=case
        )
        got = list(ds.with_options(threads=case % 3, block_rows=7))
        assert len(got) == len(images)
        for i, (image, record) in enumerate(zip(images, got, strict=True)):
            y, x, h, w = window_of(record_key(case, 0, i), *image.shape[:2], scale, ratio)
            want = resized(image[y : y + h, x : x + w], size, antialias)
            assert record["x"].dtype == dtype
            assert np.allclose(record["x"], want, atol=0.51 if dtype == np.uint8 else 1e-3)


def test_resizing_is_that_of_torch():
    """But for results of one column, where torch 2.13 repeats a row of floats."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for case, image in enumerate(drawn_images(rng, 400)):
        size = [int(n) for n in rng.integers(2, 30, 2)]
        image = image.astype(np.float32) if case % 2 else image
        planes = torch.tensor(np.ascontiguousarray(image.transpose(2, 0, 1)[None]))
        for antialias in (False, True):
            one = lv.from_arrays({"x": image[None]})
            got = one.resize_image("x", size, antialias=antialias).first()["x"]
            want = torch.nn.functional.interpolate(
                planes, size, mode="bilinear", antialias=antialias, align_corners=False
            )
            apart = np.abs(got.astype(float) - want[0].numpy().transpose(1, 2, 0)).max()
            assert apart <= (1 if image.dtype == np.uint8 else 1e-3)  # torch rounds twice


def test_resizing_is_that_of_pillow():
    pillow = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(1)
    for image in drawn_images(rng, 200):
        size = [int(n) for n in rng.integers(1, 30, 2)]
        one = lv.from_arrays({"x": image[None]})
        got = one.resize_image("x", size, antialias=True).first()["x"]
        want = np.asarray(pillow.fromarray(image).resize(size[::-1], pillow.Resampling.BILINEAR))
        assert np.abs(got.astype(int) - want.astype(int)).max() <= 1  # Pillow rounds twice


def nearest(image, size):
    """Copies of the pixels whose areas contain the centers of those of the result."""
    y, x = ((2 * np.arange(m) + 1) * n // (2 * m) for n, m in zip(image.shape, size, strict=False))
    return image[y][:, x]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64, np.float32, np.float64])
def test_nearest_pixels_are_copied(dtype):
    rng = np.random.default_rng(3)
    for case in range(60):
        shape = [int(n) for n in rng.integers(1, 40, 3)][: 2 + case % 2]
        image = rng.integers(0, 256, (1, *shape)).astype(dtype)
        size = [int(n) for n in rng.integers(1, 90, 2)]
        ds = lv.from_arrays({"x": image}).reshape("x", shape)
        got = ds.resize_image("x", size, method="nearest").first()["x"]
        assert got.dtype == dtype
        assert (got == nearest(image[0], size)).all()


def test_nearest_pixels_are_those_of_pillow_and_torch():
    """Where no center lies on the border of two pixels, which floats place on either side."""
    pillow = pytest.importorskip("PIL.Image")
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    for image in drawn_images(rng, 200):
        size = [int(n) for n in rng.integers(1, 90, 2)]
        borders = [
            (2 * np.arange(m) + 1) * n % (2 * m) == 0
            for n, m in zip(image.shape[:2], size, strict=True)
        ]
        inside = ~(borders[0][:, None] | borders[1])
        one = lv.from_arrays({"x": image[None]})
        got = one.resize_image("x", size, method="nearest").first()["x"]
        planes = torch.tensor(np.ascontiguousarray(image.transpose(2, 0, 1)[None]))
        exact = torch.nn.functional.interpolate(planes, size, mode="nearest-exact")
        for want in (
            np.asarray(pillow.fromarray(image).resize(size[::-1], pillow.Resampling.NEAREST)),
            exact[0].numpy().transpose(1, 2, 0),
        ):
            assert (got[inside] == want[inside]).all()


@needs_png
def test_an_image_and_its_mask_are_cut_alike():
    rng = np.random.default_rng(5)
    images = rng.integers(0, 256, (60, 12, 17, 1), np.uint8)
    rows = [{"x": png(image), "y": image[:, :, 0].astype(np.int32)} for image in images]
    ds = lv.from_records(rows).decode_png("x", channels=1)
    both = ds.random_resized_crop("x", [9, 7], method="nearest", seed=5)
    both = both.random_resized_crop("y", [9, 7], method="nearest", seed=5)
    for threads, block_rows in ((1, 256), (3, 4), (0, 1)):
        got = list(both.with_options(threads=threads, block_rows=block_rows))
        assert len(got) == 60
        for i, (image, record) in enumerate(zip(images, got, strict=True)):
            assert (record["x"][:, :, 0] == record["y"]).all()
            y, x, h, w = window_of(record_key(5, 0, i), 12, 17, (0.08, 1), (3 / 4, 4 / 3))
            assert (record["x"] == nearest(image[y : y + h, x : x + w], [9, 7])).all()


def masks(rng, n, dtype, channels):
    shapes = rng.integers(1, 30, (n, 2))
    high = np.iinfo(dtype).max + 1
    return [rng.integers(0, high, (*shape, channels), dtype) for shape in shapes]


@needs_png
@pytest.mark.parametrize("name", ["decode_png", "decode_image", "decode_jpeg"])
@pytest.mark.parametrize("options", [{}, {"orient": True}, {"crop_scale": [0.5, 0.6]}])
def test_decoders_copy_the_nearest_pixels_of_the_window_of_the_stage(name, options):
    rng = np.random.default_rng(len(options))
    rows = [{"x": png(image)} for image in masks(rng, 80, np.uint8, 1)]
    if "orient" in options:
        rows = [{"x": with_exif(row["x"], i % 9)} for i, row in enumerate(rows)]
    ds = lv.from_records(rows)
    decode = {key: value for key, value in options.items() if key == "orient"}
    crop = {"scale": options["crop_scale"]} if "crop_scale" in options else {}
    for method in ("nearest", "bilinear"):
        whole = getattr(ds, name)("x", channels=1, **decode)
        want = whole.random_resized_crop("x", [9, 7], method=method, seed=5, **crop)
        cut = getattr(ds, name)(
            "x", channels=1, random_resized_crop=[9, 7], method=method, seed=5, **options
        )
        for threads, block_rows in ((1, 256), (3, 4)):
            got = list(cut.with_options(threads=threads, block_rows=block_rows))
            for record, whole_record in zip(got, want.iterate(0), strict=True):
                assert (record["x"] == whole_record["x"]).all()


@needs_png
def test_windows_of_16_bits_are_copied_and_not_interpolated():
    rng = np.random.default_rng(7)
    images = masks(rng, 40, np.uint16, 1)
    ds = lv.from_records([{"x": png(image)} for image in images])
    cut = {"random_resized_crop": [5, 6], "seed": 3}
    got = ds.decode_png("x", channels=1, dtype=lv.uint16, method="nearest", **cut)
    want = ds.decode_png("x", channels=1, dtype=lv.uint16)
    want = want.random_resized_crop("x", [5, 6], method="nearest", seed=3)
    for record, other, image in zip(got, want, images, strict=True):
        assert record["x"].dtype == np.uint16 and (record["x"] == other["x"]).all()
        assert np.isin(record["x"], image).all()
    with pytest.raises(
        lv.errors.InvalidArgumentError, match="dtype=uint16 needs method=nearest, or dtype=uint8"
    ):
        ds.decode_png("x", channels=1, dtype=lv.uint16, **cut)
    with pytest.raises(lv.errors.InvalidArgumentError, match="cannot be combined"):
        ds.decode_png("x", crop=[0, 0, 1, 1], random_resized_crop=3)


@needs_png
def test_random_stages_follow_from_seed_epoch_and_record():
    rng = np.random.default_rng(2)
    ds = dataset(drawn_images(rng, 60))
    ds = ds.random_flip("x", up_down=0.5).random_resized_crop("x", 8)

    def pixels(threads=1, block_rows=256, times=1, **options):
        records = ds.repeat(times).with_options(threads=threads, block_rows=block_rows, **options)
        return [record["x"].tobytes() for record in records]

    first = pixels(seed=1)
    assert all(pixels(threads, n, seed=1) == first for threads in (0, 1, 3) for n in (1, 4, 256))
    assert pixels(seed=2) != first
    assert pixels(seed=1, times=2)[:60] == first != pixels(seed=1, times=2)[60:]
    parts = [
        list(ds.shard(i, 3).with_options(seed=1, threads=2)) for i in range(3)
    ]  # ranks draw what one process draws
    assert sorted(r["x"].tobytes() for part in parts for r in part) == sorted(first)
    for cut in range(0, 60, 7):
        it = iter(ds.with_options(seed=1, block_rows=4))
        head = [next(it)["x"].tobytes() for _ in range(cut)]
        rest = iter(ds.with_options(seed=1, threads=3))
        rest.restore(it.save())
        assert head + [record["x"].tobytes() for record in rest] == first


def test_stages_with_one_seed_draw_the_same():
    """An image and its mask are cut and mirrored alike; flips do not follow from windows."""
    rng = np.random.default_rng(3)
    images = [rng.integers(0, 256, (9, 12, 1), np.uint8) for _ in range(300)]
    ds = lv.from_records([{"x": image, "y": image, "z": image} for image in images])
    both = ds
    for field in ("x", "y"):
        both = both.random_flip(field, up_down=0.5, seed=5).random_resized_crop(field, 6, seed=5)
    records = list(both.random_flip("z", seed=6).with_options(seed=1))
    assert all((r["x"] == r["y"]).all() for r in records)
    flips = ds.random_flip("x", seed=5).random_flip("y", seed=6)
    equal = sum((r["x"] == r["y"]).all() for r in flips)
    assert 100 < equal < 200
    areas, turned = [], []
    for i in range(300):
        _, _, h, w = window_of(record_key(5, 0, i), 9, 12, (0.08, 1), (3 / 4, 4 / 3))
        areas.append(h * w)
        turned.append(draw(record_key(5, 0, i), 64) >> 63)
    assert abs(np.corrcoef(areas, turned)[0, 1]) < 0.2


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("layout", ["hwc", "chw"])
def test_normalize_is_to_tensor_and_normalize(dtype, layout):
    rng = np.random.default_rng(4)
    scale = {np.uint8: 1 / 255, np.uint16: 1 / 65535, np.float32: 1}[dtype]
    for case in range(200):
        h, w, c = (int(n) for n in rng.integers(1, 40, 3))
        images = rng.integers(0, 256, (int(rng.integers(1, 9)), h, w, c)).astype(dtype)
        mean = rng.uniform(0, 1, rng.choice([1, c])).tolist()
        std = rng.uniform(0.1, 1, rng.choice([1, c])).tolist()
        options = {} if case % 2 else {"scale": 0.5}
        ds = lv.from_arrays({"x": images}).reshape("x", [h, w, c])
        ds = ds.normalize("x", mean, std, layout=layout, **options)
        want = (images * options.get("scale", scale) - np.array(mean)) / np.array(std)
        want = want.transpose(0, 3, 1, 2) if layout == "chw" else want
        with ds.blocks() as blocks:
            got = np.concatenate([rows["x"] for rows in blocks])
        assert got.dtype == np.float32
        assert got.shape == want.shape
        assert np.allclose(got, want, rtol=1e-5, atol=1e-5)


@needs_png
def test_images_of_any_size_are_normalized():
    rng = np.random.default_rng(5)
    images = drawn_images(rng, 100)
    ds = dataset(images)
    for records in (
        ds.normalize("x", 0.5, [0.1, 0.2, 0.3]),
        ds.shuffle(50, seed=1).normalize("x", 0.5, [0.1, 0.2, 0.3]),
    ):
        got = {np.asarray(r["x"]).tobytes() for r in records.with_options(block_rows=7)}
        want = [(image / np.float64(255) - 0.5) / [0.1, 0.2, 0.3] for image in images]
        assert len(got) == len({image.tobytes() for image in images})
        sums = sorted(float(np.frombuffer(x, np.float32).sum(dtype=float)) for x in got)
        assert np.allclose(sums, sorted(x.sum() for x in want), rtol=1e-4, atol=1e-2)


def test_batches_are_augmented_as_records_are():
    images = np.random.default_rng(6).integers(0, 256, (30, 8, 9, 3), np.uint8)
    ds = lv.from_arrays({"x": images}).reshape("x", [8, 9, 3])

    def augmented(ds):
        ds = ds.random_flip("x", seed=1).random_resized_crop("x", [5, 6], seed=2)
        return ds.normalize("x", 0.5, 0.25, layout="chw")

    want = np.stack([record["x"] for record in augmented(ds)])
    got = np.concatenate([batch["x"] for batch in augmented(ds.batch(7))])
    assert (got == want).all()


def test_flips_of_rows_that_were_repeated_do_not_mix():
    """Records that share their pixels are mirrored apart."""
    image = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    ds = lv.from_records([{"x": image}]).repeat(40).random_flip("x").with_options(seed=1)
    kinds = [record["x"].tobytes() for record in ds]
    assert set(kinds) == {image.tobytes(), image[:, ::-1].tobytes()}


@needs_png
@pytest.mark.parametrize("position", ["center", "top_left"])
def test_pad_to_is_numpy_pad(position):
    rng = np.random.default_rng(9)
    for case in range(20):
        images = drawn_images(rng, 50, channels=1 + 2 * (case % 2))
        h, w = (int(n) for n in rng.integers(20, 50, 2))
        value = rng.integers(0, 256, rng.choice([1, images[0].shape[2]])).tolist()
        ds = dataset(images).pad_to("x", [h, w], value=value, position=position)
        it = iter(ds.with_options(threads=case % 3, block_rows=7, errors="skip"))
        got = [record["x"] for record in it]
        fitting = [x for x in images if x.shape[0] <= h and x.shape[1] <= w]
        assert it.stats()["skipped_records"] == len(images) - len(fitting)
        for image, pixels in zip(fitting, got, strict=True):
            want = np.full((h, w, image.shape[2]), value, np.uint8)
            y = (h - image.shape[0]) // 2 if position == "center" else 0
            x = (w - image.shape[1]) // 2 if position == "center" else 0
            want[y : y + image.shape[0], x : x + image.shape[1]] = image
            assert (pixels == want).all()


@needs_png
@pytest.mark.parametrize(("stage", "message"), [
    (lambda ds: ds.pad_to("x", 4, value=256), "does not fit in uint8"),
    (lambda ds: ds.pad_to("x", 2), "larger than size"),
    (lambda ds: ds.normalize("x", [1, 2]), r"len\(mean\)=2 must be 1 or the number of channels, 3"),
    (lambda ds: ds.normalize("x", layout="chw"), "images of one size"),
    (lambda ds: ds.random_resized_crop("x", 4, scale=0.5), r"scale must be \[least, most\]"),
    (lambda ds: ds.random_flip("n"), "must have images"),
    (lambda ds: ds.resize_image("x", [2, 2], method="area", antialias=True), "bilinear"),
])  # fmt: skip
def test_wrong_options_are_refused(stage, message):
    ds = dataset([np.zeros((2, 3, 3), np.uint8)], n=1)
    with pytest.raises(lv.errors.InvalidArgumentError, match=message):
        list(stage(ds))


def with_exif(data, orientation, order=">"):
    """The PNG or JPEG with EXIF data of that orientation."""
    tiff = {">": b"MM", "<": b"II"}[order] + struct.pack(
        order + "HIHHHIHHI", 42, 8, 1, 0x112, 3, 1, orientation, 0, 0
    )
    if data[:2] == b"\xff\xd8":
        segment = b"Exif\0\0" + tiff
        return data[:2] + b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment + data[2:]
    chunk = b"eXIf" + tiff
    chunk = struct.pack(">I", len(tiff)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return data[:33] + chunk + data[33:]


TURNED = {
    0: lambda x: x,
    1: lambda x: x,
    2: lambda x: x[:, ::-1],
    3: lambda x: x[::-1, ::-1],
    4: lambda x: x[::-1],
    5: lambda x: x.swapaxes(0, 1),
    6: lambda x: x[::-1].swapaxes(0, 1),
    7: lambda x: x[::-1, ::-1].swapaxes(0, 1),
    8: lambda x: x[:, ::-1].swapaxes(0, 1),
    9: lambda x: x,
}


@needs_png
@pytest.mark.parametrize("orientation", range(10))
def test_images_are_oriented_on_request(orientation):
    rng = np.random.default_rng(orientation)
    for order in "<>":
        image = drawn_images(rng, 1)[0]
        data = with_exif(png(image), orientation, order)
        assert (lv.decode_image(data) == image).all()
        assert lv.image_info(data)[:2] == image.shape[:2]
        want = TURNED[orientation](image)
        assert (lv.decode_image(data, orient=True) == want).all()
        h, w = (int(n) for n in rng.integers(1, np.array(want.shape[:2]) + 1))
        y, x = (int(n) for n in rng.integers(0, np.array(want.shape[:2]) - (h, w) + 1))
        ds = lv.from_records([{"x": data}]).decode_image("x", crop=[y, x, h, w], orient=True)
        assert (ds.first()["x"] == want[y : y + h, x : x + w]).all()


@needs_png
@needs_jpeg
@needs_data
def test_orientations_are_those_of_pillow():
    pillow = pytest.importorskip("PIL.Image")
    ops = pytest.importorskip("PIL.ImageOps")
    photo = next(path for path in PHOTOS if lv.image_info(path.read_bytes())[2] == 3)
    for orientation in range(10):
        for data in (png(np.arange(60, dtype=np.uint8).reshape(4, 5, 3)), photo.read_bytes()):
            data = with_exif(data, orientation)
            want = np.asarray(ops.exif_transpose(pillow.open(io.BytesIO(data))).convert("RGB"))
            assert (lv.decode_image(data, 3, orient=True) == want).all()


def augmented(records, options, decoder="decode_image"):
    """Pixels of windows that are decoded alone, and of those cut out of whole images."""
    ds = lv.from_records(records)
    crop = {"crop_" + name: options[name] for name in ("scale", "ratio")}
    same = {name: options[name] for name in ("antialias", "seed")}
    orient = options["orient"]
    one = getattr(ds, decoder)(
        "x", random_resized_crop=options["size"], orient=orient, **crop, **same
    )
    two = getattr(ds, decoder)("x", orient=orient)
    two = two.random_resized_crop(
        "x", options["size"], scale=options["scale"], ratio=options["ratio"], **same
    )
    return [[r["x"] for r in d.with_options(threads=2, block_rows=3)] for d in (one, two)]


def drawn_options(rng, case):
    return {
        "size": [int(n) for n in rng.integers(1, 20, 2)],
        "scale": sorted(rng.uniform(0.02, 1, 2)),
        "ratio": sorted(np.exp(rng.uniform(-1, 1, 2))),
        "antialias": bool(case % 2),
        "orient": bool(case % 3),
        "seed": case,
    }


@needs_png
def test_windows_decoded_alone_are_those_of_whole_images():
    rng = np.random.default_rng(7)
    for case in range(40):
        data = [with_exif(png(image), int(rng.integers(1, 9))) for image in drawn_images(rng, 50)]
        one, two = augmented([{"x": x} for x in data], drawn_options(rng, case))
        assert all((a == b).all() for a, b in zip(one, two, strict=True))


@needs_jpeg
@needs_data
def test_windows_of_photographs_are_those_of_whole_ones():
    rng = np.random.default_rng(8)
    good = []
    for path in PHOTOS:
        try:
            good.append(path.read_bytes())
            lv.decode_jpeg(good[-1], 3)
        except ERRORS:
            good.pop()
    assert len(good) > 5
    for case in range(12):
        data = [with_exif(x, int(rng.integers(1, 9))) for x in good]
        one, two = augmented([{"x": x} for x in data], drawn_options(rng, case), "decode_jpeg")
        assert all((a == b).all() for a, b in zip(one, two, strict=True))
