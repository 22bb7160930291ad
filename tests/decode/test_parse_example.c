/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include <levada/example.h>

/* Decodes messages given as string literals; the size of each stands in front. */
typedef struct message {
    const char *bytes;
    size_t size;
} message;
#define BYTES(text) { text, sizeof(text) - 1 }

static levada_error why;

static levada_status decode(const char *spec, const message *m, int64_t n, levada_block **out)
{
    levada_value *options = levada_value_map(), *value = NULL;
    const void *strings[16];
    size_t sizes[16];
    levada_status st;

    levada_error_clear(&why);
    for (int64_t i = 0; i < n; i++) {
        strings[i] = m[i].bytes;
        sizes[i] = m[i].size;
    }
    assert_int_equal(levada_value_parse(spec, &value, &why), LEVADA_OK);
    assert_int_equal(levada_value_set(options, "spec", &value, &why), LEVADA_OK);
    st = levada_decode_strings(NULL, "parse_example", options, strings, sizes, n, out, &why);
    levada_value_destroy(&options);
    return st;
}

static void decode_ok(const char *spec, const message *m, int64_t n, levada_block **out)
{
    levada_status st = decode(spec, m, n, out);

    if (st != LEVADA_OK) print_error("%s\n", why.message);
    assert_int_equal(st, LEVADA_OK);
}

static void refused(const char *spec, message m, const char *part)
{
    levada_block *block = NULL;

    assert_int_equal(decode(spec, &m, 1, &block), LEVADA_EINVALID_ARGUMENT);
    if (!strstr(why.message, part)) print_error("'%s' lacks '%s'\n", why.message, part);
    assert_non_null(strstr(why.message, part));
}

/* {"a": int64 [1, 2, 3]}, and the same unpacked */
static const message packed = BYTES("\x0a\x0e\x0a\x0c\x0a\x01"
                                    "a\x12\x07\x1a\x05\x0a\x03\x01\x02\x03");
static const message unpacked =
    BYTES("\x0a\x0f\x0a\x0d\x0a\x01"
          "a\x12\x08\x1a\x06\x08\x01\x08\x02\x08\x03");
/* {"a": [7]}, {"a": [-1]}, {"a": float [1.5]}, {"s": ["xy", ""]} */
static const message seven = BYTES("\x0a\x0c\x0a\x0a\x0a\x01"
                                   "a\x12\x05\x1a\x03\x0a\x01\x07");
