/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one serialized tf.train.Example or SequenceExample without a spec.
 *
 * The view uses the parser of the decoders, so it shows the values that parse_example and
 * parse_sequence_example return: it merges the parts of one message, replaces earlier entries of a
 * key by the last entry, and combines packed and unpacked numbers of one list. A record with a
 * field that is not part of either message is LEVADA_EXAMPLE_OTHER, because showing it as a message
 * would hide that field. A record whose entries are keys without values is also
 * LEVADA_EXAMPLE_OTHER, because an ExampleListWithContext looks like it.
 *
 * One thread at a time uses a view. The view copies the record and reuses its memory for the next
 * record. Results are borrowed until the next parse. Calls return ERESOURCE_EXHAUSTED if out of
 * memory, and EINVALID_ARGUMENT for a NULL argument or an item that does not exist. A record that
 * is not a message is not an error.
 *
 * Example:
 *
 *     levada_example_view *view = NULL;
 *     levada_example_kind  kind;
 *
 *     LEVADA_TRY(levada_example_view_create(&view, err));
 *     LEVADA_TRY(levada_example_view_parse(view, "", 0, &kind, err)); // an empty message
 *     printf("%lld features\n", (long long)levada_example_view_count(view));
 *     levada_example_view_destroy(&view);
 */
#ifndef LEVADA_EXAMPLE_VIEW_H
#define LEVADA_EXAMPLE_VIEW_H

#include <levada/spec.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct levada_example_view levada_example_view;

typedef enum levada_example_kind {
    LEVADA_EXAMPLE_OTHER, /* neither message          */
    LEVADA_EXAMPLE_PLAIN, /* an Example               */
    LEVADA_EXAMPLE_SEQUENCE /* a SequenceExample: it has a FeatureLists message */
} levada_example_kind;

/* One Feature message. */
typedef struct levada_example_item {
    levada_dtype dtype; /* LEVADA_INT64, LEVADA_FLOAT32 or LEVADA_BYTES; LEVADA_NONE = no kind */
    int64_t      count; /* values                                                              */
} levada_example_item;

/* One key, with its Feature or the steps of its FeatureList. */
typedef struct levada_example_feature {
    const char                *name; /* any bytes, not terminated */
    size_t                     name_size;
    bool                       sequence; /* in the feature lists of a SequenceExample */
    int64_t                    nitems;   /* 1, or the number of steps                 */
    const levada_example_item *items;
} levada_example_feature;

/* The values of an item in the array of its dtype; the other arrays are NULL. */
typedef struct levada_example_values {
    levada_dtype       dtype;
    int64_t            count;
    const int64_t     *i64;
    const float       *f32;
    const void *const *bytes; /* `count` pointers, with their sizes */
    const size_t      *sizes;
} levada_example_values;

/* Creates a view, whose memory serves one record after the other. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_view_create(levada_example_view **out,
                                                                    levada_error *err);
LEVADA_API void levada_example_view_destroy(levada_example_view **view);

/* Parses a record of `size` bytes in any memory. *kind is OTHER if the record is not a message. */
LEVADA_API LEVADA_MUST_USE levada_status levada_example_view_parse(levada_example_view *view,
                                                                   const void *record, size_t size,
                                                                   levada_example_kind *kind,
                                                                   levada_error *err);
/* Return the number of features of the last record, and feature i: first the context (or the
 * Example), then the feature lists, each in the order in which its keys first occur. They return 0
 * after a record that is not a message, and NULL if i is out of range. */
LEVADA_API int64_t levada_example_view_count(const levada_example_view *view);
LEVADA_API const levada_example_feature *levada_example_view_at(const levada_example_view *view,
                                                                int64_t                    i);
/* Returns the values of an item of a feature, borrowed until the next call of any function on the
 * view. Returns EINVALID_ARGUMENT if the feature does not have this item. */
LEVADA_API LEVADA_MUST_USE levada_status
levada_example_view_values(levada_example_view *view, const levada_example_feature *feature,
                           int64_t item, levada_example_values *out, levada_error *err);

#ifdef __cplusplus
}
#endif

#endif
