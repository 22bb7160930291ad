# SPDX-License-Identifier: Apache-2.0
"""Sources from their option tables. Made by ci/gen_python.py; do not edit."""

from __future__ import annotations

from levada import _levada

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from levada._dataset import Dataset
    from levada._values import Paths

__all__ = [
    "csv",
    "delimited",
    "fasta",
    "fastq",
    "files",
    "fixed_length",
    "framed",
    "json",
    "jsonl",
    "litdata",
    "mds",
    "megatron",
    "tar",
    "text_lines",
    "tfrecord",
]


def _source(name: str, **options: Any) -> Dataset[dict[str, Any]]:
    from levada._dataset import Dataset
    from levada._values import paths

    given = {key: value for key, value in options.items() if value is not None}
    for key in ("files", "pattern"):
        if key in given:
            given[key] = paths(given[key])
    if isinstance(given.get("dtypes"), (list, tuple)) and "record_defaults" not in given:
        given["record_defaults"] = given.pop("dtypes")  # of all columns
    for key in ("record_defaults", "dtypes"):
        if key in given:
            from levada._decoders import csv_defaults

            given[key] = csv_defaults(given[key])
    if name in ("json", "jsonl") and "fields" in given:
        from levada._decoders import json_fields

        given["fields"] = json_fields(given["fields"])
    return Dataset(_levada.append(name, given, ()))