static const message minus =
    BYTES("\x0a\x15\x0a\x13\x0a\x01"
          "a\x12\x0e\x1a\x0c\x0a\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
static const message real = BYTES("\x0a\x0f\x0a\x0d\x0a\x01"
                                  "a\x12\x08\x12\x06\x0a\x04\0\0\xc0\x3f");
static const message words = BYTES("\x0a\x0f\x0a\x0d\x0a\x01"
                                   "s\x12\x08\x0a\x06\x0a\x02xy\x0a\x00");
static const message empty = BYTES("");

static void packed_and_unpacked_lists_are_the_same(void **state)
{
    const message both[] = { packed, unpacked, empty };
    levada_block *block = NULL;
    const levada_column *c;
    static const int64_t want[] = { 1, 2, 3, 1, 2, 3 };

    (void)state;
    decode_ok("{a:{kind:VarLen,dtype:int64}}", both, 3, &block);
    c = levada_block_column(block, "a");
    assert_memory_equal(levada_column_i64(c), want, sizeof want);
    assert_int_equal(levada_column_length(c, 0), 3);
    assert_int_equal(levada_column_length(c, 1), 3);
    assert_int_equal(levada_column_length(c, 2), 0);
    levada_block_unref(&block);
}

static void values_of_mixed_lists_are_all_delivered(void **state)
{
    /* packed [1, 2], packed [3], unpacked 4; packed [1.0], unpacked 2.0 */
    const message ints = BYTES("\x0a\x14\x0a\x12\x0a\x01"
                               "a\x12\x0d\x1a\x0b\x0a\x02\x01\x02\x0a\x01\x03\x08\x04\x0a\x00");
    const message floats = BYTES("\x0a\x16\x0a\x14\x0a\x01"
                                 "a\x12\x0f\x12\x0d\x0a\x04\0\0\x80\x3f\x0d\0\0\0\x40\x0a\x00");
    static const int64_t want[] = { 1, 2, 3, 4 };
    static const float real_want[] = { 1, 2 };
    levada_block *block = NULL;

    (void)state;
    decode_ok("{a:{kind:VarLen,dtype:int64}}", &ints, 1, &block);
    assert_int_equal(levada_column_length(levada_block_column(block, "a"), 0), 4);
    assert_memory_equal(levada_column_i64(levada_block_column(block, "a")), want, sizeof want);
    levada_block_unref(&block);
    decode_ok("{a:{kind:FixedLen,shape:[2],dtype:float32}}", &floats, 1, &block);
    assert_memory_equal(levada_block_column(block, "a")->values, real_want, sizeof real_want);
    levada_block_unref(&block);
}

static void single_numbers_and_defaults(void **state)
{
    const message three[] = { seven, empty, minus };
    levada_block *block = NULL;
    const int64_t *v;

    (void)state;
    decode_ok("{a:{kind:FixedLen,shape:[],dtype:int64,default:5}}", three, 3, &block);
    v = levada_column_i64(levada_block_column(block, "a"));
    assert_int_equal(v[0], 7);
    assert_int_equal(v[1], 5);
    assert_int_equal(v[2], -1);
    levada_block_unref(&block);
}

static void narrower_dtypes_are_range_checked(void **state)
{
    levada_block *block = NULL;
    const void *values;

    (void)state;
    decode_ok("{a:{kind:VarLen,dtype:int8}}", &minus, 1, &block);
    assert_int_equal(*(const int8_t *)levada_block_column(block, "a")->values, -1);
    levada_block_unref(&block);
    decode_ok("{a:{kind:FixedLen,shape:[3],dtype:uint16}}", &packed, 1, &block);
    values = levada_block_column(block, "a")->values;
    assert_int_equal(((const uint16_t *)values)[2], 3);
    levada_block_unref(&block);
    refused("{a:{kind:VarLen,dtype:uint8}}", minus, "does not fit in uint8");
    refused("{a:{kind:FixedLen,shape:[],dtype:bool}}", seven, "does not fit in bool");
}

static size_t put_varint(char *to, uint64_t v)
{
    size_t n = 0;

    for (; v >= 0x80; v >>= 7) to[n++] = (char)(v | 0x80);
    to[n++] = (char)v;
    return n;
}

/* {"a": [fill, ..., v, ..., fill]}: n numbers, v at `at`. Returns its size. */
static size_t put_list(char *to, uint64_t fill, int n, int at, uint64_t v)
{
    char payload[4096], *p = payload, *q = to;
    size_t size, least = 10;

    for (int i = 0; i < n; i++) p += put_varint(p, i == at ? v : fill);
    size = (size_t)(p - payload);
    /* Sizes of two bytes each: from the outside Features, entry, Feature, Int64List, packed. */
    *q++ = 0x0a, q += put_varint(q, size + least + 5);
    *q++ = 0x0a, q += put_varint(q, size + least + 2);
    memcpy(q, "\x0a\x01" "a\x12", 4), q += 4;
    q += put_varint(q, size + 6);
    *q++ = 0x1a, q += put_varint(q, size + 3);
    *q++ = 0x0a, q += put_varint(q, size);
    memcpy(q, payload, size);
    return (size_t)(q - to) + size;
}

/* Long lists of each narrow dtype: the least and the greatest number at any place, and one
 * beyond. */
static void long_lists_of_narrow_dtypes_are_range_checked(void **state)
{
    static const struct {
        const char *dtype;
        int64_t least, most;
        int64_t size;
    } kinds[] = { { "bool", 0, 1, 1 }, { "uint8", 0, 255, 1 }, { "int8", -128, 127, 1 },
                  { "uint16", 0, 65535, 2 }, { "int16", -32768, 32767, 2 } };
    static char bytes[8192];
    char spec[64], text[64];
    int64_t count = 200;

    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        snprintf(spec, sizeof spec, "{a:{kind:VarLen,dtype:%s}}", kinds[k].dtype);
        snprintf(text, sizeof text, "does not fit in %s", kinds[k].dtype);
        for (int at = 0; at < count; at += 7) {
            int64_t odd[] = { kinds[k].least, kinds[k].most, kinds[k].least - 1, kinds[k].most + 1,
                              INT64_MIN };

            for (int i = 0; i < 5; i++) {
                message m = { bytes, put_list(bytes, 1, (int)count, at, (uint64_t)odd[i]) };
                levada_block *block = NULL;
                const levada_column *c;

                if (i >= 2) {
                    refused(spec, m, text);
                    continue;
                }
                decode_ok(spec, &m, 1, &block);
                c = levada_block_column(block, "a");
                assert_int_equal(levada_column_length(c, 0), count);
                for (int64_t v = 0; v < count; v++) {
                    int64_t want = v == at ? odd[i] : 1;

                    assert_memory_equal(c->values + v * kinds[k].size, &want,
                                        (size_t)kinds[k].size);
                }
                levada_block_unref(&block);
            }
        }
    }
}

