# SPDX-License-Identifier: Apache-2.0
"""Images and sounds: as functions, as stages, on real and on broken files."""

import importlib.util
import json
import struct
import zlib
from pathlib import Path

import levada as lv
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
ERRORS = lv.errors.InvalidArgumentError, lv.errors.DataLossError
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data")


def has(library):
    return lv.show_config("dicts")[library] is not None


needs_png = pytest.mark.skipif(not has("png"), reason="built without libpng")
needs_jpeg = pytest.mark.skipif(not has("jpeg"), reason="built without libjpeg-turbo")
needs_flac = pytest.mark.skipif(not has("flac"), reason="built without libFLAC")


def png(pixels):
    """A PNG of uint8 [height, width, 1 or 3]."""
    height, width, channels = pixels.shape

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def wav(samples, rate=8000):
    """A WAV of int16 [frames, channels]."""
    channels = samples.shape[1]
    data = samples.astype("<i2").tobytes()
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * 2 * channels,
                       2 * channels, 16)  # fmt: skip
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


IMAGES = [
    np.arange(h * w * 3, dtype=np.uint8).reshape(h, w, 3) for h, w in [(2, 3), (5, 1), (4, 4)]
]


@needs_png
def test_images_of_a_dataset_are_arrays_of_their_sizes():
    ds = lv.from_records([{"image": png(i), "n": k} for k, i in enumerate(IMAGES)]).decode_png(
        "image"
    )
    for record, image in zip(ds, IMAGES, strict=True):
        assert np.array_equal(np.asarray(record["image"]), image)
    batch = ds.padded_batch(3).first()
    assert batch["image"].shape == (3, 5, 4, 3)
    assert batch.lengths("image").tolist() == [2, 5, 4]


@needs_png
def test_slice_and_reshape_make_images_of_one_size():
    records = [{"image": png(i)} for i in IMAGES]
    ds = lv.from_records(records).decode_png("image").slice("image", [0, 0, 0], [2, 1, 2])
    for record, image in zip(ds, IMAGES, strict=True):
        assert np.array_equal(record["image"], image[:2, :1, :2])
    part = lv.from_records(records).decode_png("image").slice("image", [1, 0, 1], [-1, -1, 1])
    for record, image in zip(part, IMAGES, strict=True):
        assert np.array_equal(np.asarray(record["image"]), image[1:, :, 1:2])
    flat = lv.from_records(records).decode_png("image").reshape("image", [-1, 3])
    for record, image in zip(flat, IMAGES, strict=True):
        assert np.array_equal(record["image"], image.reshape(-1, 3))


@needs_png
def test_what_is_too_small_for_a_slice_is_skipped_and_counted():
    ds = lv.from_records([{"image": png(i)} for i in IMAGES]).decode_png("image")
    for stage in (ds.slice("image", [0], [3]), ds.reshape("image", [16, 3])):
        with pytest.raises(lv.errors.InvalidArgumentError, match="image"):
            list(stage)
        it = iter(stage.with_options(errors="skip"))
        left = [np.asarray(record["image"]) for record in it]
        assert len(left) + it.stats()["skipped_records"] == 3
        assert len(left) in (1, 2)


@needs_png
def test_few_large_images_are_in_memory_at_once():
    large = png(np.zeros((1500, 2000, 1), np.uint8))  # 9 MB decoded
    ds = lv.from_records([{"image": large, "n": i} for i in range(20)]).decode_png(
        "image", channels=3
    )
    for threads in (1, 3):
        it = iter(ds.with_options(threads=threads).select("n", "image"))
        assert [int(r["n"]) for r in it] == list(range(20))
        stages = it.stats()["stages"]
        blocks = [s["blocks"] for s in stages if "decode_png" in s["path"]]
        assert blocks
        assert blocks[0] >= 10


@needs_png
@pytest.mark.parametrize("threads", [1, 3])
def test_a_run_goes_on_from_every_cut_of_large_images(threads):
    large = png(np.zeros((1500, 2000, 1), np.uint8))
    ds = lv.from_records([{"image": large, "n": i} for i in range(6)]).decode_png(
        "image", channels=3
    )
    ds = ds.slice("image", [0, 0, 0], [1, 1, 1]).with_options(threads=threads)
    for cut in range(7):
        it = iter(ds)
        begun = [int(next(it)["n"]) for _ in range(cut)]
        state = it.save()
        again = iter(ds)
        again.restore(state)
        assert begun + [int(r["n"]) for r in again] == list(range(6))


def test_sounds_of_a_dataset():
    sounds = [np.arange(n * 2, dtype=np.int16).reshape(n, 2) * 100 for n in (3, 0, 5)]
    ds = lv.from_records([{"record": wav(s)} for s in sounds]).decode_wav(
        "record", channels=2, dtype="int16"
    )
    got = list(ds)
    for record, sound in zip(got, sounds, strict=True):
        assert np.array_equal(record["audio"], sound)
        assert record["sample_rate"] == 8000
    samples, rate = lv.decode_wav(wav(sounds[0]))
    assert rate == 8000
    assert np.array_equal(samples, sounds[0].astype(np.float32) / 32768)
    assert lv.audio_info(wav(sounds[2])) == (8000, 2, 5, 16)


