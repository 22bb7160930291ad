# SPDX-License-Identifier: Apache-2.0
"""Images and sounds: as functions, as stages, on real and on broken files."""

import importlib.util
import json
import struct
import subprocess
import sys
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
needs_fft = pytest.mark.skipif(not has("kissfft"), reason="built without KISS FFT")
needs_soxr = pytest.mark.skipif(not has("soxr"), reason="built without libsoxr")
needs_flac = pytest.mark.skipif(not has("flac"), reason="built without libFLAC")


def png(pixels):
    """A PNG of uint8 or uint16 [height, width, 1 or 3]."""
    height, width, channels = pixels.shape

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    bits = 8 * pixels.itemsize
    header = struct.pack(">IIBBBBB", width, height, bits, 0 if channels == 1 else 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels.astype(f">u{pixels.itemsize}"))
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


@pytest.mark.parametrize(
    "decode",
    [
        lv.decode_jpeg,
        lv.decode_png,
        lv.decode_image,
        lv.decode_wav,
        lv.decode_flac,
        lv.decode_npy,
        lv.image_info,
        lv.audio_info,
    ],
)
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
def test_flac_after_tags_is_the_same_sound():
    data = next(iter(sorted(DATA.glob("audio/flac-ietf/subset/*.flac")))).read_bytes()
    want, rate = lv.decode_flac(data)
    for tags in (
        b"ID3\4\0\0\0\0\0\x14" + bytes(20),
        b"ID3\4\0\x10\0\0\0\3abc3DI\4\0\x10\0\0\0\3",  # with a footer
        b"ID3\3\0\0\0\0\1\0" + b"fLaC" * 32,
    ):
        for n in (1, 2):
            assert lv.audio_info(tags * n + data) == lv.audio_info(data)
            samples, again = lv.decode_flac(tags * n + data, md5=True)
            assert rate == again
            assert np.array_equal(samples, want)


def without_tags(data):
    """The bytes after the ID3v2 tags at the beginning, by their own lengths."""
    while len(data) >= 10 and data[:3] == b"ID3":
        size = 0
        for byte in data[6:10]:
            size = size << 7 | byte & 127
        data = data[10 + size + 10 * (data[3] == 4 and data[5] >> 4 & 1) :]
    return data


def verdict(function, data):
    try:
        result = function(data)
    except ERRORS as error:
        return type(error), error.message
    return (result[0].tobytes(), result[1]) if function is lv.decode_flac else result


@needs_flac
@pytest.mark.filterwarnings("ignore:no record was delivered")
def test_forged_tags_before_flac():
    """Drawn tags, some cut and some too long: every view skips what their sizes declare."""
    rng = np.random.default_rng(3)
    sound = (ROOT / "fuzz" / "corpus" / "decoder_decode_flac" / "sound.flac").read_bytes()
    sound = sound[sound.index(b"fLaC") :]
    good = 0
    for _ in range(1500):
        data = sound
        for _ in range(rng.integers(1, 4)):
            body = rng.bytes(int(rng.integers(0, 300)))
            footer = bool(rng.integers(2))
            version = int(rng.choice([2, 3, 4, 255]))
            size = len(body) if rng.random() < 0.7 else int(rng.integers(0, 1 << 28))
            lengths = [size >> shift & 127 | int(rng.integers(2)) << 7 for shift in (21, 14, 7, 0)]
            head = bytes([version, 0, 0x10 * footer, *lengths])
            tail = b"3DI" + head if footer and version == 4 else b""
            data = b"ID3" + head + body + tail + data
        if rng.random() < 0.2:
            data = data[: int(rng.integers(1, len(data)))]
        rest = without_tags(data)
        for view in (lv.audio_info, lv.decode_flac):
            if rest[:4] == b"fLaC":
                assert verdict(view, data) == verdict(view, rest)
                good += 1
            else:
                assert verdict(view, data)[0] in ERRORS
        rows = lv.from_records([{"record": data}]).decode_flac("record")
        rows = rows.with_options(errors="skip")
        decodes = verdict(lv.decode_flac, data)[0] not in ERRORS
        assert len(list(rows)) == decodes
    assert good > 1000


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


@needs_png
@pytest.mark.parametrize("threads", [1, 3])
def test_random_windows_follow_from_seed_epoch_and_record(threads):
    """The same at every number of threads, others in each epoch, and again after a restore."""
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (20, 30, 3), np.uint8) for _ in range(40)]
    ds = lv.from_records([{"image": png(i), "n": k} for k, i in enumerate(images)])

    def windows(seed, repeat=1):
        one = ds.decode_png("image", random_crop=[8, 9]).repeat(repeat)
        return list(one.with_options(threads=threads, seed=seed, block_rows=7))

    def place(record):
        """(y, x) of the window in its image."""
        whole = np.lib.stride_tricks.sliding_window_view(images[int(record["n"])], (8, 9, 3))
        return tuple(np.argwhere((whole[:, :, 0] == record["image"]).all((2, 3, 4)))[0].tolist())

    first = windows(1, 2)
    places = [place(record) for record in first]
    assert places[:40] != places[40:]
    assert {y for y, _ in places} == set(range(13))
    assert len({x for _, x in places}) > 15
    assert [place(r) for r in windows(1)] == places[:40]
    assert [place(r) for r in windows(2)] != places[:40]
    it = iter(ds.decode_png("image", random_crop=[8, 9]).with_options(threads=threads, seed=1))
    head = [place(next(it)) for _ in range(11)]
    state = it.save()
    rest = iter(ds.decode_png("image", random_crop=[8, 9]).with_options(threads=threads, seed=1))
    rest.restore(state)
    assert head + [place(r) for r in rest] == places[:40]