static void strings_and_their_defaults(void **state)
{
    const message two[] = { words, empty };
    levada_block *block = NULL;
    const levada_column *c;
    int64_t size;

    (void)state;
    decode_ok("{s:{kind:VarLen,dtype:string}}", two, 2, &block);
    c = levada_block_column(block, "s");
    assert_int_equal(levada_column_length(c, 0), 2);
    assert_memory_equal(c->values + c->level[1].begin[0], "xy", 2);
    assert_int_equal(c->level[1].end[1] - c->level[1].begin[1], 0);
    levada_block_unref(&block);
    decode_ok("{x:{kind:FixedLen,shape:[],dtype:string,default:none}}", two, 2, &block);
    assert_memory_equal(levada_column_bytes(levada_block_column(block, "x"), 1, &size), "none", 4);
    assert_int_equal(size, 4);
    levada_block_unref(&block);
}

static void the_last_entry_of_a_key_wins(void **state)
{
    /* seven, then {"a": [8]}, then "a" without a kind */
    message m = BYTES("\x0a\x0c\x0a\x0a\x0a\x01"
                      "a\x12\x05\x1a\x03\x0a\x01\x07"
                      "\x0a\x0c\x0a\x0a\x0a\x01"
                      "a\x12\x05\x1a\x03\x0a\x01\x08"
                      "\x0a\x07\x0a\x05\x0a\x01"
                      "a\x12\x00");
    levada_block *block = NULL;

    (void)state;
    decode_ok("{a:{kind:FixedLen,shape:[],dtype:int64}}", &m, 1, &block);
    assert_int_equal(levada_column_i64(levada_block_column(block, "a"))[0], 8);
    levada_block_unref(&block);
}

/* {"a": [1, 2]}, then "a" without a kind: as TensorFlow and protobuf, empty. */
static void an_entry_without_a_kind_clears_all_but_fixed_features(void **state)
{
    const message two[] = { BYTES("\x0a\x14\x0a\x0b\x0a\x01"
                                  "a\x12\x06\x1a\x04\x0a\x02\x01\x02\x0a\x05\x0a\x01"
                                  "a\x12\x00"),
                            packed };
    static const char *const specs[] = {
        "{a:{kind:VarLen,dtype:int64}}",
        "{a:{kind:Ragged,dtype:int64}}",
        "{a:{kind:FixedLenSequence,shape:[],dtype:int64,allow_missing:true}}",
    };
    levada_block *block = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        decode_ok(specs[i], two, 2, &block);
        assert_int_equal(levada_column_length(levada_block_column(block, "a"), 0), 0);
        assert_int_equal(levada_column_length(levada_block_column(block, "a"), 1), 3);
        levada_block_unref(&block);
    }
    decode_ok("{a:{kind:FixedLen,shape:[2],dtype:int64}}", two, 1, &block);
    assert_int_equal(levada_column_i64(levada_block_column(block, "a"))[1], 2);
    levada_block_unref(&block);
}

