/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding tf.train.Example and SequenceExample: what the parts share.
 *
 *   proto_plan     the spec as data: columns, and slots (a slot is one key on the wire)
 *   proto_keys     which slot a key belongs to, by predicting that it follows the key before it
 *   proto_scan     first pass, record by record: for each slot and row a span of plain payload
 *   proto_feature  one Feature message in any form to plain payload (the slow, general path)
 *   proto_kind     records of the other message type, in which everything would be missing
 *   proto_steps    feature lists: the spans of the steps
 *   proto_numbers, proto_strings, proto_ragged, proto_sparse
 *                  second pass, column by column: payload to the block
 *   proto_late     the same for numbers that are left encoded
 *   proto_runs     the same for feature lists of float rows of one size
 *
 * Plain payload of an int64 list is its packed varints, of a float list its little endian floats,
 * of a bytes list the BytesList message with nothing but its values. Almost every list has this
 * form in the record; what does not (unpacked numbers, several runs, lists that protobuf would
 * merge) is copied together in an arena, so that the second pass knows one form only.
 *
 * An item is what one Feature holds for one column: in the context one a record, in feature lists
 * one a step.
 */
#ifndef LEVADA_DECODE_PROTO_H
#define LEVADA_DECODE_PROTO_H

#include "base/kernels.h"
#include "decode/proto_keys.h"
#include <levada/decoder.h>

/* The oneof of a Feature: numbers of its fields. */
typedef enum levada_list {
    LEVADA_LIST_NONE, /* no kind set */
    LEVADA_LIST_BYTES,
    LEVADA_LIST_FLOAT,
    LEVADA_LIST_INT64
} levada_list;

typedef enum levada_feature_kind {
    LEVADA_FEATURE_FIXED,
    LEVADA_FEATURE_VAR,
    LEVADA_FEATURE_SEQUENCE,
    LEVADA_FEATURE_RAGGED,
    LEVADA_FEATURE_SPARSE
} levada_feature_kind;

typedef enum levada_partition_kind {
    LEVADA_PARTITION_SPLITS,
    LEVADA_PARTITION_LENGTHS,
    LEVADA_PARTITION_STARTS,
    LEVADA_PARTITION_LIMITS,
    LEVADA_PARTITION_IDS,
    LEVADA_PARTITION_UNIFORM
} levada_partition_kind;

typedef struct levada_partition {
    levada_partition_kind kind;
    int32_t slot;   /* not of UNIFORM */
    int64_t length; /* of UNIFORM     */
} levada_partition;

/* One entry of the spec. Strings belong to the spec's value. */
typedef struct levada_feature {
    const char *name;
    levada_feature_kind kind;
    levada_dtype dtype;
    levada_list list;
    bool steps;         /* a feature list                                       */
    bool allow_missing; /* SEQUENCE                                             */
    bool sorted;        /* SPARSE: the indices are said to be sorted            */
    uint8_t ndim;
    int64_t dims[LEVADA_MAX_DIMS];
    int64_t per;      /* elements of one value: the product of dims                */
    uint8_t *otherwise; /* FIXED: default, `per` numbers, or plain payload of
                                    * strings; NULL = required; owned                          */
    int64_t otherwise_size; /* of that payload                                     */
    bool otherwise_empty; /* it holds empty strings only                        */
    uint8_t pad[16];
    int32_t slot, column; /* first column; SPARSE has two                          */
    int32_t nparts;       /* RAGGED: levels between row and values, outermost first */
    levada_partition part[LEVADA_MAX_DEPTH];
    int32_t nindex; /* SPARSE */
    int32_t index[LEVADA_MAX_DIMS];
} levada_feature;

/* One key on the wire. */
typedef struct levada_slot {
    const char *key;
    uint32_t size;
    levada_list list;
    uint8_t tag;       /* of that list in a Feature                                      */
    bool steps;     /* in feature lists                                               */
    bool dense;     /* FixedLen and FixedLenSequence: one feature only                */
    bool fixed;     /* FixedLen                                                       */
    bool required;  /* a record without it is rejected                                */
    bool need_kind; /* a Feature without a kind is rejected (context of sequences)    */
    levada_dtype dtype;     /* of the feature that named it first                             */
    int32_t feature;   /* that feature                                                   */
    int32_t uses;
    bool direct;    /* one number a record, stored by the first pass                  */
} levada_slot;