@needs_png
def test_same_images_have_windows_of_their_own():
    image = png(np.arange(1200, dtype=np.uint8).reshape(20, 20, 3))
    ds = lv.from_records([{"image": image} for _ in range(30)])
    windows = list(ds.decode_png("image", random_crop=[4, 4]).with_options(seed=3))
    assert len({record["image"].tobytes() for record in windows}) > 10
    with pytest.raises(lv.errors.InvalidArgumentError, match="does not fit"):
        ds.decode_png("image", random_crop=[21, 4]).first()


def resized(image, size, method):
    """tf.image.resize of one image, after its formula."""

    def weights(n, m):
        out = np.zeros((m, n))
        for i in range(m):
            if method == "area":
                begin, end = i * n / m, (i + 1) * n / m
                for k in range(n):
                    out[i, k] = max(0, min(end, k + 1) - max(begin, k)) * m / n
            else:
                at = (i + 0.5) * n / m - 0.5
                low, part = int(np.floor(at)), at - np.floor(at)
                out[i, max(low, 0)] += 1 - part
                out[i, min(low + 1, n - 1)] += part
        return out

    y, x = weights(image.shape[0], size[0]), weights(image.shape[1], size[1])
    return np.einsum("ih,jw,hwc->ijc", y, x, image.astype(float))


@pytest.mark.parametrize("method", ["bilinear", "area"])
@pytest.mark.parametrize("channels", [1, 2, 3, 5])
def test_resize_image_is_the_formula(method, channels):
    rng = np.random.default_rng(channels)
    for size in [(5, 7), (40, 33), (1, 1), (13, 21)]:
        image = rng.integers(0, 256, (13, 21, channels), np.uint8)
        want = resized(image, size, method)
        ds = lv.from_arrays({"image": image[None]}).resize_image("image", size, method=method)
        assert np.abs(ds.first()["image"].astype(float) - want).max() <= 0.51
        floats = lv.from_arrays({"image": image[None].astype(np.float32)})
        got = floats.resize_image("image", size, method=method).first()["image"]
        assert np.allclose(got, want, atol=1e-3)


