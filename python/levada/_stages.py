# SPDX-License-Identifier: Apache-2.0
"""Stages from their option tables. Made by ci/gen_python.py; do not edit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from levada._dataset import Dataset


class Stages:
    """Methods of Dataset that are a name and options."""

    __slots__ = ()

    def _stage(self, name, **options) -> Dataset:
        given = {key: value for key, value in options.items() if value is not None}
        return self._append(name, given)

    def parse_example(self, spec: Any, *, field: str | None = None) -> Dataset:
        """tf.train.Example messages to columns.

        spec: features: {name: {kind: FixedLen|VarLen|FixedLenSequence|Ragged|Sparse, dtype:
            ..., shape: [...], default: ...}}
        field: column to decode; null = the decoder's own, or the only one of bytes

        As text: tfrecord:train.tfrecord | parse_example:{tokens:{kind:VarLen,dtype:int64}}
        """
        return self._stage("parse_example", spec=spec, field=field)

    def parse_sequence_example(
        self, sequence: Any = None, *, context: Any = None, field: str | None = None
    ) -> Dataset:
        """tf.train.SequenceExample messages to columns.

        sequence: feature lists: {name: {kind: FixedLenSequence|VarLen|Ragged, dtype: ...,
            shape: [...]}}
        context: features of the context, as in parse_example
        field: column to decode; null = the decoder's own, or the only one of bytes

        As text: tfrecord:train.tfrecord |
            parse_sequence_example:{frames:{kind:FixedLenSequence,shape:[16],dtype:float32}}
        """
        return self._stage(
            "parse_sequence_example", sequence=sequence, context=context, field=field
        )

    def prefetch(self, n: int = 2, *, bytes: int | str | None = None) -> Dataset:
        """Make blocks ahead of the consumer.

        n: blocks (batches) that may lie ready
        bytes: most bytes of them; null = 256M

        As text: range:10 | prefetch:2
        """
        return self._stage("prefetch", n=n, bytes=bytes)
