# SPDX-License-Identifier: Apache-2.0
"""tf.train.Example and SequenceExample as protobuf classes, without TensorFlow."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "levada_bench"
TYPES = descriptor_pb2.FieldDescriptorProto


def _message(file, name, fields, oneof=None):
    """Adds a message; fields are (name, number, type, repeated, message name or None)."""
    message = file.message_type.add(name=name)
    if oneof:
        message.oneof_decl.add(name=oneof)
    for field_name, number, kind, repeated, of in fields:
        field = message.field.add(name=field_name, number=number, type=kind)
        field.label = TYPES.LABEL_REPEATED if repeated else TYPES.LABEL_OPTIONAL
        if of:
            field.type_name = f".{PACKAGE}.{of}"
        if oneof:
            field.oneof_index = 0
    return message


def _map(message, of):
    """Adds the hidden entry message of a map<string, of>."""
    entry = message.nested_type.add(name=message.field[0].type_name.rsplit(".", 1)[1])
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=TYPES.TYPE_STRING, label=TYPES.LABEL_OPTIONAL)
    value = entry.field.add(name="value", number=2, type=TYPES.TYPE_MESSAGE)
    value.label, value.type_name = TYPES.LABEL_OPTIONAL, f".{PACKAGE}.{of}"


def _build():
    file = descriptor_pb2.FileDescriptorProto(name="levada_bench.proto", package=PACKAGE)
    file.syntax = "proto3"
    part = TYPES.TYPE_MESSAGE
    _message(file, "BytesList", [("value", 1, TYPES.TYPE_BYTES, True, None)])
    _message(file, "FloatList", [("value", 1, TYPES.TYPE_FLOAT, True, None)])
    _message(file, "Int64List", [("value", 1, TYPES.TYPE_INT64, True, None)])
    kinds = [("bytes_list", 1, "BytesList"), ("float_list", 2, "FloatList")]
    kinds.append(("int64_list", 3, "Int64List"))
    _message(file, "Feature", [(n, k, part, False, of) for n, k, of in kinds], "kind")
    entry = "Features.FeatureEntry"
    _map(_message(file, "Features", [("feature", 1, part, True, entry)]), "Feature")
    _message(file, "Example", [("features", 1, part, False, "Features")])
    _message(file, "FeatureList", [("feature", 1, part, True, "Feature")])
    entry = "FeatureLists.FeatureListEntry"
    _map(_message(file, "FeatureLists", [("feature_list", 1, part, True, entry)]), "FeatureList")
    sequence = [("context", 1, "Features"), ("feature_lists", 2, "FeatureLists")]
    _message(file, "SequenceExample", [(n, k, part, False, of) for n, k, of in sequence])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = ("Example", "SequenceExample")
    return [
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in names
    ]


Example, SequenceExample = _build()