def mel_filters(rate, n_fft, n_mels, low, high, htk, slaney_norm):
    """librosa.filters.mel."""
    if htk:
        to_mel = lambda hz: 2595 * np.log10(1 + hz / 700)  # noqa: E731
        to_hz = lambda mel: 700 * (10 ** (mel / 2595) - 1)  # noqa: E731
    else:
        step = np.log(6.4) / 27

        def to_mel(hz):
            return hz * 3 / 200 if hz < 1000 else 15 + np.log(hz / 1000) / step

        def to_hz(mel):
            return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp(step * (mel - 15)))

    corners = to_hz(np.linspace(to_mel(low), to_mel(high), n_mels + 2))
    bins = np.arange(n_fft // 2 + 1) * rate / n_fft
    up = (bins - corners[:-2, None]) / np.diff(corners)[:-1, None]
    down = (corners[2:, None] - bins) / np.diff(corners)[1:, None]
    filters = np.maximum(0, np.minimum(up, down))
    return filters * (2 / (corners[2:] - corners[:-2]))[:, None] if slaney_norm else filters


def mel_spectrogram(x, n_fft, hop, window, filters, padding):
    w = np.zeros(n_fft)
    w[(n_fft - window) // 2 :][:window] = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    if padding != "none":
        x = np.pad(x, n_fft // 2, mode={"reflect": "reflect", "zeros": "constant"}[padding])
    frames = np.lib.stride_tricks.sliding_window_view(x, n_fft)[::hop]
    return np.abs(np.fft.rfft(frames * w)) ** 2 @ filters.T


@needs_fft
@pytest.mark.parametrize("scale", ["slaney", "htk"])
@pytest.mark.parametrize("norm", ["slaney", "none"])
@pytest.mark.parametrize("padding", ["reflect", "zeros", "none"])
def test_log_mel_is_the_formula(scale, norm, padding):
    x = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    for n_fft, window, hop, n_mels, rate in [(400, 400, 160, 80, 16000), (512, 320, 99, 23, 8000)]:
        filters = mel_filters(rate, n_fft, n_mels, 20, rate / 2, scale == "htk", norm == "slaney")
        want = mel_spectrogram(x.astype(float), n_fft, hop, window, filters, padding)
        options = dict(n_fft=n_fft, window=window, hop=hop, n_mels=n_mels, low=20, scale=scale,
                       norm=norm, padding=padding)  # fmt: skip
        power = lv.log_mel(x, rate, log="none", floor=0, **options)
        assert power.shape == want.shape
        assert np.allclose(power, want, rtol=2e-4, atol=1e-6 * want.max())
        logs = lv.log_mel(x, rate, log="log10", **options)
        assert np.allclose(logs, np.log10(np.maximum(want, 1e-10)), atol=1e-3)


@needs_fft
def test_log_mel_of_sounds_of_every_length():
    rng = np.random.default_rng(0)
    sounds = [rng.normal(size=n).astype(np.float32) for n in (0, 1, 2, 150, 199, 200, 1000)]
    ds = lv.from_records([{"audio": x} for x in sounds]).log_mel("audio")
    got = [np.asarray(record["audio"]) for record in ds.with_options(threads=3)]
    assert [g.shape for g in got] == [(0, 80)] + [(1 + len(x) // 160, 80) for x in sounds[1:]]
    assert all(np.isfinite(g).all() for g in got)
    filters = mel_filters(16000, 400, 80, 0, 8000, False, True)
    want = mel_spectrogram(sounds[5].astype(float), 400, 160, 400, filters, "reflect")
    assert np.allclose(got[5], np.log(want), atol=1e-3)


@needs_fft
def test_log_mel_refuses_another_rate():
    wrong = [{"record": wav(np.zeros((800, 1), np.int16), rate)} for rate in (16000, 8000)]
    ds = lv.from_records(wrong).decode_wav("record").log_mel("audio")
    with pytest.raises(lv.errors.InvalidArgumentError, match="8000 samples per second"):
        list(ds)
    it = iter(ds.with_options(errors="skip"))
    assert len(list(it)) == 1
    assert it.stats()["skipped_records"] == 1


@needs_soxr
def test_resample_sets_the_rate_of_each_record():
    rates = [8000, 16000, 44100]
    sounds = [
        (8000 * np.sin(2 * np.pi * 440 * np.arange(rate) / rate)).astype(np.int16)[:, None]
        for rate in rates
    ]
    ds = lv.from_records([{"record": wav(s, r)} for s, r in zip(sounds, rates, strict=True)])
    ds = ds.decode_wav("record").resample("audio", 16000)
    want = np.sin(2 * np.pi * 440 * np.arange(16000) / 16000) * 8000 / 32768
    for record in ds.with_options(threads=3):
        assert record["sample_rate"] == 16000
        audio = np.asarray(record["audio"])[:, 0]
        assert abs(len(audio) - 16000) <= 1
        assert np.abs(audio[4000:12000] - want[4000:12000]).max() < 1e-3
    stereo = np.stack([want, -want], axis=1)
    half = lv.resample(stereo, rate=8000, input_rate=16000)
    assert half.dtype == np.float64
    assert np.allclose(half[:, 0], -half[:, 1])
    assert np.abs(half[2000:6000, 0] - want[::2][2000:6000]).max() < 1e-3
    with pytest.raises(lv.errors.InvalidArgumentError, match="ratio") as caught:
        lv.resample(stereo, rate=8000, input_rate=4_000_000, key="file:7")
    assert caught.value.key == "file:7"


@pytest.mark.parametrize(("decode", "data", "options", "limit"), [
    (lv.decode_png, png(np.zeros((4, 5, 3), np.uint8)), "max_pixels", 20),
    (lv.decode_image, png(np.zeros((4, 5, 3), np.uint8)), "max_pixels", 20),
    (lv.decode_jpeg, png(np.zeros((4, 5, 3), np.uint8)), "max_pixels", 20),
    (lv.decode_wav, wav(np.zeros((10, 2), np.int16)), "max_samples", 20),
])  # fmt: skip
@needs_png
def test_limits_are_options(decode, data, options, limit):
    decode(data, **{options: limit})
    with pytest.raises(lv.errors.ResourceExhaustedError, match=f"{options}={limit - 1}") as caught:
        decode(data, **{options: limit - 1}, key="file:7")
    assert caught.value.key == "file:7"


@needs_flac
@needs_data
def test_limits_hold_for_flac():
    data = next(DATA.glob("audio/flac-ietf/subset/*.flac")).read_bytes()
    samples, _ = lv.decode_flac(data)
    assert len(lv.decode_flac(data, max_samples=samples.size)[0]) == len(samples)
    with pytest.raises(lv.errors.ResourceExhaustedError, match="max_samples") as caught:
        lv.decode_flac(data, max_samples=samples.size - 1, key="file:7")
    assert caught.value.key == "file:7"


@needs_png
def test_256_photographs_are_not_in_memory_at_once():
    """Decoded they take 2.3 GB; the process may grow by less than a tenth of that."""
    code = """
import levada as lv
import numpy as np
from test_media import png
def peak():  # not ru_maxrss, which begins with the memory of the process that started this one
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
large = png(np.zeros((1500, 2000, 1), np.uint8))
ds = lv.from_records([{"image": large} for _ in range(256)]).decode_png("image", channels=3)
before = peak()
n = sum(1 for _ in ds.with_options(threads=2).slice("image", [0, 0, 0], [1, 1, 1]))
grown = peak() - before
assert n == 256 and grown < 230_000, (n, grown)
"""
    folder = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