/* Entries of two keys, of two values (both of the key ""), and of a key and two values. */
static void an_entry_may_repeat_its_key_or_its_value(void **state)
{
    const message m = BYTES("\x0a\x2b\x0a\x06\x0a\x01z\x0a\x01"
                            "b"
                            "\x0a\x0e\x12\x05\x1a\x03\x0a\x01\x05\x12\x05\x1a\x03\x0a\x01\x06"
                            "\x0a\x11\x0a\x01"
                            "a\x12\x05\x1a\x03\x0a\x01\x07\x12\x05\x1a\x03\x0a\x01\x08");
    levada_block *block = NULL;

    (void)state;
    decode_ok("{a:{kind:VarLen,dtype:int64},b:{kind:VarLen,dtype:int64},"
              "none:{kind:Ragged,value_key:\"\",dtype:int64}}",
              &m, 1, &block);
    assert_int_equal(levada_column_length(levada_block_column(block, "a"), 0), 2);
    assert_int_equal(levada_column_i64(levada_block_column(block, "a"))[1], 8);
    assert_int_equal(levada_column_length(levada_block_column(block, "b"), 0), 0);
    assert_int_equal(levada_column_length(levada_block_column(block, "none"), 0), 2);
    levada_block_unref(&block);
    refused("{a:{kind:VarLen,dtype:int64}}", (message)BYTES("\x0a\x05\x0a\x03\x0a\x01"
                                                            "a"),
            "tf.train.Example");
}

/* A broken Feature counts only where no later entry replaces it. */
static void a_later_entry_replaces_a_broken_one(void **state)
{
    const message m = BYTES("\x0a\x18\x0a\x0a\x0a\x01"
                            "a\x12\x05\x1a\x05\x0a\x01\x07\x0a\x0a\x0a\x01"
                            "a\x12\x05\x1a\x03\x0a\x01\x08");
    const message wrong = { m.bytes + 0, 14 };
    levada_block *block = NULL;

    (void)state;
    decode_ok("{a:{kind:VarLen,dtype:int64}}", &m, 1, &block);
    assert_int_equal(levada_column_i64(levada_block_column(block, "a"))[0], 8);
    levada_block_unref(&block);
    decode_ok("{a:{kind:FixedLen,shape:[],dtype:int64}}", &m, 1, &block);
    assert_int_equal(levada_column_i64(levada_block_column(block, "a"))[0], 8);
    levada_block_unref(&block);
    refused("{a:{kind:VarLen,dtype:int64}}", wrong, "tf.train.Example");
}

static size_t put_sized(char *to, int tag, size_t size)
{
    to[0] = (char)tag;
    to[1] = (char)(0x80 | (size & 0x7f));
    to[2] = (char)(0x80 | (size >> 7 & 0x7f));
    to[3] = (char)(size >> 14);
    return 4;
}

