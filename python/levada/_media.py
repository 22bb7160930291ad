# SPDX-License-Identifier: Apache-2.0
"""Images and audio as functions: tf.io.decode_jpeg and similar, resample, log_mel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from levada._decoders import run_decoder
from levada._dtypes import name_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_DCT = {"": "INTEGER_ACCURATE"}


def decode_jpeg(
    contents: bytes,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    name: str | None = None,
    *,
    crop_window: Sequence[int] | None = None,
    orient: bool = False,
    max_pixels: int | None = None,
    key: str | None = None,
) -> Array:
    """Decodes a JPEG image to uint8 [height, width, channels], as ``tf.io.decode_jpeg``.

    The pixels are identical to those of Pillow. The function decodes PNG data as well.

    Args:
        contents (bytes): the file as bytes.
        channels (int, default 0): 0 = as stored (of CMYK 3), 1 = gray, 3 = RGB.
        ratio (int, default 1): divides height and width while decoding: 1, 2, 4 or 8.
        fancy_upscaling (bool, default True): smooth upsampling of the colors.
        try_recover_truncated (bool, default False): decode truncated or damaged data as far as
            possible.
        acceptable_fraction (float, default 1.0): part of the rows that truncated data must have;
            the others are black.
        dct_method (str, default ""): "" or "INTEGER_ACCURATE" is exact, "INTEGER_FAST" a little
            faster.
        name (str): ignored.
        crop_window (Sequence[int]): (y, x, height, width) to decode, in pixels of the result.
        orient (bool, default False): turn and mirror the image as its EXIF orientation says.
        max_pixels (int): images with more are refused; None = 2**27.
        key (str): for the attribute ``key`` of errors.

    Raises:
        InvalidArgumentError: an argument is wrong, or the data is not an image.
        DataLossError: the data is damaged.
        ResourceExhaustedError: the image has more pixels than ``max_pixels``.
        UnimplementedError: levada was built without libjpeg-turbo.

    Example:
        with open("photo.jpg", "rb") as file:
            pixels = lv.decode_jpeg(file.read(), channels=3)
    """
    options = {
        "ratio": int(ratio),
        "fancy_upscaling": bool(fancy_upscaling),
        "try_recover_truncated": bool(try_recover_truncated),
        "acceptable_fraction": float(acceptable_fraction),
        "dct_method": _DCT.get(dct_method, dct_method),
        "crop": _window(crop_window),
        "orient": bool(orient),
        "max_pixels": max_pixels,
    }
    return _pixels("decode_jpeg", contents, channels, options, key)


def decode_and_crop_jpeg(
    contents: bytes,
    crop_window: Sequence[int],
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    dct_method: str = "",
    name: str | None = None,
    *,
    max_pixels: int | None = None,
    key: str | None = None,
) -> Array:
    """Decodes a window of a JPEG image; pixels outside of it cost little.

    Args:
        contents (bytes): the file as bytes.
        crop_window (Sequence[int]): (y, x, height, width), in pixels of the result.
        channels (int, default 0): 0 = as stored (of CMYK 3), 1 = gray, 3 = RGB.
        ratio (int, default 1): divides height and width while decoding: 1, 2, 4 or 8.
        fancy_upscaling (bool, default True): smooth upsampling of the colors.
        try_recover_truncated (bool, default False): decode truncated or damaged data as far as
            possible.
        acceptable_fraction (float, default 1.0): part of the rows that truncated data must have;
            the others are black.
        dct_method (str, default ""): "" or "INTEGER_ACCURATE" is exact, "INTEGER_FAST" a little
            faster.
        name (str): ignored.
        max_pixels (int): images with more are refused; None = 2**27.
        key (str): for the attribute ``key`` of errors.

    Returns:
        uint8 [height, width, channels].

    Raises:
        InvalidArgumentError, DataLossError, ResourceExhaustedError, UnimplementedError: as
            `decode_jpeg`.

    Example:
        with open("photo.jpg", "rb") as file:
            pixels = lv.decode_and_crop_jpeg(file.read(), [0, 2, 4, 4])
    """
    return decode_jpeg(
        contents,
        channels,
        ratio,
        fancy_upscaling,
        try_recover_truncated,
        acceptable_fraction,
        dct_method,
        crop_window=crop_window,
        max_pixels=max_pixels,
        key=key,
    )


def decode_png(
    contents: bytes,
    channels: int = 0,
    dtype: Any = "uint8",
    name: str | None = None,
    *,
    crop_window: Sequence[int] | None = None,
    max_pixels: int | None = None,
    key: str | None = None,
) -> Array:
    """Decodes a PNG image to [height, width, channels], as ``tf.io.decode_png``.

    Args:
        contents (bytes): the file as bytes.
        channels (int, default 0): 0 = as stored (3 for a palette, or 4 if colors are transparent),
            1 = gray, 2 = gray and alpha, 3 = RGB, 4 = RGBA.
        dtype (dtype, default "uint8"): uint8 (16 bits lose the lower 8) or uint16 (8 bits are
            multiplied by 257).
        name (str): ignored.
        crop_window (Sequence[int]): (y, x, height, width) of the result.
        max_pixels (int): images with more are refused; None = 2**27.
        key (str): for the attribute ``key`` of errors.

    Raises:
        InvalidArgumentError, DataLossError, ResourceExhaustedError: as `decode_jpeg`.
        UnimplementedError: levada was built without libpng.

    Example:
        with open("image.png", "rb") as file:
            pixels = lv.decode_png(file.read())
    """
    options = {"dtype": name_of(dtype), "crop": _window(crop_window), "max_pixels": max_pixels}
    return _pixels("decode_png", contents, channels, options, key)


def decode_image(
    contents: bytes,
    channels: int = 0,
    name: str | None = None,
    *,
    orient: bool = False,
    max_pixels: int | None = None,
    key: str | None = None,
) -> Array:
    """Decodes a JPEG or PNG image to uint8 [height, width, channels].

    Args:
        contents (bytes): the file as bytes.
        channels (int, default 0): 0 = as stored, 1 = gray, 3 = RGB, and of PNG data 2 and 4 with
            alpha.
        name (str): ignored.
        orient (bool, default False): turn and mirror the image as its EXIF orientation says.
        max_pixels (int): images with more are refused; None = 2**27.
        key (str): for the attribute ``key`` of errors.

    Raises:
        InvalidArgumentError, DataLossError, ResourceExhaustedError: as `decode_jpeg`.

    Example:
        with open("photo.jpg", "rb") as file:
            pixels = lv.decode_image(file.read())
    """
    options = {"orient": bool(orient), "max_pixels": max_pixels}
    return _pixels("decode_image", contents, channels, options, key)


def image_info(contents: bytes, *, key: str | None = None) -> tuple[int, int, int]:
    """Reads the header of a JPEG or PNG image.

    Args:
        contents (bytes): the file as bytes.
        key (str): for the attribute ``key`` of errors.

    Returns:
        (height, width, channels).

    Raises:
        InvalidArgumentError: the data is neither JPEG nor PNG.
        DataLossError: the data is damaged.

    Example:
        with open("photo.jpg", "rb") as file:
            height, width, channels = lv.image_info(file.read())
    """
    import numpy as np

    info = np.asarray(run_decoder("image_info", {}, [contents], key)["info"])[0]
    return int(info[0]), int(info[1]), int(info[2])


def audio_info(contents: bytes, *, key: str | None = None) -> tuple[int, int, int, int]:
    """Reads the header of WAV or FLAC data.

    Args:
        contents (bytes): the file as bytes.
        key (str): for the attribute ``key`` of errors.

    Returns:
        (rate in Hz, channels, frames, bits of a sample); frames are -1 if the header of FLAC does
        not contain them.

    Raises:
        InvalidArgumentError: the data is neither WAV nor FLAC.
        DataLossError: the data is damaged.

    Example:
        with open("speech.wav", "rb") as file:
            rate, channels, frames, bits = lv.audio_info(file.read())
    """
    import numpy as np

    info = np.asarray(run_decoder("audio_info", {}, [contents], key)["info"])[0]
    return int(info[0]), int(info[1]), int(info[2]), int(info[3])


def decode_wav(
    contents: bytes,
    dtype: Any = "float32",
    *,
    channels: int | None = None,
    try_recover_truncated: bool = False,
    max_samples: int | None = None,
    key: str | None = None,
) -> tuple[Array, int]:
    """Decodes WAV audio to (samples [frames, channels], rate in Hz).

    Args:
        contents (bytes): the file as bytes.
        dtype (dtype, default "float32"): float32 or float64 (-1 to 1), uint8, int16, int32 or int64
            (the whole range).
        channels (int): refuses another number of channels; None = as stored.
        try_recover_truncated (bool, default False): decode the existing samples if the header
            declares more.
        max_samples (int): audio with more samples is refused; None = 2**27.
        key (str): for the attribute ``key`` of errors.

    Raises:
        InvalidArgumentError: an argument is wrong, or the data is not WAV.
        DataLossError: the data is damaged or truncated.
        ResourceExhaustedError: there are more samples than ``max_samples``.

    Example:
        with open("speech.wav", "rb") as file:
            samples, rate = lv.decode_wav(file.read())
    """
    options = {
        "dtype": name_of(dtype),
        "try_recover_truncated": bool(try_recover_truncated),
        "max_samples": max_samples,
    }
    return _samples("decode_wav", contents, channels, options, key)


def decode_flac(
    contents: bytes,
    dtype: Any = "float32",
    *,
    channels: int | None = None,
    md5: bool = False,
    max_samples: int | None = None,
    key: str | None = None,
) -> tuple[Array, int]:
    """Decodes FLAC audio.

    Args:
        contents (bytes): the file as bytes.
        dtype (dtype, default "float32"): float32 or float64 (-1 to 1), uint8, int16, int32 or int64
            (the whole range).
        channels (int): refuses another number of channels; None = as stored.
        md5 (bool, default False): compares the samples with the MD5 in the header.
        max_samples (int): audio with more samples is refused; None = 2**27.
        key (str): for the attribute ``key`` of errors.

    Returns:
        (samples [frames, channels], rate in Hz).

    Raises:
        InvalidArgumentError, DataLossError, ResourceExhaustedError: as `decode_wav`.
        UnimplementedError: levada was built without libFLAC.

    Example:
        with open("speech.flac", "rb") as file:
            samples, rate = lv.decode_flac(file.read())
    """
    options = {"dtype": name_of(dtype), "md5": bool(md5), "max_samples": max_samples}
    return _samples("decode_flac", contents, channels, options, key)


def resample(
    samples: Array,
    *,
    rate: int,
    input_rate: int,
    quality: str = "HQ",
    max_samples: int | None = None,
    key: str | None = None,
) -> Array:
    """Resamples audio to another sample rate, with libsoxr.

    Args:
        samples (Array): [frames] or [frames, channels] of float32, float64, int16 or int32.
        rate (int): sample rate of the result, in Hz.
        input_rate (int): sample rate of ``samples``, in Hz.
        quality (str, default "HQ"): HQ, VHQ, MQ, LQ or QQ, as SoX names them.
        max_samples (int): results with more samples are refused; None = 2**27.
        key (str): for the attribute ``key`` of errors.

    Raises:
        InvalidArgumentError: an argument is wrong, or one rate is more than 256 times the other.
        ResourceExhaustedError: the result has more samples than ``max_samples``.
        UnimplementedError: levada was built without libsoxr.

    Example:
        import numpy as np
        print(len(lv.resample(np.zeros(800, np.float32), rate=16000, input_rate=8000)))
    """
    options = {"input_rate": int(input_rate), "quality": quality, "max_samples": max_samples}
    return _sound("resample", samples, key, rate=int(rate), **options)


def log_mel(samples: Array, rate: int = 16000, *, key: str | None = None, **options: Any) -> Array:
    """Computes the log-mel spectrogram of audio, float32 [frames, n_mels].

    Args:
        samples (Array): [frames] or [frames, 1] of float32.
        rate (int, default 16000): sample rate, in Hz.
        key (str): for the attribute ``key`` of errors.
        options: options of the stage ``log_mel``: ``n_fft``, ``hop``, ``n_mels`` and others.

    Raises:
        InvalidArgumentError: an option is wrong.
        UnimplementedError: levada was built without KISS FFT.

    Example:
        import numpy as np
        print(lv.log_mel(np.zeros(16000, np.float32)).shape)
    """
    return _sound("log_mel", samples, key, rate=int(rate), **options)


def _sound(stage, samples, key, **options):
    """One sound through a stage. A sound without frames has no record to show its shape."""
    import numpy as np

    from levada._combined import from_arrays
    from levada.errors import LevadaError

    samples = np.asarray(samples)
    try:
        ds = getattr(from_arrays({"x": samples[None]}), stage)("x", **options)
        return np.asarray(ds.with_options(threads=1).first()["x"])
    except LevadaError as error:
        raise type(error)(error.message, key=key) from None


def _window(window):
    return None if window is None else [int(n) for n in window]


def _pixels(decoder, contents, channels, options, key):
    import numpy as np

    if channels not in (0, 1, 2, 3, 4):
        raise ValueError(f"`channels` must be 0, 1, 3 or 4, got {channels!r}")
    options["channels"] = int(channels) or image_info(contents, key=key)[2]
    column = run_decoder(decoder, options, [contents], key)["image"]
    if options.get("crop") is not None:
        return np.asarray(column)[0]
    height = int(column.lengths[0])
    return column.values.reshape(height, -1, column.values.shape[-1])


def _samples(decoder, contents, channels, options, key):
    import numpy as np

    options["channels"] = audio_info(contents, key=key)[1] if channels is None else int(channels)
    batch = run_decoder(decoder, options, [contents], key)
    return batch["audio"].values, int(np.asarray(batch["sample_rate"])[0])