typedef struct levada_proto_plan {
    bool sequence;
    levada_feature *features;
    levada_slot *slots; /* those of the context first */
    int32_t nfeatures, nslots, ncontext;
    int64_t capacity; /* of slots */
    uint32_t *index; /* while the spec is read: hash table of slots, number + 1, 0 = free */
    uint32_t mask;
    levada_spec *spec;
} levada_proto_plan;

/* Creates a plan. `context` is the spec of an Example or the context of a SequenceExample, `lists`
 * that of its feature lists; NULL if there is none. Both are borrowed for the life of the plan. */
LEVADA_MUST_USE levada_status levada_proto_plan_create(const levada_value *context,
                                                       const levada_value *lists, bool sequence,
                                                       levada_proto_plan **out, levada_error *err);
void levada_proto_plan_destroy(levada_proto_plan **plan);
/* Reads one entry of a spec. */
LEVADA_MUST_USE levada_status levada_feature_read(levada_proto_plan *plan, const char *name,
                                                  const levada_value *entry, bool steps,
                                                  levada_feature *out, levada_error *err);
/* Finds the slot of a key, or makes it. */
LEVADA_MUST_USE levada_status levada_proto_plan_slot(levada_proto_plan *plan, const char *key,
                                                     size_t size, levada_list list,
                                                     const levada_feature *feature, int32_t *out,
                                                     levada_error *err);
/* Returns "int64", "float" and "string", as messages say. */
const char *levada_list_name(levada_list list);
/* Writes "[2,3]". */
const char *levada_feature_shape(const levada_feature *f, char text[64]);

/* -- memory that lives as long as a block is decoded ------------------------------------------ */

typedef struct levada_arena {
    struct levada_arena_chunk *first, *now;
} levada_arena;

/* Returns `size` bytes with LEVADA_KERNEL_SLACK around them; NULL if out of memory. */
uint8_t *levada_arena_take(levada_arena *arena, size_t size);
void levada_arena_reset(levada_arena *arena); /* keeps the memory */
void levada_arena_clear(levada_arena *arena);

/* -- running ---------------------------------------------------------------------------------- */

typedef struct levada_span {
    const uint8_t *at; /* plain payload; NULL = missing, no kind, or its row was rejected */
    int32_t size;
    bool loose; /* is in the arena, not in the record */
} levada_span;

/* Where payload goes to: items of one column. */
typedef struct levada_items {
    levada_span *at;
    int64_t n;
    const int32_t *first; /* of feature lists: row i has the items first[i] to first[i + 1] */
} levada_items;

typedef enum levada_trouble_kind {
    LEVADA_TROUBLE_NONE,
    LEVADA_TROUBLE_LIST, /* another list than asked for          */
    LEVADA_TROUBLE_SIZE, /* another number of values             */
    LEVADA_TROUBLE_RANGE,
    LEVADA_TROUBLE_NO_KIND,
    LEVADA_TROUBLE_BROKEN /* not a Feature message */
} levada_trouble_kind;

/* Why the last Feature of a slot in this record cannot be used. */
typedef struct levada_trouble {
    levada_trouble_kind kind;
    levada_list list;
    int64_t count;
} levada_trouble;

