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
    "files",
    "fixed_length",
    "framed",
    "jsonl",
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
    if "record_defaults" in given:
        from levada._decoders import csv_defaults

        given["record_defaults"] = csv_defaults(given["record_defaults"])
    if name == "jsonl" and "fields" in given:
        from levada._decoders import json_fields

        given["fields"] = json_fields(given["fields"])
    return Dataset(_levada.append(name, given, ()))


def csv(
    files: Paths,
    *,
    record_defaults: Any = None,
    header: bool = False,
    infer: bool = False,
    infer_rows: int = 1000,
    header_columns: str = "all",
    field_delim: str = ",",
    use_quote_delim: bool = True,
    quote_char: str = '"',
    na_value: str = "",
    select_cols: int | Iterable[int] | None = None,
    columns: str | Iterable[str] | None = None,
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads rows of CSV files, one column per field.

    files: paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
    record_defaults: {name: entry, ...}, or a list with one entry per column: a dtype (float32,
        float64, int32, int64, string; the field is required), or {dtype: ..., default: ...};
        null = one column 'fields' with the strings of each row
    header: the first row of every file names the columns, and is not read as a row
    infer: find record_defaults and header in the first rows of the first file when the dataset
        is made, and write them into the description
    infer_rows: rows that infer reads, 1 to 65536, from 1 KiB for each of them, at least 1 MiB
    header_columns: columns that the header of each file must have, in any order: all = those of
        record_defaults; any = a column that it lacks has its default, and other columns are
        ignored (all, any)
    field_delim: one character between fields
    use_quote_delim: quotes enclose fields; false = they are characters like others
    quote_char: the character that encloses fields
    na_value: text of a missing field, as well as empty text
    select_cols: numbers of the fields to decode, ascending from 0; null = all
    columns: names of the columns; null = those of record_defaults or of the header, otherwise
        c0, c1, ... by the number of the field
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: read the files in a different order in each epoch
    errors: what to do at damage: fail, skip, skip:1000 or skip:0.1%; null = the policy of the
        iterator
    index: use the indexes that `levada index` wrote next to the files
    shuffle_records: read the records of all files in a different order in each epoch; needs
        index
    records: [start, stop): read only the records with these numbers, counted from 0 through all
        files in order; needs index; null = all
    part: [i, n]: read only part i of n; with an index a range of the records, otherwise every
        n-th file, starting with file i; null = all

    As text: csv:people.csv,record_defaults=[string,int32,{dtype:float32,default:0}],columns=[name,a
        ge,height],header=true
    """
    return _source(
        "csv",
        files=files,
        record_defaults=record_defaults,
        header=header,
        infer=infer,
        infer_rows=infer_rows,
        header_columns=header_columns,
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        quote_char=quote_char,
        na_value=na_value,
        select_cols=select_cols,
        columns=columns,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
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
    """Reads messages that follow their length as a varint (delimited protobuf).

    files: paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: read the files in a different order in each epoch
    errors: what to do at damage: fail, skip, skip:1000 or skip:0.1%; null = the policy of the
        iterator
    index: use the indexes that `levada index` wrote next to the files
    shuffle_records: read the records of all files in a different order in each epoch; needs
        index
    records: [start, stop): read only the records with these numbers, counted from 0 through all
        files in order; needs index; null = all
    part: [i, n]: read only part i of n; with an index a range of the records, otherwise every
        n-th file, starting with file i; null = all

    As text: delimited:messages.pb
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


def files(pattern: Paths, *, shuffle: bool = False) -> Dataset[dict[str, Any]]:
    """Returns file names.

    pattern: paths and patterns (* ? [a-z]); the matches of a pattern are sorted
    shuffle: use a different order in each epoch

    As text: files:*.txt
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
    """Reads records of one length.

    files: paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
    record_bytes: length of a record
    header_bytes: bytes to skip at the start of every file
    footer_bytes: bytes to skip at the end of every file
    hop_bytes: bytes from the start of a record to the start of the next; records overlap if
        this is less than record_bytes, and bytes are skipped if it is more; 0 = record_bytes
    drop_partial: drop an incomplete record at the end of a file; false = it is an error
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: read the files in a different order in each epoch
    errors: what to do at damage: fail, skip, skip:1000 or skip:0.1%; null = the policy of the
        iterator
    index: use the indexes that `levada index` wrote next to the files
    shuffle_records: read the records of all files in a different order in each epoch; needs
        index
    records: [start, stop): read only the records with these numbers, counted from 0 through all
        files in order; needs index; null = all
    part: [i, n]: read only part i of n; with an index a range of the records, otherwise every
        n-th file, starting with file i; null = all

    As text: fixed_length:images.bin,record_bytes=4
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
    """Reads records after a header of fixed size with their length (RecordIO).

    files: paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
    header_bytes: bytes of the header before each payload, which contains the length
    length_offset: position of the length in the header
    length_bytes: number of bytes of the length
    length_bits: number of low bits that are the length; the other bits must be 0; 0 = all bits
    big_endian: the length is big endian
    length_with_header: the length includes the header
    footer_bytes: bytes to skip after each payload
    align_bytes: header, payload and footer are padded to a multiple of this
    skip_bytes: bytes to skip at the start of every file
    magic: bytes that every header begins with, in hexadecimal: 0a23d7ce
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: read the files in a different order in each epoch
    errors: what to do at damage: fail, skip, skip:1000 or skip:0.1%; null = the policy of the
        iterator
    index: use the indexes that `levada index` wrote next to the files
    shuffle_records: read the records of all files in a different order in each epoch; needs
        index
    records: [start, stop): read only the records with these numbers, counted from 0 through all
        files in order; needs index; null = all
    part: [i, n]: read only part i of n; with an index a range of the records, otherwise every
        n-th file, starting with file i; null = all

    As text: framed:images.rec,header_bytes=4,length_offset=2,length_bytes=2,big_endian=true,align_b
        ytes=4,magic=5243
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


def jsonl(
    files: Paths,
    *,
    fields: Any = None,
    invalid: str = "error",
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads lines of JSON, one column per field.

    files: paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
    fields: {name: dtype, ...} (int32, int64, float32, float64, bool, string); [dtype] and
        [[dtype]] are lists; {dtype: ..., default: ..., path: a.b} has a default, and a place in
        nested objects; auto = found in the first 1000 records when the dataset is made; the
        description has them from then on; null = one column 'line'
    invalid: lone surrogates in escapes, and bytes that are not UTF-8: error rejects the record,
        replace reads each of them as U+FFFD (error, replace)
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: read the files in a different order in each epoch
    errors: what to do at damage: fail, skip, skip:1000 or skip:0.1%; null = the policy of the
        iterator
    index: use the indexes that `levada index` wrote next to the files
    shuffle_records: read the records of all files in a different order in each epoch; needs
        index
    records: [start, stop): read only the records with these numbers, counted from 0 through all
        files in order; needs index; null = all
    part: [i, n]: read only part i of n; with an index a range of the records, otherwise every
        n-th file, starting with file i; null = all

    As text: jsonl:notes.jsonl,fields={id:int64,text:string,tokens:[int64]}
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

    files: paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
    fields: fields to return as columns: jpg, cls, ...; a sample without one of them is a bad
        record; null = the names and values of all fields, ragged
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: read the files in a different order in each epoch
    errors: what to do at damage: fail, skip, skip:1000 or skip:0.1%; null = the policy of the
        iterator
    index: use the indexes that `levada index` wrote next to the files
    shuffle_records: read the records of all files in a different order in each epoch; needs
        index
    records: [start, stop): read only the records with these numbers, counted from 0 through all
        files in order; needs index; null = all
    part: [i, n]: read only part i of n; with an index a range of the records, otherwise every
        n-th file, starting with file i; null = all

    As text: tar:samples.tar,fields=[txt,cls]
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
    compression: str = "auto",
    shuffle_files: bool = False,
    errors: str | None = None,
    index: bool = False,
    shuffle_records: bool = False,
    records: int | Iterable[int] | None = None,
    part: int | Iterable[int] | None = None,
) -> Dataset[dict[str, Any]]:
    """Reads lines of text files, without line ends.

    files: paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
    skip_lines: lines to skip at the start of every file
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: read the files in a different order in each epoch
    errors: what to do at damage: fail, skip, skip:1000 or skip:0.1%; null = the policy of the
        iterator
    index: use the indexes that `levada index` wrote next to the files
    shuffle_records: read the records of all files in a different order in each epoch; needs
        index
    records: [start, stop): read only the records with these numbers, counted from 0 through all
        files in order; needs index; null = all
    part: [i, n]: read only part i of n; with an index a range of the records, otherwise every
        n-th file, starting with file i; null = all

    As text: text_lines:lines.txt
    """
    return _source(
        "text_lines",
        files=files,
        skip_lines=skip_lines,
        compression=compression,
        shuffle_files=shuffle_files,
        errors=errors,
        index=index,
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

    files: paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}
    verify: verify the checksums of payloads; checksums of lengths are always verified
    compression: auto (looks at the first bytes), none, or a filter such as gzip
    shuffle_files: read the files in a different order in each epoch
    errors: what to do at damage: fail, skip, skip:1000 or skip:0.1%; null = the policy of the
        iterator
    index: use the indexes that `levada index` wrote next to the files
    shuffle_records: read the records of all files in a different order in each epoch; needs
        index
    records: [start, stop): read only the records with these numbers, counted from 0 through all
        files in order; needs index; null = all
    part: [i, n]: read only part i of n; with an index a range of the records, otherwise every
        n-th file, starting with file i; null = all

    As text: tfrecord:examples.tfrecord
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