def csv(
    files: Paths,
    *,
    record_defaults: Any = None,
    header: bool = False,
    dtypes: Any = None,
    dates: Any = None,
    infer: bool = False,
    infer_rows: int = 1000,
    header_columns: str = "all",
    misplaced_quotes: str = "resync",
    skip_rows: int = 0,
    comment: str | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    quote_char: str = '"',
    na_value: str = "",
    na_values: str | Iterable[str] | None = None,
    thousands: str | None = None,
    select_cols: int | Iterable[int] | None = None,
    columns: str | Iterable[str] | None = None,
    invalid: str = "error",
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    encoding: str = "utf-8",
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads rows of CSV files, one column per field.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        record_defaults (Any): {name: entry, ...}, or a list with one entry per column: a dtype
            (float32, float64, int32, int64, text, string, or datetime64[s], [ms], [us] or [ns]
            for ISO 8601 in int64; the field is required), or {dtype: ..., default: ...}; None =
            one column 'fields' with the strings of each row
        header (bool, default False): the first row of every file is a header with the names of
            the columns
        dtypes (Any): {name: entry of record_defaults} for some columns of the header; the
            others are inferred
        dates (Any): {name: s, ms, us or ns}: columns of dates and times in ISO 8601, which
            become int64 since 1970-01-01 UTC in that unit; a missing value is NaT, the least
            int64. Short for dtypes with datetime64[unit]; the other columns are inferred
        infer (bool, default False): infer record_defaults and header from the first rows of the
            first file when the dataset is created; the pipeline then contains them
        infer_rows (int, default 1000): number of rows that infer reads, 1 to 65,536; it reads
            at most 1 KiB for each row, and at least 1 MiB
        header_columns (str, default 'all'): columns that the header of each file must have, in
            any order: all = the columns of record_defaults; any = a column that the header
            lacks has its default, and other columns are ignored (all, any)
        misplaced_quotes (str, default 'resync'): what ends a field after a misplaced quote
            inside quotes: resync = the first line end that completes the fields of the row, or
            a line end before a whole row; tensorflow = a quote directly before a delimiter or a
            line end, as in CsvDataset (resync, tensorflow)
        skip_rows (int, default 0): lines to skip at the start of every file, before the header
        comment (str): character that begins a line of comment, which is not a row; None = none
        field_delim (str, default ','): one character between fields
        use_quote_delim (bool, default True): quotes enclose fields; False = quotes are ordinary
            characters
        quote_char (str, default '"'): the character that encloses fields
        na_value (str, default ''): string that marks a missing field, in addition to the empty
            string
        na_values (str | Iterable[str]): further strings that mark a missing field: [NA, None,
            '-']
        thousands (str): character between groups of digits in numbers, such as ','; None = none
        select_cols (int | Iterable[int]): numbers of the fields to decode, ascending from 0;
            None = all
        columns (str | Iterable[str]): names of the columns; None = the names in record_defaults
            or in the header, else c0, c1, ... by the number of the field
        invalid (str, default 'error'): bytes of text that are not UTF-8: error rejects the row,
            replace reads each of them as U+FFFD (error, replace)
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        encoding (str, default 'utf-8'): encoding of the files: utf-8, utf-16 (by its byte order
            mark), utf-16-le, utf-16-be, latin-1 or cp1252
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.csv(
            "people.csv",
            record_defaults=["string", "int32", {"dtype": "float32", "default": 0}],
            columns=["name", "age", "height"],
            header=True,
        )
    """
    return _source(
        "csv",
        files=files,
        record_defaults=record_defaults,
        header=header,
        dtypes=dtypes,
        dates=dates,
        infer=infer,
        infer_rows=infer_rows,
        header_columns=header_columns,
        misplaced_quotes=misplaced_quotes,
        skip_rows=skip_rows,
        comment=comment,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        quote_char=quote_char,
        na_value=na_value,
        na_values=na_values,
        thousands=thousands,
        select_cols=select_cols,
        columns=columns,
        invalid=invalid,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        encoding=encoding,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def delimited(
    files: Paths,
    *,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads messages with a varint length prefix (delimited protobuf).

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.delimited("messages.pb")
    """
    return _source(
        "delimited",
        files=files,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def fasta(
    files: Paths,
    *,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    encoding: str = "utf-8",
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads sequences of FASTA files.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        encoding (str, default 'utf-8'): encoding of the files: utf-8, utf-16 (by its byte order
            mark), utf-16-le, utf-16-be, latin-1 or cp1252
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.fasta("genes.fa")
    """
    return _source(
        "fasta",
        files=files,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        encoding=encoding,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def fastq(
    files: Paths,
    *,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    encoding: str = "utf-8",
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads sequences and qualities of FASTQ files.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        encoding (str, default 'utf-8'): encoding of the files: utf-8, utf-16 (by its byte order
            mark), utf-16-le, utf-16-be, latin-1 or cp1252
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.fastq("reads.fq")
    """
    return _source(
        "fastq",
        files=files,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        encoding=encoding,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def files(pattern: Paths, *, shuffle: bool = False) -> Dataset[dict[str, Any]]:
    """Returns file names.

    Args:
        pattern (Paths): paths and patterns (* ? [a-z]); the matches of a pattern are sorted
        shuffle (bool, default False): use a different order in each epoch

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.files("*.txt")
    """
    return _source("files", pattern=pattern, shuffle=shuffle)


def fixed_length(
    files: Paths,
    record_bytes: int | str,
    *,
    header_bytes: int | str = 0,
    footer_bytes: int | str = 0,
    hop_bytes: int | str = 0,
    drop_partial: bool = False,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads records of fixed length.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        record_bytes (int | str): length of a record
        header_bytes (int | str, default 0): bytes to skip at the start of every file
        footer_bytes (int | str, default 0): bytes to skip at the end of every file
        hop_bytes (int | str, default 0): bytes from the start of a record to the start of the
            next; records overlap if this is less than record_bytes, and bytes are skipped if it
            is more; 0 = record_bytes
        drop_partial (bool, default False): drop an incomplete record at the end of a file;
            False = it is an error
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.fixed_length("images.bin", record_bytes=4)
    """
    return _source(
        "fixed_length",
        files=files,
        record_bytes=record_bytes,
        header_bytes=header_bytes,
        footer_bytes=footer_bytes,
        hop_bytes=hop_bytes,
        drop_partial=drop_partial,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def framed(
    files: Paths,
    header_bytes: int | str,
    *,
    length_offset: int | str = 0,
    length_bytes: int = 4,
    length_bits: int = 0,
    big_endian: bool = False,
    length_with_header: bool = False,
    footer_bytes: int | str = 0,
    align_bytes: int | str = 1,
    skip_bytes: int | str = 0,
    magic: str = "",
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads records with a header of fixed size that contains their length (RecordIO).

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        header_bytes (int | str): bytes of the header before each payload, which contains the
            length
        length_offset (int | str, default 0): position of the length in the header
        length_bytes (int, default 4): number of bytes of the length
        length_bits (int, default 0): number of low bits that are the length; the other bits
            must be 0; 0 = all bits
        big_endian (bool, default False): the length is big endian
        length_with_header (bool, default False): the length includes the header
        footer_bytes (int | str, default 0): bytes to skip after each payload
        align_bytes (int | str, default 1): header, payload and footer are padded to a multiple
            of this
        skip_bytes (int | str, default 0): bytes to skip at the start of every file
        magic (str, default ''): bytes that every header begins with, in hexadecimal: 0a23d7ce
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.framed(
            "images.rec",
            header_bytes=4,
            length_offset=2,
            length_bytes=2,
            big_endian=True,
            align_bytes=4,
            magic="5243",
        )
    """
    return _source(
        "framed",
        files=files,
        header_bytes=header_bytes,
        length_offset=length_offset,
        length_bytes=length_bytes,
        length_bits=length_bits,
        big_endian=big_endian,
        length_with_header=length_with_header,
        footer_bytes=footer_bytes,
        align_bytes=align_bytes,
        skip_bytes=skip_bytes,
        magic=magic,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def json(
    files: Paths,
    *,
    fields: Any = None,
    field: str | None = None,
    invalid: str = "error",
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    encoding: str = "utf-8",
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads JSON documents that are lists of objects, one column per field.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        fields (Any): {name: dtype, ...} (int32, int64, float32, float64, bool, text, string);
            [dtype] and [[dtype]] are lists, {name: ...} is an object, [{name: ...}] a list of
            objects; {dtype: ..., default: ..., path: a.b} has a default, and a path in nested
            objects; text has the JSON of values that are not strings; auto = infer them from
            the first 1,000 records when the dataset is created; the pipeline then contains
            them; None = one column 'line'
        field (str): the member of the document that is the list: data for {"data": [...]}; None
            = the document is the list
        invalid (str, default 'error'): lone surrogates in escapes, and bytes that are not
            UTF-8: error rejects the record, replace reads each of them as U+FFFD (error,
            replace)
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        encoding (str, default 'utf-8'): encoding of the files: utf-8, utf-16 (by its byte order
            mark), utf-16-le, utf-16-be, latin-1 or cp1252
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.json("notes.json", fields={"id": "int64", "text": "text", "tokens": ["int64"]})
    """
    return _source(
        "json",
        files=files,
        fields=fields,
        field=field,
        invalid=invalid,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        encoding=encoding,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def jsonl(
    files: Paths,
    *,
    fields: Any = None,
    invalid: str = "error",
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    encoding: str = "utf-8",
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads JSON Lines, one column per field.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        fields (Any): {name: dtype, ...} (int32, int64, float32, float64, bool, text, string);
            [dtype] and [[dtype]] are lists, {name: ...} is an object, [{name: ...}] a list of
            objects; {dtype: ..., default: ..., path: a.b} has a default, and a path in nested
            objects; text has the JSON of values that are not strings; auto = infer them from
            the first 1,000 records when the dataset is created; the pipeline then contains
            them; None = one column 'line'
        invalid (str, default 'error'): lone surrogates in escapes, and bytes that are not
            UTF-8: error rejects the record, replace reads each of them as U+FFFD (error,
            replace)
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        encoding (str, default 'utf-8'): encoding of the files: utf-8, utf-16 (by its byte order
            mark), utf-16-le, utf-16-be, latin-1 or cp1252
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.jsonl(
            "notes.jsonl",
            fields={"id": "int64", "text": "text", "tokens": ["int64"], "turns":
                [{"who": "text", "score": {"dtype": "float32", "default": 0}}]},
        )
    """
    return _source(
        "jsonl",
        files=files,
        fields=fields,
        invalid=invalid,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        encoding=encoding,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def litdata(
    files: Paths,
    *,
    columns: Any = "auto",
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads samples of LitData: a directory with an index.json, or its chunks.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        columns (Any, default 'auto'): {name: encoding} of all columns in their order, such as
            {id: int, text: str}; auto = from index.json
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.litdata("chunk.bin", columns={"s": "str", "n": "values:int16"})
    """
    return _source(
        "litdata",
        files=files,
        columns=columns,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def mds(
    files: Paths,
    *,
    columns: Any = "auto",
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads samples of MosaicML Streaming (MDS): shards, or a directory with an index.json.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        columns (Any, default 'auto'): {name: encoding} of all columns in their order, such as
            {id: int, text: str}; auto = from the shards
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.mds("samples.mds", columns={"s": "str", "n": "uint8"})
    """
    return _source(
        "mds",
        files=files,
        columns=columns,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def megatron(
    files: Paths,
    *,
    dtype: Any = None,
    documents: bool = False,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads token sequences of Megatron-LM (.bin and .idx).

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        dtype (Any): dtype of the tokens; if it is set, the .idx file must have the same dtype
        documents (bool, default False): a record is a document with all its sequences, not one
            sequence
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.megatron("tokens.bin")
    """
    return _source(
        "megatron",
        files=files,
        dtype=dtype,
        documents=documents,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def tar(
    files: Paths,
    *,
    fields: str | Iterable[str] | None = None,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads samples of tar archives, in the naming of WebDataset.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        fields (str | Iterable[str]): fields to return as columns: jpg, cls, ...; a sample
            without one of them is a bad record; None = the names and values of all fields,
            ragged
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.tar("samples.tar", fields=["txt", "cls"])
    """
    return _source(
        "tar",
        files=files,
        fields=fields,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def text_lines(
    files: Paths,
    *,
    skip_lines: int = 0,
    invalid: str = "error",
    dtype: str = "text",
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    encoding: str = "utf-8",
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads lines of text files, without line ends.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        skip_lines (int, default 0): lines to skip at the start of every file
        invalid (str, default 'error'): bytes that are not UTF-8: error rejects the line,
            replace reads each of them as U+FFFD (error, replace)
        dtype (str, default 'text'): dtype of the lines: text = UTF-8, which is checked; string
            = any bytes (text, string)
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        encoding (str, default 'utf-8'): encoding of the files: utf-8, utf-16 (by its byte order
            mark), utf-16-le, utf-16-be, latin-1 or cp1252
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.text_lines("lines.txt")
    """
    return _source(
        "text_lines",
        files=files,
        skip_lines=skip_lines,
        invalid=invalid,
        dtype=dtype,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        encoding=encoding,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )


def tfrecord(
    files: Paths,
    *,
    verify: bool = True,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads records of TFRecord files.

    Args:
        files (Paths): paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
        verify (bool, default True): verify the checksums of payloads; checksums of lengths are
            always verified
        compression (str, default 'auto'): auto (looks at the first bytes), none, or a filter
            such as gzip
        shuffle_files (bool, default False): read the files in a different order in each epoch
        errors (str): policy for damage: fail, skip, skip:1000 or skip:0.1%; None = the policy
            of the iterator
        index (bool, default False): use the indexes that `levada index` or another library
            wrote next to the files
        shuffle_records (bool, default False): read the records of all files in a different
            order in each epoch; needs index, or a format that numbers its records (megatron)
        records (int | Iterable[int]): [start, stop): read only the records with these numbers,
            counted from 0 through all files in order; needs index, or a format that numbers its
            records (megatron); None = all
        part (int | Iterable[int]): [i, n]: read only part i of n; with an index a range of the
            records, otherwise every n-th file, starting with file i; None = all

    Returns:
        Dataset: records.

    Raises:
        InvalidArgumentError: an option or a field is invalid.

    Example:
        lv.tfrecord("examples.tfrecord")
    """
    return _source(
        "tfrecord",
        files=files,
        verify=verify,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
        shuffle_records=shuffle_records,
        records=records,
        part=part,
    )