/* State of a decoder: scratch memory, used again for each block. All-zero is valid. */
typedef struct levada_proto {
    levada_proto_plan *plan;
    const levada_kernels *kernels;
    levada_keys keys[2]; /* context, feature lists */
    levada_span *spans;   /* [slot][row]            */
    int64_t rows, capacity;
    uint64_t *seen, *full; /* bit sets of slots: in this record, all of them */
    uint64_t *ever;        /* in a record so far */
    int64_t records;       /* so far */
    char names[160];       /* of the first record that lacked something */
    int32_t nwords;
    levada_trouble *trouble; /* of each slot, in this record */
    int32_t ntrouble;
    void **direct;   /* of each slot: its column     */
    uint8_t *rejected; /* of each row                  */
    levada_arena arena;
    levada_span *step[LEVADA_MAX_DEPTH]; /* steps of the column and of its partitions */
    int64_t step_capacity[LEVADA_MAX_DEPTH];
    int32_t *first[LEVADA_MAX_DEPTH];
    int64_t first_capacity[LEVADA_MAX_DEPTH];
    int32_t *counts; /* offsets of values where they are no level of the column */
    int64_t counts_capacity;
    int32_t *level[LEVADA_MAX_DEPTH]; /* offsets of partitions */
    int64_t level_capacity[LEVADA_MAX_DEPTH];
    int64_t *number; /* numbers on their way to another dtype or level */
    int64_t number_capacity;
    int64_t *order; /* of sparse values */
    int64_t order_capacity;
    const levada_strings *in; /* while a block is decoded */
    levada_builder *out;
    uint32_t blocks; /* decoded so far: changes the choices of LEVADA_LATE_DECODE_RANDOM */
    bool late;       /* the feature at hand may stay encoded (proto_late.c)        */
    uint32_t sizes;  /* levada_varint_size of the items that were measured         */
} levada_proto;

LEVADA_MUST_USE levada_status levada_proto_open(levada_proto *x, const levada_value *context,
                                                const levada_value *lists, bool sequence,
                                                const levada_context *how, levada_error *err);
void levada_proto_close(levada_proto *x);
LEVADA_MUST_USE levada_status levada_proto_decode(levada_proto *x, const levada_strings *in,
                                                  levada_builder *out, levada_error *err);

/* Implements the hook of a decoder. */
int64_t levada_proto_found(const levada_proto *x, bool *there, char *names, size_t size);
/* Keeps the names of the features of a record. */
LEVADA_MUST_USE levada_status levada_proto_name(levada_proto *x, int64_t row, levada_error *err);

/* Makes *memory hold `count` elements of `size` bytes; the content is kept. */
LEVADA_MUST_USE levada_status levada_proto_reserve(void **memory, int64_t *capacity, int64_t count,
                                                size_t size, levada_error *err);

/* Rejects a row once; later reasons are dropped. `why` is INVALID_ARGUMENT. */
LEVADA_PRINTF(4, 5)
LEVADA_MUST_USE levada_status
levada_proto_reject(levada_proto *x, int64_t row, levada_error *err, const char *fmt, ...);
/* Returns the row of an item. */
int64_t levada_items_row(const levada_items *items, int64_t item);

/* Rejects a record that is a message of the other type: a SequenceExample where Examples are read,
 * or the reverse. For records in which something of the spec is missing. */
LEVADA_MUST_USE levada_status levada_proto_check_kind(levada_proto *x, int64_t row,
                                                      levada_error *err);
/* Makes the first pass over all records. */
LEVADA_MUST_USE levada_status levada_proto_scan(levada_proto *x, levada_error *err);

typedef enum levada_plain {
    LEVADA_PLAIN_OK,
    LEVADA_PLAIN_BROKEN, /* no Feature message     */
    LEVADA_PLAIN_MEMORY
} levada_plain;

/* Reads one map entry in any form; joins a value in pieces in x->arena. Spans are never NULL. */
levada_plain levada_entry_read(levada_proto *x, const uint8_t *p, const uint8_t *end,
                               levada_span *key, levada_span *value);
/* Parses any Feature message to its list and plain payload: the general path. */
levada_plain levada_feature_plain(levada_arena *arena, const uint8_t *p, const uint8_t *end,
                                  levada_list *list, levada_span *out);
/* Reads one list message whose plain form has strange fields between its values. */
levada_plain levada_list_plain(levada_arena *arena, levada_list list, levada_span *span);
/* Reads a payload of any size, as levada_payload_one does. */
bool levada_payload_long(const uint8_t *p, int64_t size, int64_t *out);
/* Counts the items of an int64 or float payload that is whole; -1 if it is not. */
int64_t levada_payload_count(const levada_proto *x, levada_list list, const levada_span *span);
/* Measures a payload, and sets the bits of levada_varint_size for x->sizes. */
int64_t levada_payload_measure(levada_proto *x, levada_list list, const levada_span *span);