static long peak_memory_in_kib(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* An entry of 20,000 values: they are merged, and take the space of the record, not its square. */
static void many_values_in_one_entry_are_merged_in_its_size(void **state)
{
    enum { VALUES = 20000, SIZE = 7 };
    static char bytes[16 + VALUES * SIZE];
    long before = peak_memory_in_kib();
    size_t entry = 3 + VALUES * SIZE, at = put_sized(bytes, 0x0a, entry + 4);
    levada_block *block = NULL;
    message m = { bytes, sizeof bytes };

    (void)state;
    at += put_sized(bytes + at, 0x0a, entry);
    memcpy(bytes + at, "\x0a\x01" "a", 3);
    at += 3;
    for (int i = 0; i < VALUES; i++, at += SIZE) {
        memcpy(bytes + at, "\x12\x05\x1a\x03\x0a\x01\x07", SIZE);
    }
    m.size = at;
    decode_ok("{a:{kind:VarLen,dtype:int64}}", &m, 1, &block);
    const levada_column *a = levada_block_column(block, "a");

    assert_int_equal(a->level[0].end[0] - a->level[0].begin[0], VALUES);
    for (int i = 0; i < VALUES; i++) assert_int_equal(levada_column_i64(a)[i], 7);
    levada_block_unref(&block);
    assert_in_range(peak_memory_in_kib() - before, 0, 64 << 10);
}

static void says_what_does_not_fit(void **state)
{
    (void)state;
    refused("{a:{kind:VarLen,dtype:int64}}", real, "Data types don't match");
    refused("{a:{kind:FixedLen,shape:[],dtype:int64}}", real, "Data types don't match");
    refused("{a:{kind:FixedLen,shape:[],dtype:int64}}", packed, "Values size: 3");
    refused("{a:{kind:FixedLen,shape:[1,2],dtype:int64}}", packed, "output shape: [1,2]");
    refused("{a:{kind:FixedLen,shape:[],dtype:int64}}", empty, "required but could not be found");
    refused("{a:{kind:FixedLenSequence,shape:[2],dtype:int64,allow_missing:true}}", packed,
            "multiple of stride");
}

static void refuses_every_truncation(void **state)
{
    levada_block *block = NULL;

    (void)state;
    for (size_t n = 1; n < packed.size; n++) {
        message cut = { packed.bytes, n };

        assert_int_equal(decode("{b:{kind:VarLen,dtype:int64}}", &cut, 1, &block),
                         LEVADA_EINVALID_ARGUMENT);
    }
}

static void the_first_bad_record_is_named(void **state)
{
    const message three[] = { packed, real, empty };
    levada_block *block = NULL;

    (void)state;
    assert_int_equal(decode("{a:{kind:VarLen,dtype:int64}}", three, 3, &block),
                     LEVADA_EINVALID_ARGUMENT);
    assert_int_equal(why.record, 1);
}

/* {"a": float list of `size` bytes}, packed. */
static void refuses_packed_floats_that_are_cut(void **state)
{
    static const char *const specs[] = {
        "{a:{kind:VarLen,dtype:float32}}",
        "{a:{kind:FixedLen,shape:[1],dtype:float32}}",
        "{a:{kind:FixedLen,shape:[],dtype:float32}}",
        "{a:{kind:FixedLenSequence,shape:[],dtype:float32,allow_missing:true}}",
    };

    (void)state;
    for (char size = 0; size < 13; size++) {
        char    bytes[32] = { 0x0a, (char)(size + 11), 0x0a, (char)(size + 9), 0x0a, 1, 'a',
                              0x12, (char)(size + 4), 0x12, (char)(size + 2), 0x0a, size };
        message m = { bytes, (size_t)size + 13 };

        for (int i = 0; i < 4; i++) {
            levada_block *block = NULL;

            if (size % 4 != 0) refused(specs[i], m, "");
            else if (i == 0) decode_ok(specs[i], &m, 1, &block);
            levada_block_unref(&block);
        }
    }
}

static void refuses_specs_that_mean_nothing(void **state)
{
    (void)state;
    refused("{}", empty, "the spec is empty");
    refused("automatic", empty, "must be a map");
    refused("{a:{kind:Var,dtype:int64}}", empty, "Ragged or Sparse, got Var");
    refused("{a:5}", empty, "in Python VarLenFeature(int64), got 5");
    refused("{a:{kind:Ragged,dtype:int64,partitions:[{type:Rows,key:b}]}}", empty,
            "UniformRowLength, got Rows");
    refused("{a:{kind:Sparse,index_key:[],value_key:v,size:9,dtype:int64}}", empty,
            "index_key must name 1 to 8 features, got []");
    refused("{a:{kind:VarLen,dtype:complex64}}", empty, "complex64");
    refused("{a:{kind:VarLen,dtype:int64,shape:[]}}", empty, "has no option 'shape'");
    refused("{a:{kind:FixedLen,dtype:int64}}", empty, "Missing shape");
    refused("{a:{kind:FixedLen,shape:[2],dtype:int64,default:[1]}}", empty, "Cannot reshape");
    refused("{a:{kind:FixedLen,shape:[],dtype:int64,default:x}}", empty, "must be int64");
    refused("{a:{kind:FixedLenSequence,shape:[],dtype:int64}}", empty, "allow_missing");
    refused("{a:{kind:VarLen,dtype:int64},b:{kind:FixedLen,shape:[],dtype:int64,key:a}}", empty,
            "must not intersect");
    refused("{a:{kind:VarLen,dtype:int64},b:{kind:Ragged,value_key:a,dtype:string}}", empty,
            "Conflicting type");
}

static void sparse_is_sorted_by_index(void **state)
{
    /* i: [5, 2], v: [7, 8] */
    message m = BYTES("\x0a\x1a\x0a\x0b\x0a\x01"
                      "i\x12\x06\x1a\x04\x0a\x02\x05\x02"
                      "\x0a\x0b\x0a\x01"
                      "v\x12\x06\x1a\x04\x0a\x02\x07\x08");
    levada_block *block = NULL;
    const int64_t *index, *values;

    (void)state;
    decode_ok("{k:{kind:Sparse,index_key:i,value_key:v,size:9,dtype:int64}}", &m, 1, &block);
    index = levada_column_i64(levada_block_column(block, "k/indices"));
    values = levada_column_i64(levada_block_column(block, "k/values"));
    assert_true(index[0] == 2 && index[1] == 5 && values[0] == 8 && values[1] == 7);
    levada_block_unref(&block);
}

static void partitions_divide_or_reject(void **state)
{
    /* p: [1, 2], v: [7, 8, 9] */
    message m = BYTES("\x0a\x1b\x0a\x0b\x0a\x01"
                      "p\x12\x06\x1a\x04\x0a\x02\x01\x02"
                      "\x0a\x0c\x0a\x01"
                      "v\x12\x07\x1a\x05\x0a\x03\x07\x08\x09");
    levada_block *block = NULL;
    const levada_column *c;

    (void)state;
    decode_ok("{r:{kind:Ragged,value_key:v,dtype:int32,partitions:[{type:RowLengths,key:p}]}}", &m,
              1, &block);
    c = levada_block_column(block, "r");
    assert_int_equal(c->field->depth, 2);
    assert_int_equal(c->level[0].end[0], 2);
    assert_int_equal(c->level[1].end[0], 1);
    assert_int_equal(c->level[1].end[1], 3);
    levada_block_unref(&block);
    refused("{r:{kind:Ragged,value_key:v,dtype:int32,partitions:[{type:RowSplits,key:p}]}}", m,
            "not aligned");
    refused("{r:{kind:Ragged,key:v,dtype:int8,partitions:[{type:UniformRowLength,length:2}]}}",
            m, "multiple of stride");
}

static void no_records_are_a_block_too(void **state)
{
    levada_block *block = NULL;

    (void)state;
    decode_ok("{a:{kind:FixedLen,shape:[2],dtype:int64},b:{kind:VarLen,dtype:string}}", NULL, 0,
              &block);
    assert_int_equal(levada_block_rows(block), 0);
    levada_block_unref(&block);
}

/* What the first call leaves in the decoder must not show in the next one. */
static void a_decoder_is_used_again(void **state)
{
    const char *spec = "{a: {kind: VarLen, dtype: int64}}";
    levada_value *options = levada_value_map(), *value = NULL;
    levada_decoding *decoding = NULL;
    const message *in[] = { &packed, &unpacked };

    (void)state;
    levada_error_clear(&why);
    assert_int_equal(levada_value_parse(spec, &value, &why), LEVADA_OK);
    assert_int_equal(levada_value_set(options, "spec", &value, &why), LEVADA_OK);
    assert_int_equal(levada_decoding_open(NULL, "parse_example", options, &decoding, &why),
                     LEVADA_OK);
    levada_value_destroy(&options);
    for (int i = 0; i < 6; i++) {
        const void *strings[] = { in[i % 2]->bytes, "\x0a\x7f" };
        size_t sizes[] = { in[i % 2]->size, 2 };
        levada_block *block = NULL;
        int64_t n = i == 3 ? 2 : 1; /* the fourth has a second string that is not a message */
        levada_status st = levada_decoding_run(decoding, strings, sizes, n, &block, &why);

        assert_int_equal(st, i == 3 ? LEVADA_EINVALID_ARGUMENT : LEVADA_OK);
        if (i == 3) {
            assert_int_equal(why.record, 1);
            continue;
        }
        const levada_column *a = levada_block_column(block, "a");
        const int64_t *at = levada_column_i64(a) + a->level[0].begin[0];

        assert_int_equal(a->level[0].end[0] - a->level[0].begin[0], 3);
        assert_int_equal(at[0] + at[1] * 10 + at[2] * 100, 321);
        levada_block_unref(&block);
    }
    levada_decoding_close(&decoding);
    assert_null(decoding);
}

/* feature_lists {"a": [{int64 [1, 2, 3]}]}; in the second one after context {"b": int64 [7]} */
static const message lists = BYTES("\x12\x10\x0a\x0e\x0a\x01"
                                   "a\x12\x09\x0a\x07\x1a\x05\x0a\x03\x01\x02\x03");
static const message mixed = BYTES("\x0a\x0c\x0a\x0a\x0a\x01"
                                   "b\x12\x05\x1a\x03\x0a\x01\x07"
                                   "\x12\x10\x0a\x0e\x0a\x01"
                                   "a\x12\x09\x0a\x07\x1a\x05\x0a\x03\x01\x02\x03");

static void a_sequence_example_is_named(void **state)
{
    const message strange[] = { BYTES("\x12\x03xyz"), BYTES("\x12\x00"), BYTES("\x18\x07"),
                                BYTES("\x12\x05\x0a\x03xyz"), BYTES("\x12\x04\x0a\x02\x0a\x00") };
    levada_block *block = NULL;

    (void)state;
    refused("{a:{kind:VarLen,dtype:int64}}", lists, "'a' is in its feature_lists; use parse_seq");
    refused("{a:{kind:VarLen,dtype:int64}}", mixed, "looks like a tf.train.SequenceExample");
    refused("{z:{kind:VarLen,dtype:int64}}", lists, "looks like a tf.train.SequenceExample");
    refused("{a:{kind:FixedLen,dtype:int64,shape:[]}}", lists, "use parse_sequence_example");
    refused("{a:{kind:VarLen,dtype:int64},b:{kind:VarLen,dtype:int64}}", mixed, "'a' is in its");
    /* only the context is asked for, as TensorFlow allows */
    decode_ok("{b:{kind:VarLen,dtype:int64}}", &mixed, 1, &block);
    assert_int_equal(levada_column_length(levada_block_column(block, "b"), 0), 1);
    levada_block_unref(&block);
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        decode_ok("{a:{kind:VarLen,dtype:int64}}", &strange[i], 1, &block);
        assert_int_equal(levada_column_length(levada_block_column(block, "a"), 0), 0);
        levada_block_unref(&block);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decoder_is_used_again),
        cmocka_unit_test(packed_and_unpacked_lists_are_the_same),
        cmocka_unit_test(values_of_mixed_lists_are_all_delivered),
        cmocka_unit_test(single_numbers_and_defaults),
        cmocka_unit_test(narrower_dtypes_are_range_checked),
        cmocka_unit_test(long_lists_of_narrow_dtypes_are_range_checked),
        cmocka_unit_test(strings_and_their_defaults),
        cmocka_unit_test(the_last_entry_of_a_key_wins),
        cmocka_unit_test(an_entry_without_a_kind_clears_all_but_fixed_features),
        cmocka_unit_test(an_entry_may_repeat_its_key_or_its_value),
        cmocka_unit_test(a_later_entry_replaces_a_broken_one),
        cmocka_unit_test(many_values_in_one_entry_are_merged_in_its_size),
        cmocka_unit_test(says_what_does_not_fit),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(the_first_bad_record_is_named),
        cmocka_unit_test(refuses_packed_floats_that_are_cut),
        cmocka_unit_test(refuses_specs_that_mean_nothing),
        cmocka_unit_test(sparse_is_sorted_by_index),
        cmocka_unit_test(partitions_divide_or_reject),
        cmocka_unit_test(no_records_are_a_block_too),
        cmocka_unit_test(a_sequence_example_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
