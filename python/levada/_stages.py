# SPDX-License-Identifier: Apache-2.0
"""Stages from their option tables. Made by ci/gen_python.py; do not edit."""

from __future__ import annotations

from levada._typed import T, Typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from levada._batch import Batch
    from levada._dataset import Dataset
    from levada._lengths import LengthHistogram


class Stages(Typed[T]):
    """Methods of Dataset that are a name and options."""

    __slots__ = ()

    def _append(
        self, name: str, options: dict[str, Any], more: Iterable[Dataset[Any]] = ()
    ) -> Dataset[Any]:
        raise NotImplementedError

    def _stage(self, name: str, **options: Any) -> Dataset[Any]:
        given = {key: value for key, value in options.items() if value is not None}
        return self._append(name, given)

    def add_noise(
        self,
        field: str,
        snr: float | Iterable[float],
        *,
        seed: int | None = None,
        noise: str | None = None,
    ) -> Dataset[T]:
        """Adds white noise, or noise of another field, to audio at a random signal-to-noise
        ratio.

        Args:
            field (str): field with audio: [frames] or [frames, channels] of float32, float64,
                int16 or int32
            snr (float | Iterable[float]): signal-to-noise ratio in dB: one number, or [low,
                high], from which each record draws; of the power in all channels
            seed (int): seed of this stage; stages with the same seed on other fields draw the
                same numbers; None = the seed of the iterator
            noise (str): field with the noise, of the same dtype and channels: a random part, or
                repeated from a random frame if shorter; None = white Gaussian noise

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("samples.bin", record_bytes=4)
                .decode_raw("record", lv.int16)
                .add_noise("record", snr=[3, 30])
            )
        """
        return self._stage("add_noise", field=field, snr=snr, seed=seed, noise=noise)

    def audio_info(self, field: str, *, out: str | None = None) -> Dataset[T]:
        """Reads only the sample rate, channels, frames and bits of audio.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            out (str): name of the decoded column; None = the name of the column that it
                replaces

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.fixed_length("sound.wav", record_bytes=52).audio_info("record")
        """
        return self._stage("audio_info", field=field, out=out)

    def batch(self, batch_size: int, *, drop_remainder: bool = False) -> Dataset[Batch]:
        """Groups batch_size records into a batch; ragged columns stay ragged.

        Args:
            batch_size (int): records in a batch
            drop_remainder (bool, default False): drop a smaller last batch

        Returns:
            Dataset: batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).batch(4)
        """
        return self._stage("batch", batch_size=batch_size, drop_remainder=drop_remainder)

    def bucket_by_sequence_length(
        self,
        length: str | Iterable[str] | Callable[[Any], int],
        *,
        boundaries: int | Iterable[int] | Iterable[tuple[int, int]] | LengthHistogram | None = None,
        batch_sizes: int | Iterable[int] | None = None,
        max_tokens: int | None = None,
        cost: str | Callable[..., float] | None = None,
        num_buckets: int | None = None,
        lookahead: int | None = None,
        too_long: str = "error",
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        pad_to_multiple: int = 1,
        padding_side: str = "right",
        no_padding: bool = False,
        drop_remainder: bool = False,
    ) -> Dataset[Batch]:
        """Groups records of similar length into padded batches.

        Args:
            length (str | Iterable[str] | Callable[[Any], int]): field whose first dimension is
                the length, or an integer field with the length; up to 4 fields
            boundaries (int | Iterable[int] | Iterable[tuple[int, int]] | LengthHistogram):
                strictly increasing lengths: bucket i has the records with boundaries[i-1] <=
                length < boundaries[i]; pairs for two fields; None = levada chooses them from an
                index, or from the first records
            batch_sizes (int | Iterable[int]): records in a batch: one number, or one for each
                bucket
            max_tokens (int): instead of batch_sizes: maximum cost of a batch, which is its
                number of records times the cost of the longest record
            cost (str | Callable[..., float]): cost of a padded record: linear (sum of its
                lengths), quadratic (sum of their squares), 2d (product of two), or a pure
                function of its lengths ({c: NAME} of a plug-in); None = linear
            num_buckets (int): maximum number of buckets, if levada chooses the boundaries; None
                = 16
            lookahead (int): instead of boundaries: number of records to buffer and sort by
                length
            too_long (str, default 'error'): policy for a record that is larger than max_tokens:
                raise an error, truncate it, drop and count it, or emit it as a batch of one
                record (error, truncate, skip, alone)
            padded_shapes (Any): {field: [length or None, ...]} to pad to; None = the longest
                record of the batch
            padding_values (Any): {field: value}, or one value for all fields; None = 0, and
                empty strings
            pad_to_bucket_boundary (bool, default False): pad to the boundary of the bucket
                minus 1, not to the longest record
            pad_to_multiple (int, default 1): round padded lengths up to a multiple of this
                number
            padding_side (str, default 'right'): put padding after the values of a sequence, or
                before them (right, left)
            no_padding (bool, default False): return ragged batches instead of padded ones
            drop_remainder (bool, default False): with batch_sizes: drop records that do not
                fill a batch at the end

        Returns:
            Dataset: batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(30).bucket_by_sequence_length("value", boundaries=[10, 20], batch_sizes=4)
        """
        return self._stage(
            "bucket_by_sequence_length",
            length=length,
            boundaries=boundaries,
            batch_sizes=batch_sizes,
            max_tokens=max_tokens,
            cost=cost,
            num_buckets=num_buckets,
            lookahead=lookahead,
            too_long=too_long,
            padded_shapes=padded_shapes,
            padding_values=padding_values,
            pad_to_bucket_boundary=pad_to_bucket_boundary,
            pad_to_multiple=pad_to_multiple,
            padding_side=padding_side,
            no_padding=no_padding,
            drop_remainder=drop_remainder,
        )

    def cast(self, field: str, dtype: Any) -> Dataset[T]:
        """Converts numbers to another dtype.

        Args:
            field (str): field of numbers
            dtype (Any): new dtype; floats are rounded to the nearest float, or toward zero to
                integers; a record with a number out of range is a bad record

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).cast("value", dtype=lv.float32)
        """
        return self._stage("cast", field=field, dtype=dtype)

    def change_speed(
        self,
        field: str,
        factors: float | Iterable[float] | None = None,
        *,
        seed: int | None = None,
        range: float | Iterable[float] | None = None,
        quality: str = "HQ",
        max_samples: int = 134217728,
    ) -> Dataset[T]:
        """Changes the speed of audio, and its pitch, by a random factor.

        Args:
            field (str): field with audio: [frames] or [frames, channels] of float32, float64,
                int16 or int32
            factors (float | Iterable[float]): list of factors from 0.1 to 10, each as likely; 2
                = half as many frames; None = [0.9, 1, 1.1]
            seed (int): seed of this stage; stages with the same seed on other fields draw the
                same numbers; None = the seed of the iterator
            range (float | Iterable[float]): [low, high]: any factor between them, in steps of
                0.0001, in place of factors
            quality (str, default 'HQ'): quality of the filter, in the names of SoX: high, very
                high, medium, low, quick (HQ, VHQ, MQ, LQ, QQ)
            max_samples (int, default 134217728): maximum number of samples of a result, in all
                channels; a longer result is a bad record

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("samples.bin", record_bytes=8)
                .decode_raw("record", lv.int16)
                .change_speed("record", factors=[0.9, 1, 1.1])
            )
        """
        return self._stage(
            "change_speed",
            field=field,
            factors=factors,
            seed=seed,
            range=range,
            quality=quality,
            max_samples=max_samples,
        )

    def collect(self) -> Dataset[dict[str, Any]]:
        """Makes one record of each batch; every field has one more level.

        Returns:
            Dataset: records.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).batch(4).collect()
        """
        return self._stage("collect")

    def decode_csv(
        self,
        field: str,
        record_defaults: Any,
        *,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        quote_char: str = '"',
        na_value: str = "",
        na_values: str | Iterable[str] | None = None,
        thousands: str | None = None,
        select_cols: int | Iterable[int] | None = None,
        columns: str | Iterable[str] | None = None,
        invalid: str = "error",
    ) -> Dataset[T]:
        """Decodes lines of CSV to one column per field.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            record_defaults (Any): {name: entry, ...}, or a list with one entry per column: a
                dtype (float32, float64, int32, int64, text, string, or datetime64[s], [ms],
                [us] or [ns] for ISO 8601 in int64; the field is required), or {dtype: ...,
                default: ...}
            field_delim (str, default ','): one character between fields
            use_quote_delim (bool, default True): quotes enclose fields; False = quotes are
                ordinary characters
            quote_char (str, default '"'): the character that encloses fields
            na_value (str, default ''): string that marks a missing field, in addition to the
                empty string
            na_values (str | Iterable[str]): further strings that mark a missing field: [NA,
                None, '-']
            thousands (str): character between groups of digits in numbers, such as ','; None =
                none
            select_cols (int | Iterable[int]): numbers of the fields to decode, ascending from
                0; None = all
            columns (str | Iterable[str]): names of the columns; None = the names in
                record_defaults or in the header, else c0, c1, ... by the number of the field
            invalid (str, default 'error'): bytes of text that are not UTF-8: error rejects the
                row, replace reads each of them as U+FFFD (error, replace)

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.text_lines("people.csv")
                .decode_csv("line", ["string", "int32", {"dtype": "float32", "default": 0}])
            )
        """
        return self._stage(
            "decode_csv",
            field=field,
            record_defaults=record_defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            quote_char=quote_char,
            na_value=na_value,
            na_values=na_values,
            thousands=thousands,
            select_cols=select_cols,
            columns=columns,
            invalid=invalid,
        )

    def decode_flac(
        self,
        field: str,
        *,
        channels: int = 1,
        dtype: Any = "float32",
        out: str = "audio",
        rate: str = "sample_rate",
        max_samples: int = 134217728,
        md5: bool = False,
    ) -> Dataset[T]:
        """Decodes FLAC data to samples.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            channels (int, default 1): number of channels that all audio must have
            dtype (Any, default 'float32'): float32, float64 (-1 to 1), uint8, int16, int32 or
                int64
            out (str, default 'audio'): name of the column of samples, [frames, channels]
            rate (str, default 'sample_rate'): name of the column of sample rates
            max_samples (int, default 134217728): maximum number of samples in all channels;
                longer audio is a bad record
            md5 (bool, default False): compare the samples with the MD5 in the header, which
                makes decoding a third slower

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.fixed_length("sound.flac", record_bytes=61).decode_flac("record", channels=1)
        """
        return self._stage(
            "decode_flac",
            field=field,
            channels=channels,
            dtype=dtype,
            out=out,
            rate=rate,
            max_samples=max_samples,
            md5=md5,
        )

    def decode_image(
        self,
        field: str,
        *,
        channels: int = 3,
        ratio: int = 1,
        crop: int | Iterable[int] | None = None,
        random_crop: int | Iterable[int] | None = None,
        random_resized_crop: int | Iterable[int] | None = None,
        crop_scale: float | Iterable[float] = (0.08, 1.0),
        crop_ratio: float | Iterable[float] = (0.75, 1.3333333333333333),
        antialias: bool = True,
        method: str = "bilinear",
        seed: int | None = None,
        orient: bool = False,
        fancy_upscaling: bool = True,
        try_recover_truncated: bool = False,
        acceptable_fraction: float = 1.0,
        dct_method: str = "INTEGER_ACCURATE",
        max_pixels: int = 134217728,
        out: str | None = None,
    ) -> Dataset[T]:
        """Decodes JPEG and PNG images to pixels.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            channels (int, default 3): channels of a pixel: 1 (gray) or 3; for PNG data also 2
                and 4 (with alpha)
            ratio (int, default 1): divides height and width of JPEG data while decoding: 1, 2,
                4 or 8
            crop (int | Iterable[int]): [y, x, height, width] to decode, in pixels of the
                result; None = all
            random_crop (int | Iterable[int]): [height, width] of a window at a random position,
                which depends on the seed, the epoch and the record; None = none
            random_resized_crop (int | Iterable[int]): [height, width] or one number: decode a
                random window alone and resize it, as the stage random_resized_crop does; None =
                none
            crop_scale (float | Iterable[float], default (0.08, 1.0)): random_resized_crop:
                least and largest share of the area in the window
            crop_ratio (float | Iterable[float], default (0.75, 1.3333333333333333)):
                random_resized_crop: least and largest width / height of the window
            antialias (bool, default True): random_resized_crop: weigh all covered pixels if the
                result is smaller
            method (str, default 'bilinear'): random_resized_crop: bilinear: interpolate between
                the nearest pixels; nearest: copy the nearest pixel, for masks of labels, and
                for uint16, which bilinear refuses (bilinear, nearest)
            seed (int): random_resized_crop: seed; stages with the same seed on other fields
                draw the same windows; None = the seed of the iterator
            orient (bool, default False): turn and mirror the image as its EXIF orientation
                says; crops apply to the result
            fancy_upscaling (bool, default True): smooth upsampling of the colors of JPEG data
            try_recover_truncated (bool, default False): decode truncated or damaged JPEG data
                as far as possible
            acceptable_fraction (float, default 1.0): share of the rows that truncated JPEG data
                must have; missing rows are black
            dct_method (str, default 'INTEGER_ACCURATE'): exact, or a little faster
                (INTEGER_ACCURATE, INTEGER_FAST)
            max_pixels (int, default 134217728): maximum number of pixels; a larger image is a
                bad record
            out (str): name of the decoded column; None = the name of the column that it
                replaces

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("image.png", record_bytes=81)
                .decode_image("record", channels=3, random_resized_crop=[3, 2], orient=True)
            )
        """
        return self._stage(
            "decode_image",
            field=field,
            channels=channels,
            ratio=ratio,
            crop=crop,
            random_crop=random_crop,
            random_resized_crop=random_resized_crop,
            crop_scale=crop_scale,
            crop_ratio=crop_ratio,
            antialias=antialias,
            method=method,
            seed=seed,
            orient=orient,
            fancy_upscaling=fancy_upscaling,
            try_recover_truncated=try_recover_truncated,
            acceptable_fraction=acceptable_fraction,
            dct_method=dct_method,
            max_pixels=max_pixels,
            out=out,
        )

    def decode_jpeg(
        self,
        field: str,
        channels: int = 3,
        ratio: int = 1,
        crop: int | Iterable[int] | None = None,
        out: str | None = None,
        *,
        random_crop: int | Iterable[int] | None = None,
        random_resized_crop: int | Iterable[int] | None = None,
        crop_scale: float | Iterable[float] = (0.08, 1.0),
        crop_ratio: float | Iterable[float] = (0.75, 1.3333333333333333),
        antialias: bool = True,
        method: str = "bilinear",
        seed: int | None = None,
        orient: bool = False,
        fancy_upscaling: bool = True,
        try_recover_truncated: bool = False,
        acceptable_fraction: float = 1.0,
        dct_method: str = "INTEGER_ACCURATE",
        max_pixels: int = 134217728,
    ) -> Dataset[T]:
        """Decodes JPEG images to pixels.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            channels (int, default 3): channels of a pixel: 1 (gray) or 3; for PNG data also 2
                and 4 (with alpha)
            ratio (int, default 1): divides height and width of JPEG data while decoding: 1, 2,
                4 or 8
            crop (int | Iterable[int]): [y, x, height, width] to decode, in pixels of the
                result; None = all
            out (str): name of the decoded column; None = the name of the column that it
                replaces
            random_crop (int | Iterable[int]): [height, width] of a window at a random position,
                which depends on the seed, the epoch and the record; None = none
            random_resized_crop (int | Iterable[int]): [height, width] or one number: decode a
                random window alone and resize it, as the stage random_resized_crop does; None =
                none
            crop_scale (float | Iterable[float], default (0.08, 1.0)): random_resized_crop:
                least and largest share of the area in the window
            crop_ratio (float | Iterable[float], default (0.75, 1.3333333333333333)):
                random_resized_crop: least and largest width / height of the window
            antialias (bool, default True): random_resized_crop: weigh all covered pixels if the
                result is smaller
            method (str, default 'bilinear'): random_resized_crop: bilinear: interpolate between
                the nearest pixels; nearest: copy the nearest pixel, for masks of labels, and
                for uint16, which bilinear refuses (bilinear, nearest)
            seed (int): random_resized_crop: seed; stages with the same seed on other fields
                draw the same windows; None = the seed of the iterator
            orient (bool, default False): turn and mirror the image as its EXIF orientation
                says; crops apply to the result
            fancy_upscaling (bool, default True): smooth upsampling of the colors of JPEG data
            try_recover_truncated (bool, default False): decode truncated or damaged JPEG data
                as far as possible
            acceptable_fraction (float, default 1.0): share of the rows that truncated JPEG data
                must have; missing rows are black
            dct_method (str, default 'INTEGER_ACCURATE'): exact, or a little faster
                (INTEGER_ACCURATE, INTEGER_FAST)
            max_pixels (int, default 134217728): maximum number of pixels; a larger image is a
                bad record

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.fixed_length("gray.jpg", record_bytes=166).decode_jpeg("record", 1, orient=True)
        """
        return self._stage(
            "decode_jpeg",
            field=field,
            channels=channels,
            ratio=ratio,
            crop=crop,
            out=out,
            random_crop=random_crop,
            random_resized_crop=random_resized_crop,
            crop_scale=crop_scale,
            crop_ratio=crop_ratio,
            antialias=antialias,
            method=method,
            seed=seed,
            orient=orient,
            fancy_upscaling=fancy_upscaling,
            try_recover_truncated=try_recover_truncated,
            acceptable_fraction=acceptable_fraction,
            dct_method=dct_method,
            max_pixels=max_pixels,
        )

    def decode_json(self, field: str, fields: Any, *, invalid: str = "error") -> Dataset[T]:
        """Decodes JSON objects to one column per field.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            fields (Any): {name: dtype, ...} (int32, int64, float32, float64, bool, text,
                string); [dtype] and [[dtype]] are lists, {name: ...} is an object, [{name:
                ...}] a list of objects; {dtype: ..., default: ..., path: a.b} has a default,
                and a path in nested objects; text has the JSON of values that are not strings;
                auto = infer them from the first 1,000 records when the dataset is created; the
                pipeline then contains them
            invalid (str, default 'error'): lone surrogates in escapes, and bytes that are not
                UTF-8: error rejects the record, replace reads each of them as U+FFFD (error,
                replace)

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.text_lines("notes.txt")
                .decode_json(
                    "line",
                    {"id": "int64", "tokens": ["int64"], "turns": [{"who": "text"}]},
                    invalid="replace",
                )
            )
        """
        return self._stage("decode_json", field=field, fields=fields, invalid=invalid)

    def decode_npy(
        self,
        field: str,
        dtype: Any,
        shape: int | Iterable[int] | None = None,
        out: str | None = None,
    ) -> Dataset[T]:
        """Decodes NumPy arrays (.npy) to numbers.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            dtype (Any): dtype of the arrays
            shape (int | Iterable[int]): dimensions of every array; the first dimensions may be
                -1 (any size); None = [-1]; an array without dimensions counts as [1]
            out (str): name of the decoded column; None = the name of the column that it
                replaces

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.fixed_length("numbers.npy", record_bytes=71).decode_npy("record", lv.int16)
        """
        return self._stage("decode_npy", field=field, dtype=dtype, shape=shape, out=out)

    def decode_png(
        self,
        field: str,
        channels: int = 3,
        dtype: Any = "uint8",
        out: str | None = None,
        *,
        crop: int | Iterable[int] | None = None,
        random_crop: int | Iterable[int] | None = None,
        random_resized_crop: int | Iterable[int] | None = None,
        crop_scale: float | Iterable[float] = (0.08, 1.0),
        crop_ratio: float | Iterable[float] = (0.75, 1.3333333333333333),
        antialias: bool = True,
        method: str = "bilinear",
        seed: int | None = None,
        orient: bool = False,
        max_pixels: int = 134217728,
    ) -> Dataset[T]:
        """Decodes PNG images to pixels.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            channels (int, default 3): channels of a pixel: 1 (gray), 2 (gray, alpha), 3 or 4
                (with alpha)
            dtype (Any, default 'uint8'): uint8 or uint16; uint8 drops the lower 8 of 16 bits,
                uint16 multiplies 8 bits by 257
            out (str): name of the decoded column; None = the name of the column that it
                replaces
            crop (int | Iterable[int]): [y, x, height, width] to decode, in pixels of the
                result; None = all
            random_crop (int | Iterable[int]): [height, width] of a window at a random position,
                which depends on the seed, the epoch and the record; None = none
            random_resized_crop (int | Iterable[int]): [height, width] or one number: decode a
                random window alone and resize it, as the stage random_resized_crop does; None =
                none
            crop_scale (float | Iterable[float], default (0.08, 1.0)): random_resized_crop:
                least and largest share of the area in the window
            crop_ratio (float | Iterable[float], default (0.75, 1.3333333333333333)):
                random_resized_crop: least and largest width / height of the window
            antialias (bool, default True): random_resized_crop: weigh all covered pixels if the
                result is smaller
            method (str, default 'bilinear'): random_resized_crop: bilinear: interpolate between
                the nearest pixels; nearest: copy the nearest pixel, for masks of labels, and
                for uint16, which bilinear refuses (bilinear, nearest)
            seed (int): random_resized_crop: seed; stages with the same seed on other fields
                draw the same windows; None = the seed of the iterator
            orient (bool, default False): turn and mirror the image as its EXIF orientation
                says; crops apply to the result
            max_pixels (int, default 134217728): maximum number of pixels; a larger image is a
                bad record

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.fixed_length("image.png", record_bytes=81).decode_png("record", 3)
        """
        return self._stage(
            "decode_png",
            field=field,
            channels=channels,
            dtype=dtype,
            out=out,
            crop=crop,
            random_crop=random_crop,
            random_resized_crop=random_resized_crop,
            crop_scale=crop_scale,
            crop_ratio=crop_ratio,
            antialias=antialias,
            method=method,
            seed=seed,
            orient=orient,
            max_pixels=max_pixels,
        )

    def decode_raw(
        self,
        field: str,
        dtype: Any,
        *,
        little_endian: bool = True,
        fixed_length: int | None = None,
        out: str | None = None,
    ) -> Dataset[T]:
        """Reinterprets byte strings as numbers.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            dtype (Any): dtype of the numbers
            little_endian (bool, default True): the numbers are little endian; False = big
                endian
            fixed_length (int): bytes of a row; longer strings are truncated, and shorter
                strings padded with zeros; None = rows of any length
            out (str): name of the decoded column; None = the name of the column that it
                replaces

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.fixed_length("numbers.bin", record_bytes=4).decode_raw("record", lv.int16)
        """
        return self._stage(
            "decode_raw",
            field=field,
            dtype=dtype,
            little_endian=little_endian,
            fixed_length=fixed_length,
            out=out,
        )

    def decode_wav(
        self,
        field: str,
        *,
        channels: int = 1,
        dtype: Any = "float32",
        out: str = "audio",
        rate: str = "sample_rate",
        max_samples: int = 134217728,
        try_recover_truncated: bool = False,
    ) -> Dataset[T]:
        """Decodes WAV data to samples.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            channels (int, default 1): number of channels that all audio must have
            dtype (Any, default 'float32'): float32, float64 (-1 to 1), uint8, int16, int32 or
                int64
            out (str, default 'audio'): name of the column of samples, [frames, channels]
            rate (str, default 'sample_rate'): name of the column of sample rates
            max_samples (int, default 134217728): maximum number of samples in all channels;
                longer audio is a bad record
            try_recover_truncated (bool, default False): if the header declares more samples
                than the data has, decode those that exist

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.fixed_length("sound.wav", record_bytes=52).decode_wav("record", channels=1)
        """
        return self._stage(
            "decode_wav",
            field=field,
            channels=channels,
            dtype=dtype,
            out=out,
            rate=rate,
            max_samples=max_samples,
            try_recover_truncated=try_recover_truncated,
        )

    def enumerate(self, start: int = 0, *, field: str = "index") -> Dataset[T]:
        """Adds the number of each record (batch) as a column.

        Args:
            start (int, default 0): number of the first record (batch)
            field (str, default 'index'): name of the column

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(5, 15).enumerate()
        """
        return self._stage("enumerate", start=start, field=field)

    def gain(
        self, field: str, db: float | Iterable[float], *, seed: int | None = None
    ) -> Dataset[T]:
        """Changes the volume of audio by a random number of decibels.

        Args:
            field (str): field with audio: [frames] or [frames, channels] of float32, float64,
                int16 or int32
            db (float | Iterable[float]): gain in dB: one number, or [low, high], from which
                each record draws; integers beyond their range are clipped to it, floats are not
            seed (int): seed of this stage; stages with the same seed on other fields draw the
                same numbers; None = the seed of the iterator

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("samples.bin", record_bytes=4)
                .decode_raw("record", lv.int16)
                .gain("record", db=[-6, 6])
            )
        """
        return self._stage("gain", field=field, db=db, seed=seed)

    def group_by(self, key: str, *, max_records: int = 1048576) -> Dataset[T]:
        """Makes one record of consecutive records with the same key.

        Args:
            key (str): field of integers or byte strings, which stays one value; or len(field);
                integers may be followed by // N or % N
            max_records (int, default 1048576): maximum number of records of one key; more are
                an error

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(30).group_by("value // 4")
        """
        return self._stage("group_by", key=key, max_records=max_records)

    def image_info(self, field: str, *, out: str | None = None) -> Dataset[T]:
        """Reads only the height, width and channels of images.

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes
            out (str): name of the decoded column; None = the name of the column that it
                replaces

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.fixed_length("image.png", record_bytes=81).image_info("record")
        """
        return self._stage("image_info", field=field, out=out)

    def log_mel(
        self,
        field: str,
        *,
        rate: int = 16000,
        n_fft: int = 400,
        hop: int = 160,
        window: int | None = None,
        n_mels: int = 80,
        low: float = 0.0,
        high: float | None = None,
        scale: str = "slaney",
        norm: str = "slaney",
        padding: str = "reflect",
        log: str = "natural",
        floor: float = 1e-10,
        rate_field: str = "sample_rate",
    ) -> Dataset[T]:
        """Computes log-mel spectrograms of audio.

        Args:
            field (str): field with audio of one channel: [frames] or [frames, 1] of float32
            rate (int, default 16000): samples per second
            n_fft (int, default 400): samples of a frame, an even number
            hop (int, default 160): samples from frame to frame
            window (int): samples of the Hann window, centered in a frame; None = n_fft
            n_mels (int, default 80): number of filters, the size of a frame of the result
            low (float, default 0.0): lowest frequency of the filters, in Hz
            high (float): highest frequency of the filters, in Hz; None = rate / 2
            scale (str, default 'slaney'): mel scale: slaney as in librosa, htk as in HTK and
                torchaudio (slaney, htk)
            norm (str, default 'slaney'): slaney: filters of area 1 as in librosa; none: filters
                of height 1 as in torchaudio (slaney, none)
            padding (str, default 'reflect'): padding with n_fft / 2 samples before and after
                the audio: reflected, zeros, or none (reflect, zeros, none)
            log (str, default 'natural'): logarithm; none = the power itself (natural, log10,
                none)
            floor (float, default 1e-10): minimum power; smaller values are raised to it
            rate_field (str, default 'sample_rate'): field with the sample rate; if the records
                have it, it must equal rate

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("samples.bin", record_bytes=16)
                .decode_raw("record", lv.float32)
                .log_mel("record", rate=8, n_fft=4, hop=2, n_mels=2)
            )
        """
        return self._stage(
            "log_mel",
            field=field,
            rate=rate,
            n_fft=n_fft,
            hop=hop,
            window=window,
            n_mels=n_mels,
            low=low,
            high=high,
            scale=scale,
            norm=norm,
            padding=padding,
            log=log,
            floor=floor,
            rate_field=rate_field,
        )

    def normalize(
        self,
        field: str,
        mean: float | Iterable[float] = 0.0,
        std: float | Iterable[float] = 1.0,
        *,
        layout: str = "hwc",
        scale: float | None = None,
    ) -> Dataset[T]:
        """Scales numbers to float32, subtracts a mean and divides by a standard deviation.

        Args:
            field (str): field of uint8, uint16 or float32; its last dimension is the channels
            mean (float | Iterable[float], default 0.0): subtracted from each channel after
                scaling: one number, or one for each channel
            std (float | Iterable[float], default 1.0): divides each channel after subtracting
                mean: one number, or one for each channel
            layout (str, default 'hwc'): hwc: keep the shape; chw: images [height, width,
                channels] become [channels, height, width] (hwc, chw)
            scale (float): factor before mean is subtracted; None = 1/255 for uint8, 1/65535 for
                uint16, 1 for float32

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("pixels.bin", record_bytes=12)
                .decode_raw("record", lv.uint8)
                .reshape("record", shape=[2, 2, 3])
                .normalize(
                    "record",
                    mean=[0.485, 0.456, 0.406],
                    std=[0.229, 0.224, 0.225],
                    layout="chw",
                )
            )
        """
        return self._stage("normalize", field=field, mean=mean, std=std, layout=layout, scale=scale)

    def npy_info(self, field: str) -> Dataset[T]:
        """Reads only the dtype and shape of NumPy arrays (.npy).

        Args:
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.fixed_length("numbers.npy", record_bytes=71).npy_info("record")
        """
        return self._stage("npy_info", field=field)

    def pack(
        self,
        length: int,
        *,
        fields: str | Iterable[str] | None = None,
        open_bins: int = 64,
        split: bool = False,
        too_long: str = "error",
        max_segments: int = 65536,
        multiple_of: int = 1,
        ids: bool = False,
    ) -> Dataset[T]:
        """Packs several sequences into one record of at most `length` steps.

        Args:
            length (int): maximum number of steps in a packed record
            fields (str | Iterable[str]): fields to pack, with the same length in each record;
                None = all ragged fields; other fields become lists with one value per segment
            open_bins (int, default 64): number of packed records that are filled at the same
                time
            split (bool, default False): fill each packed record completely and cut the last
                sequence; False = only too_long cuts sequences
            too_long (str, default 'error'): policy for a record longer than length: bad record,
                truncate it, skip and count it, or split it into pieces (error, truncate, skip,
                split)
            max_segments (int, default 65536): maximum number of sequences in a packed record
            multiple_of (int, default 1): each sequence takes the next multiple of this many
                steps of length, so that context_parallel can pad it; length must be a multiple,
                too
            ids (bool, default False): add the fields FIELD_segment_ids (from 1) and
                FIELD_positions

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.text_lines("lines.txt").pack(20, fields="line")
        """
        return self._stage(
            "pack",
            length=length,
            fields=fields,
            open_bins=open_bins,
            split=split,
            too_long=too_long,
            max_segments=max_segments,
            multiple_of=multiple_of,
            ids=ids,
        )

    def pad_to(
        self,
        field: str,
        size: int | Iterable[int],
        *,
        value: float | Iterable[float] = 0.0,
        position: str = "center",
    ) -> Dataset[T]:
        """Adds a border to images, so that all have the same size.

        Args:
            field (str): field with images: [height, width] or [height, width, channels] of
                numbers
            size (int | Iterable[int]): [height, width] of the result, or one number; a larger
                image is a bad record
            value (float | Iterable[float], default 0.0): value of the border: one number, or
                one for each channel
            position (str, default 'center'): place of the image in the result (center,
                top_left)

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("pixels.bin", record_bytes=12)
                .decode_raw("record", lv.uint8)
                .reshape("record", shape=[-1, 2, 3])
                .pad_to("record", size=[3, 4], value=[1, 2, 3])
            )
        """
        return self._stage("pad_to", field=field, size=size, value=value, position=position)

    def padded_batch(
        self,
        batch_size: int,
        *,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_multiple: int = 1,
        padding_side: str = "right",
        drop_remainder: bool = False,
    ) -> Dataset[Batch]:
        """Groups batch_size records into a batch, padded to the longest.

        Args:
            batch_size (int): records in a batch
            padded_shapes (Any): {field: [length or None, ...]} to pad to; None = the longest
                record of the batch
            padding_values (Any): {field: value}, or one value for all fields; None = 0, and
                empty strings
            pad_to_multiple (int, default 1): round padded lengths up to a multiple of this
                number
            padding_side (str, default 'right'): put padding after the values of a sequence, or
                before them (right, left)
            drop_remainder (bool, default False): drop a smaller last batch

        Returns:
            Dataset: batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).padded_batch(4)
        """
        return self._stage(
            "padded_batch",
            batch_size=batch_size,
            padded_shapes=padded_shapes,
            padding_values=padding_values,
            pad_to_multiple=pad_to_multiple,
            padding_side=padding_side,
            drop_remainder=drop_remainder,
        )

    def parse_example(
        self, spec: Any, *, invalid: str = "error", field: str | None = None
    ) -> Dataset[T]:
        """Parses tf.train.Example messages to columns.

        Args:
            spec (Any): features: {name: {kind: FixedLen|VarLen|FixedLenSequence|Ragged|Sparse,
                dtype: ..., shape: [...], default: ...}}; auto = infer them from the first 1,000
                records when the dataset is created; the pipeline then contains them
            invalid (str, default 'error'): bytes of text that are not UTF-8: error rejects the
                record, replace reads each of them as U+FFFD (error, replace)
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.tfrecord("train.tfrecord").parse_example({"tokens": lv.VarLenFeature(lv.int64)})
        """
        return self._stage("parse_example", spec=spec, invalid=invalid, field=field)

    def parse_sequence_example(
        self,
        context: Any = None,
        sequences: Any = None,
        *,
        invalid: str = "error",
        field: str | None = None,
    ) -> Dataset[T]:
        """Parses tf.train.SequenceExample messages to columns.

        Args:
            context (Any): features of the context, as in parse_example
            sequences (Any): feature lists: {name: {kind: FixedLenSequence|VarLen|Ragged, dtype:
                ..., shape: [...]}}; auto = infer these and the context from the first 1,000
                records when the dataset is created; the pipeline then contains them
            invalid (str, default 'error'): bytes of text that are not UTF-8: error rejects the
                record, replace reads each of them as U+FFFD (error, replace)
            field (str): column to decode; None = the default of the decoder, or the only column
                of bytes

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.tfrecord("train.tfrecord")
                .parse_sequence_example(
                    sequences={"frames": lv.FixedLenSequenceFeature([16], lv.float32)},
                )
            )
        """
        return self._stage(
            "parse_sequence_example",
            context=context,
            sequences=sequences,
            invalid=invalid,
            field=field,
        )

    def prefetch(self, n: int = 2, *, bytes: int | str | None = None) -> Dataset[T]:
        """Prepares blocks (batches) ahead of the consumer.

        Args:
            n (int, default 2): maximum number of blocks (batches) that are ready
            bytes (int | str): maximum bytes of these blocks; None = 256M

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).prefetch(2)
        """
        return self._stage("prefetch", n=n, bytes=bytes)

    def random_flip(
        self, field: str, *, left_right: float = 0.5, up_down: float = 0.0, seed: int | None = None
    ) -> Dataset[T]:
        """Mirrors images at random; the choice depends on the seed, the epoch and the record.

        Args:
            field (str): field with images: [height, width] or [height, width, channels] of
                numbers
            left_right (float, default 0.5): probability that left and right are exchanged
            up_down (float, default 0.0): probability that up and down are exchanged
            seed (int): seed of this stage; stages with the same seed on other fields draw the
                same numbers; None = the seed of the iterator

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("pixels.bin", record_bytes=12)
                .decode_raw("record", lv.uint8)
                .reshape("record", shape=[2, 2, 3])
                .random_flip("record", up_down=0.5)
            )
        """
        return self._stage(
            "random_flip", field=field, left_right=left_right, up_down=up_down, seed=seed
        )

    def random_resized_crop(
        self,
        field: str,
        size: int | Iterable[int],
        *,
        scale: float | Iterable[float] = (0.08, 1.0),
        ratio: float | Iterable[float] = (0.75, 1.3333333333333333),
        method: str = "bilinear",
        antialias: bool = True,
        seed: int | None = None,
    ) -> Dataset[T]:
        """Cuts a random window out of each image and resizes it; the window depends on the
        seed, the epoch and the record.

        Args:
            field (str): field with images: [height, width, channels] of uint8 or float32; with
                method=nearest also [height, width], and all numbers
            size (int | Iterable[int]): [height, width] of the result; one number = a square
            scale (float | Iterable[float], default (0.08, 1.0)): least and largest share of the
                image's area in the window
            ratio (float | Iterable[float], default (0.75, 1.3333333333333333)): least and
                largest width / height of the window
            method (str, default 'bilinear'): bilinear: interpolate between the nearest pixels;
                nearest: copy the nearest pixel, for masks of labels (bilinear, nearest)
            antialias (bool, default True): bilinear: weigh all covered pixels if the result is
                smaller than the window
            seed (int): seed of this stage; stages with the same seed on other fields draw the
                same numbers; None = the seed of the iterator

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("pixels.bin", record_bytes=12)
                .decode_raw("record", lv.uint8)
                .reshape("record", shape=[2, 2, 3])
                .random_resized_crop("record", size=[3, 1])
            )
        """
        return self._stage(
            "random_resized_crop",
            field=field,
            size=size,
            scale=scale,
            ratio=ratio,
            method=method,
            antialias=antialias,
            seed=seed,
        )

    def rename(self, fields: Any) -> Dataset[T]:
        """Renames fields.

        Args:
            fields (Any): {old: new, ...}; the name of a list of objects renames all its members

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).rename({"value": "x"})
        """
        return self._stage("rename", fields=fields)

    def repeat(self, count: int | None = None) -> Dataset[T]:
        """Repeats the input several times, or forever.

        Args:
            count (int): number of passes; None = forever

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(5).repeat(2)
        """
        return self._stage("repeat", count=count)

    def resample(
        self,
        field: str,
        rate: int,
        *,
        input_rate: int | None = None,
        rate_field: str = "sample_rate",
        quality: str = "HQ",
        max_samples: int = 134217728,
    ) -> Dataset[T]:
        """Resamples audio to another sample rate.

        Args:
            field (str): field with audio: [frames] or [frames, channels] of float32, float64,
                int16 or int32
            rate (int): sample rate of the result, in Hz
            input_rate (int): sample rate of all audio, in Hz; None = read it from rate_field
            rate_field (str, default 'sample_rate'): field with the sample rate of each record;
                replaced by the new rate
            quality (str, default 'HQ'): quality of the filter, in the names of SoX: high, very
                high, medium, low, quick (HQ, VHQ, MQ, LQ, QQ)
            max_samples (int, default 134217728): maximum number of samples of a result, in all
                channels; a longer result is a bad record

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("samples.bin", record_bytes=8)
                .decode_raw("record", lv.int16)
                .resample("record", rate=16000, input_rate=8000)
            )
        """
        return self._stage(
            "resample",
            field=field,
            rate=rate,
            input_rate=input_rate,
            rate_field=rate_field,
            quality=quality,
            max_samples=max_samples,
        )

    def reshape(self, field: str, shape: int | Iterable[int]) -> Dataset[T]:
        """Changes the shape of a field of numbers.

        Args:
            field (str): field of numbers
            shape (int | Iterable[int]): the new dimensions of a record; the first may be -1,
                which is computed from the others

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("numbers.bin", record_bytes=4)
                .decode_raw("record", lv.uint8)
                .reshape("record", shape=[2, 2])
            )
        """
        return self._stage("reshape", field=field, shape=shape)

    def resize_image(
        self,
        field: str,
        size: int | Iterable[int],
        *,
        method: str = "bilinear",
        antialias: bool = False,
    ) -> Dataset[T]:
        """Resizes all images to the same size.

        Args:
            field (str): field with images: [height, width, channels] of uint8 or float32; with
                method=nearest also [height, width], and all numbers
            size (int | Iterable[int]): [height, width] of the result
            method (str, default 'bilinear'): bilinear: interpolate between the nearest pixels;
                area: mean of all covered pixels; nearest: copy the nearest pixel, for masks of
                labels (bilinear, area, nearest)
            antialias (bool, default False): bilinear: weigh all covered pixels if the result is
                smaller, as Pillow and torchvision do

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("pixels.bin", record_bytes=12)
                .decode_raw("record", lv.uint8)
                .reshape("record", shape=[2, 2, 3])
                .resize_image("record", size=[3, 1])
            )
        """
        return self._stage(
            "resize_image", field=field, size=size, method=method, antialias=antialias
        )

    def shard(
        self, index: int, count: int, *, equal: str | None = None, sync: str | None = None
    ) -> Dataset[T]:
        """Divides the records (batches) into parts and keeps one part.

        Args:
            index (int): number of the part, from 0
            count (int): number of parts
            equal (str): make all parts the same size: drop discards the surplus records
                (batches), pad adds a copy with is_padding True; None = sizes may differ by one
            sync (str): buckets, directly after bucket_by_sequence_length: keep ranks in step,
                so that at each step the batches of all parts come from one bucket and have the
                same shape, and all parts have the same number of steps; equal=drop or pad
                (None) sets the policy at the end. Sets ranks and tail of the buckets

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).shard(1, count=3)
        """
        return self._stage("shard", index=index, count=count, equal=equal, sync=sync)

    def shuffle(
        self, buffer_size: int, *, seed: int | None = None, reshuffle: bool = True
    ) -> Dataset[T]:
        """Returns records in random order, through a buffer.

        Args:
            buffer_size (int): number of buffered records; a larger buffer mixes better, and
                takes about 200 bytes a record besides its data; shuffle_records of a source
                needs no buffer
            seed (int): seed of this stage; None = the seed of the iterator
            reshuffle (bool, default True): use a different order in each epoch

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(100).shuffle(10, seed=1)
        """
        return self._stage("shuffle", buffer_size=buffer_size, seed=seed, reshuffle=reshuffle)

    def skip(self, count: int) -> Dataset[T]:
        """Skips the first records (batches).

        Args:
            count (int): records (batches) to skip

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).skip(3)
        """
        return self._stage("skip", count=count)

    def slice(
        self, field: str, begin: int | Iterable[int], size: int | Iterable[int]
    ) -> Dataset[T]:
        """Extracts a slice of each value of a field.

        Args:
            field (str): field of numbers
            begin (int | Iterable[int]): start of the slice in each dimension, ragged dimensions
                first
            size (int | Iterable[int]): size of the slice in each dimension; -1 = to the end;
                missing dimensions are not sliced

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("numbers.bin", record_bytes=4)
                .decode_raw("record", lv.uint8)
                .slice("record", begin=[1], size=[2])
            )
        """
        return self._stage("slice", field=field, begin=begin, size=size)

    def spec_augment(
        self,
        field: str,
        *,
        seed: int | None = None,
        time_masks: int = 2,
        time_width: int = 100,
        time_fraction: float = 1.0,
        frequency_masks: int = 2,
        frequency_width: int = 27,
        value: float | None = None,
    ) -> Dataset[T]:
        """Masks random frames and frequencies of spectrograms (SpecAugment).

        Args:
            field (str): field with spectrograms: [frames, frequencies] of float32, as log_mel
                makes
            seed (int): seed of this stage; stages with the same seed on other fields draw the
                same numbers; None = the seed of the iterator
            time_masks (int, default 2): number of time masks of each record
            time_width (int, default 100): maximum number of frames of a time mask; all widths
                from 0 are equally likely
            time_fraction (float, default 1.0): maximum width of a time mask as a fraction of
                the frames of the record
            frequency_masks (int, default 2): number of frequency masks of each record
            frequency_width (int, default 27): maximum number of frequencies of a frequency
                mask; all widths from 0 are equally likely
            value (float): number in the masks; None = the mean of the record before masking

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.fixed_length("frames.bin", record_bytes=16)
                .decode_raw("record", lv.float32)
                .reshape("record", shape=[2, 2])
                .spec_augment("record", time_width=1, frequency_width=1)
            )
        """
        return self._stage(
            "spec_augment",
            field=field,
            seed=seed,
            time_masks=time_masks,
            time_width=time_width,
            time_fraction=time_fraction,
            frequency_masks=frequency_masks,
            frequency_width=frequency_width,
            value=value,
        )

    def take(self, count: int) -> Dataset[T]:
        """Returns only the first records (batches).

        Args:
            count (int): maximum number of records (batches) to return

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).take(7)
        """
        return self._stage("take", count=count)

    def unbatch(self) -> Dataset[dict[str, Any]]:
        """Splits batches into records, without padding.

        Returns:
            Dataset: records.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).batch(4).unbatch()
        """
        return self._stage("unbatch")

    def unroll(
        self,
        num_unroll: int,
        batch_size: int,
        *,
        sequences: str | Iterable[str] | None = None,
        context: str | Iterable[str] | None = None,
        key: str | None = None,
        length: str | None = None,
        burn_in: int = 0,
        shift: int = 0,
        targets: str | Iterable[str] | None = None,
        min_segment: int = 1,
        zero_length: str = "error",
        pad: bool = True,
        padding_values: Any = None,
        allow_small_batch: bool = True,
        ranks: int | Iterable[int] | None = None,
        layout: str = "slots",
        states: Any = None,
        capacity: int | None = None,
        make_keys_unique: bool = False,
        check_finite: bool = False,
    ) -> Dataset[Batch]:
        """Cuts long sequences into segments, for a model that carries its state.

        Args:
            num_unroll (int): steps in a segment
            batch_size (int): number of slots: sequences that are read at the same time, one per
                row of the batch
            sequences (str | Iterable[str]): fields to cut, with the same length in each record;
                None = all ragged fields
            context (str | Iterable[str]): fields to repeat in each segment; None = all other
                fields
            key (str): field with the keys of the sequences; None = their numbers, from 0
            length (str): integer field with the number of steps of a record; None = the length
                of its sequences
            burn_in (int, default 0): number of steps at the end of a segment that the next
                segment repeats; loss_mask is False at repeated steps
            shift (int, default 0): add FIELD_target, the sequence this many steps later; steps
                without a target are dropped
            targets (str | Iterable[str]): sequences with a target; None = all
            min_segment (int, default 1): minimum number of new steps in a last segment; a
                shorter segment is dropped, and a sequence without another segment is dropped
                and counted
            zero_length (str, default 'error'): policy for a record without steps: bad record,
                skip and count it, or emit one empty segment (error, skip, segment)
            pad (bool, default True): pad the last segment of a sequence; False = an incomplete
                last segment is an error
            padding_values (Any): {sequence: value}, or one value for all; None = 0, and empty
                strings; a target uses the value of FIELD_target, or else of FIELD
            allow_small_batch (bool, default True): at the end of the input, continue while any
                slot has a sequence; False = stop when a slot is empty, and drop and count the
                other unfinished sequences
            ranks (int | Iterable[int]): [rank, world]: ranks in step, each with its own
                batch_size slots. All read the same records and need the same seed; None = one
                rank
            layout (str, default 'slots'): slots: a sequence keeps its row, and the model keeps
                the states; ready: batches contain states, and the consumer saves the new states
                (slots, ready)
            states (Any): for ready: map of name to dtype, or to {dtype, shape}; a state starts
                with the field of the same name, or with zeros
            capacity (int): for ready: number of sequences that are open at the same time, at
                least batch_size; None = batch_size
            make_keys_unique (bool, default False): for ready: append a number to each key,
                because keys of open sequences must be unique
            check_finite (bool, default False): for ready: states with NaN or infinity are
                errors

        Returns:
            Dataset: batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            (
                lv.text_lines("lines.txt")
                .decode_raw("line", lv.uint8)
                .unroll(4, batch_size=2, zero_length="segment")
            )
        """
        return self._stage(
            "unroll",
            num_unroll=num_unroll,
            batch_size=batch_size,
            sequences=sequences,
            context=context,
            key=key,
            length=length,
            burn_in=burn_in,
            shift=shift,
            targets=targets,
            min_segment=min_segment,
            zero_length=zero_length,
            pad=pad,
            padding_values=padding_values,
            allow_small_batch=allow_small_batch,
            ranks=ranks,
            layout=layout,
            states=states,
            capacity=capacity,
            make_keys_unique=make_keys_unique,
            check_finite=check_finite,
        )

    def window(
        self,
        size: int,
        *,
        shift: int | None = None,
        stride: int = 1,
        padded: bool = False,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_multiple: int = 1,
        padding_side: str = "right",
        drop_remainder: bool = False,
        collect: bool = False,
    ) -> Dataset[Any]:
        """Groups neighboring records into batches, which may overlap.

        Args:
            size (int): records in a window
            shift (int): records from the start of a window to the start of the next; None =
                size
            stride (int, default 1): distance between the records of a window; 1 = neighbors
            padded (bool, default False): pad the batches, as padded_batch does; False = ragged
                batches
            padded_shapes (Any): {field: [length or None, ...]} to pad to; None = the longest
                record of the batch
            padding_values (Any): {field: value}, or one value for all fields; None = 0, and
                empty strings
            pad_to_multiple (int, default 1): round padded lengths up to a multiple of this
                number
            padding_side (str, default 'right'): put padding after the values of a sequence, or
                before them (right, left)
            drop_remainder (bool, default False): drop windows that are not full at the end
            collect (bool, default False): one record of each window, as ``collect()`` makes it

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.range(10).window(4, shift=2)
        """
        made: Dataset[Any] = self._stage(
            "window",
            size=size,
            shift=shift,
            stride=stride,
            padded=padded,
            padded_shapes=padded_shapes,
            padding_values=padding_values,
            pad_to_multiple=pad_to_multiple,
            padding_side=padding_side,
            drop_remainder=drop_remainder,
        )
        return made.collect() if collect else made

    def window_steps(
        self,
        size: int,
        *,
        shift: int | None = None,
        stride: int = 1,
        fields: str | Iterable[str] | None = None,
        drop_remainder: bool = False,
    ) -> Dataset[T]:
        """Cuts long records into windows of a number of steps.

        Args:
            size (int): steps in a window
            shift (int): steps from the start of a window to the start of the next; None = size
            stride (int, default 1): distance between the steps of a window; 1 = neighbors
            fields (str | Iterable[str]): fields to cut, with the same length in each record;
                None = all ragged fields; other fields are repeated
            drop_remainder (bool, default False): drop windows with fewer steps, at the end of
                each record

        Returns:
            Dataset: records, or batches if the input has batches.

        Raises:
            InvalidArgumentError: an option or a field is invalid.

        Example:
            lv.text_lines("lines.txt").window_steps(6, shift=4, fields="line")
        """
        return self._stage(
            "window_steps",
            size=size,
            shift=shift,
            stride=stride,
            fields=fields,
            drop_remainder=drop_remainder,
        )