#define LEVADA_PAYLOAD_TOPS UINT64_C(0x8080808080808080)

/* Returns the number in up to 8 bytes of 7 bits each, top bits clear. */
static inline uint64_t levada_payload_squeeze(uint64_t x)
{
    x = (x & UINT64_C(0x007F007F007F007F)) | (x & UINT64_C(0x7F007F007F007F00)) >> 1;
    x = (x & UINT64_C(0x00003FFF00003FFF)) | (x & UINT64_C(0x3FFF00003FFF0000)) >> 2;
    return (x & UINT64_C(0x0FFFFFFF)) | (x & UINT64_C(0x0FFFFFFF00000000)) >> 4;
}

/* Reads one varint that fills p[0, size), the usual case of a scalar; else returns false. */
static inline bool levada_payload_one(const uint8_t *p, int64_t size, int64_t *out)
{
    if (LEVADA_LIKELY(size >= 1 && size <= 8)) {
        uint64_t x = levada_wire_load(p);
        uint64_t tops = ~x & LEVADA_PAYLOAD_TOPS & (UINT64_MAX >> (64 - 8 * size));

        *out = (int64_t)levada_payload_squeeze(x & ~LEVADA_PAYLOAD_TOPS &
                                               (UINT64_MAX >> (64 - 8 * size)));
        return tops == UINT64_C(1) << (8 * size - 1);
    }
    return levada_payload_long(p, size, out);
}

/* Stores a number as element i of a dtype; false where it does not fit. */
bool levada_number_store(levada_dtype dtype, void *to, int64_t i, int64_t v);
bool levada_float_store(levada_dtype dtype, void *to, int64_t i, float v);

/* Reads a plain payload in the usual form: the list of that tag alone, numbers packed. */
static inline bool levada_feature_usual(const levada_slot *s, const uint8_t *p, const uint8_t *end,
                                        levada_span *out)
{
    uint32_t size;

    out->loose = false;
    if (s->list != LEVADA_LIST_BYTES && end - p < 128) {
        /* tag, size, tag, size with sizes of one byte: one word says it all */
        uint64_t word = levada_wire_load(p) & UINT32_MAX;
        uint64_t want = (uint64_t)(end - p - 4);

        out->at = p + 4;
        out->size = (int32_t)want;
        want = s->tag | (want + 2) << 8 | (uint64_t)LEVADA_WIRE_SIZED(1) << 16 | want << 24;
        return end - p >= 4 && word == want;
    }
    if (p >= end || *p != s->tag) return false;
    p = levada_wire_sized(p + 1, end, &size);
    if (!p || p + size != end) return false;
    if (s->list != LEVADA_LIST_BYTES) {
        if (size == 0 || *p != LEVADA_WIRE_SIZED(1)) return false;
        p = levada_wire_sized(p + 1, end, &size);
        if (!p || p + size != end) return false;
    }
    out->at = p;
    out->size = (int32_t)size;
    return true;
}

/* -- second pass: the columns of a feature ---------------------------------------------------- */

/* Returns the items of a slot. Lanes 0 to 3 are scratch memory that lives side by side. */
LEVADA_MUST_USE levada_status levada_proto_items(levada_proto *x, const levada_feature *f,
                                                 int32_t slot, int32_t lane, levada_items *out,
                                                 levada_error *err);

/* Decodes a feature list of one whole number a step; x->first[0] then has where the steps of each
 * row begin. Not done: another feature, or a step that is missing, wrong or not in the usual form.
 */
LEVADA_MUST_USE levada_status levada_steps_numbers(levada_proto *x, const levada_feature *f,
                                                   bool *done, levada_error *err);

/* Decodes `count` numbers of a span to `to`, with LEVADA_KERNEL_SLACK after them. If the span is
 * broken or a number does not fit, the row is rejected and its values are 0. */