@pytest.mark.parametrize("decode", [lv.decode_jpeg, lv.decode_png, lv.decode_image, lv.decode_wav,
                                    lv.decode_flac, lv.image_info, lv.audio_info])  # fmt: skip
def test_errors_have_the_key(decode):
    with pytest.raises(ERRORS) as caught:
        decode(b"nothing of that kind", key="file:7")
    assert caught.value.key == "file:7"


@needs_png
@needs_data
def test_pngsuite():
    """Pixels of every valid file, and no pixels of the corrupt ones."""
    valid = corrupt = 0
    for path in sorted(DATA.glob("png/pngsuite/**/*.png")):
        if path.name.startswith("x"):
            with pytest.raises(ERRORS):
                lv.decode_png(path.read_bytes())
            corrupt += 1
            continue
        wide = path.read_bytes()[24] == 16
        pixels = lv.decode_png(path.read_bytes(), 4, "uint16" if wide else "uint8")
        want = json.loads(next(DATA.glob(f"png/pngsuite/**/{path.stem}.json")).read_text())
        assert np.array_equal(pixels.reshape(-1), np.asarray(want).reshape(-1)), path.name
        valid += 1
    assert (valid, corrupt) == (161, 14)


@needs_jpeg
@needs_data
def test_broken_jpegs_are_refused_or_decoded():
    paths = sorted(DATA.glob("jpeg/jpeg-decoder/crashtest/**/*.jp*g"))
    assert len(paths) > 100
    for path in paths:
        for recover in (False, True):
            try:
                image = lv.decode_jpeg(path.read_bytes(), try_recover_truncated=recover)
            except lv.errors.LevadaError as error:
                assert error.message
            else:
                assert image.ndim == 3


@needs_jpeg
@needs_data
def test_a_window_is_a_part_of_the_whole_image():
    rng = np.random.default_rng(0)
    for path in sorted(DATA.glob("jpeg/jpeg-decoder/reftest/images/*.jpg")):
        try:
            whole = lv.decode_jpeg(path.read_bytes(), 3)
        except lv.errors.LevadaError:
            continue
        height, width = whole.shape[:2]
        for _ in range(3 if whole.size < 1_000_000 else 0):
            y, x = int(rng.integers(height)), int(rng.integers(width))
            h, w = int(rng.integers(1, height - y + 1)), int(rng.integers(1, width - x + 1))
            part = lv.decode_and_crop_jpeg(path.read_bytes(), (y, x, h, w), 3)
            assert np.array_equal(part, whole[y : y + h, x : x + w]), path.name


@needs_jpeg
@needs_data
def test_jpegs_are_those_of_the_reference():
    """Within rounding of the PNG next to each, where this is baseline data."""
    compared = 0
    for path in sorted(DATA.glob("jpeg/jpeg-decoder/reftest/images/*.jpg")):
        reference = path.with_suffix(".png")
        if not reference.is_file():
            continue
        try:
            image = lv.decode_jpeg(path.read_bytes(), 3)
        except lv.errors.DataLossError:
            continue
        want = lv.decode_png(reference.read_bytes(), 3)
        assert image.shape == want.shape
        assert np.abs(image.astype(int) - want).mean() < 2, path.name
        compared += 1
    assert compared > 10


@needs_data
def test_wav_conformance():
    """Whole files are read; those cut short, or that contradict themselves, are refused."""
    refused = set()
    for path in sorted(DATA.glob("audio/wav-scipy/**/*.wav")):
        try:
            samples, rate = lv.decode_wav(path.read_bytes())
        except ERRORS:
            refused.add(path.stem.rsplit("-", 1)[-1])
        else:
            assert len(samples) > 0
            assert rate in (1234, 8000, 44100, 48000)
    assert refused == {"data", "eof", "chunk", "inconsistent"}
    early = next(DATA.glob("audio/wav-scipy/**/*early-eof.wav")).read_bytes()
    assert len(lv.decode_wav(early, try_recover_truncated=True)[0]) == 944 // 4


@needs_flac
@needs_data
def test_flac_files_have_the_md5_of_their_samples():
    for path in sorted(DATA.glob("audio/flac-ietf/subset/*.flac")):
        samples, rate = lv.decode_flac(path.read_bytes(), "int32", md5=True)
        assert rate >= 8000
        assert len(samples) > 1000
    for path in sorted(DATA.glob("audio/flac-ietf/faulty/*.flac")):
        try:
            assert lv.decode_flac(path.read_bytes())[1] >= 8000
        except ERRORS as error:
            assert error.message


@needs_png
@needs_jpeg
@pytest.mark.parametrize("kind", ["own", "jpeg", "png"])
def test_the_example_of_images(tmp_path, kind, capsys):
    """Examples of JPEG, PNG and raw images, on real files and on files of its own."""
    spec = importlib.util.spec_from_file_location("images", ROOT / "examples" / "images.py")
    images = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(images)
    source = {"jpeg": "jpeg/jpeg-decoder/reftest/images", "png": "png/pngsuite/png"}.get(kind)
    if source and not (DATA / source).is_dir():
        pytest.skip("no ../shared/data")
    images.main(tmp_path, DATA / source if source else None)
    said = capsys.readouterr().out
    assert "(784, 3) each" in said
    assert "5 raw images, (28, 28) each" in said
    assert said.startswith("5 images, 0 skipped") == (kind == "own")