LEVADA_MUST_USE levada_status levada_numbers_decode(levada_proto *x, const levada_feature *f,
                                                    const levada_items *items, int64_t item,
                                                    levada_dtype dtype, int64_t count, void *to,
                                                    levada_error *err);
/* Returns true if a feature may stay encoded in this block; its items are then measured while they
 * are counted. */
bool levada_late_wanted(const levada_proto *x, const levada_feature *f);
/* Returns true if some of the items are as long as it takes. */
bool levada_late_promises(const levada_proto *x, const levada_feature *f,
                          const levada_items *items);
/* Floats per item from which leaving them encoded saves work, which is one copy. */
#define LEVADA_LATE_FLOATS 128
/* Returns true if that number of bytes of the records is worth keeping all records in memory for.
 * */
bool levada_late_in_place(const levada_proto *x, int64_t bytes);
/* Leaves a feature list of `per` floats a step where it is; x->first[0] then has where the steps of
 * each row begin. Not done: another feature, or a step that is not as all others. */
LEVADA_MUST_USE levada_status levada_late_runs(levada_proto *x, const levada_feature *f,
                                               bool *done, levada_error *err);
/* Leaves the numbers of `items`, counted as below (NULL = `per` in each), where they are: *done.
 * Not done: an item is damaged or missing, a number may not fit, or it saves no work. */
LEVADA_MUST_USE levada_status levada_late_encode(levada_proto *x, const levada_feature *f,
                                                 const levada_items *items, const int32_t *offsets,
                                                 bool *done, levada_error *err);
/* Keeps `per` numbers in each item, which are measured here. */
LEVADA_MUST_USE levada_status levada_late_fixed(levada_proto *x, const levada_feature *f,
                                                const levada_items *items, bool *done,
                                                levada_error *err);
/* Makes `per` numbers for each item, or its default. */
LEVADA_MUST_USE levada_status levada_numbers_fixed(levada_proto *x, const levada_feature *f,
                                                   const levada_items *items, levada_error *err);
/* Counts values: offsets [n + 1] gets where the values of each item begin, counted in values of
 * `per` elements; items that cannot be used get none, and their row is rejected. */
LEVADA_MUST_USE levada_status levada_numbers_count(levada_proto *x, const levada_feature *f,
                                                   const levada_items *items, int32_t *offsets,
                                                   levada_error *err);
/* Fills the values of all items, counted as above; *out (may be NULL) gets them. */
LEVADA_MUST_USE levada_status levada_numbers_fill(levada_proto *x, const levada_feature *f,
                                                  int32_t column, const levada_items *items,
                                                  const int32_t *offsets, void **out,
                                                  levada_error *err);
/* Keeps strings; `level` is the level of the byte ranges, which go to *begin and *end. */
LEVADA_MUST_USE levada_status levada_strings_fixed(levada_proto *x, const levada_feature *f,
                                                   const levada_items *items, levada_error *err);
LEVADA_MUST_USE levada_status levada_strings_count(levada_proto *x, const levada_feature *f,
                                                   const levada_items *items, int32_t *offsets,
                                                   levada_error *err);
LEVADA_MUST_USE levada_status levada_strings_fill(levada_proto *x, int32_t column, int32_t level,
                                                  const levada_items *items,
                                                  const int32_t *offsets, int64_t per,
                                                  int32_t **begin, int32_t **end,
                                                  levada_error *err);

/* Decodes VarLen, Ragged, and FixedLenSequence of an Example. */
LEVADA_MUST_USE levada_status levada_ragged_decode(levada_proto *x, const levada_feature *f,
                                                   levada_error *err);
LEVADA_MUST_USE levada_status levada_sparse_decode(levada_proto *x, const levada_feature *f,
                                                   levada_error *err);
/* Rejects the row of an item because it holds `count` values. */
LEVADA_MUST_USE levada_status levada_proto_wrong_count(levada_proto *x, const levada_feature *f,
                                                       const levada_items *items, int64_t item,
                                                       int64_t count, levada_error *err);
LEVADA_MUST_USE levada_status levada_proto_broken(levada_proto *x, int64_t row, levada_error *err);

#endif
