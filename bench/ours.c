/* SPDX-License-Identifier: Apache-2.0 */
/*
 * levada's side of the rows in C, through the public interface: a work is a description, run from
 * its beginning to its end once a pass. `inner` is the number of threads of the iterator.
 */
#include "harness.h"

#include <levada/levada.h>

#include <stdio.h>
#include <string.h>

enum {
    OURS_TEXT = 16384,
    OURS_SCALARS = 40,
    OURS_SCAN_ROWS = 2048 /* records of a block that is looked through and goes nowhere */
};

/* What `bytes` of a pass are. */
typedef enum ours_measure { OURS_RECORDS, OURS_FILE, OURS_LINES } ours_measure;

typedef struct ours_state {
    levada_dataset *dataset;
    int             threads;
    int32_t         block_rows; /* 0 = the default */
    ours_measure    measure;
    int64_t         file_bytes;
    int             holds; /* a batch until the next one is there, as a loop in Python does */
} ours_state;

static void ours_check(levada_status status, const levada_error *err)
{
    char text[512];

    if (status != LEVADA_OK && status != LEVADA_END)
        levada_bench_die("levada", levada_error_text(err, text, sizeof text));
}

static int64_t ours_file_size(const char *path)
{
    FILE *file = fopen(path, "rb");
    long  size = 0;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0)
        levada_bench_die("cannot open", path);
    fclose(file);
    return size;
}

/* SOURCE:"PATH"REST as a dataset; REST begins with further options or the next stage. */
static void *ours_open(const levada_bench_args *args, ours_measure measure, const char *source,
                       const char *rest)
{
    static _Thread_local char text[OURS_TEXT];
    levada_error              err = LEVADA_ERROR_INIT;
    ours_state               *s = levada_bench_alloc(sizeof *s);
    int size = snprintf(text, sizeof text, "%s:\"%s\"%s", source, args->path, rest);

    if (size < 0 || (size_t)size >= sizeof text)
        levada_bench_die("too long", rest);
    ours_check(levada_dataset_parse(NULL, text, &s->dataset, &err), &err);
    s->threads = args->inner;
    s->measure = measure;
    s->file_bytes = ours_file_size(args->path);
    return s;
}

/* Returns the number of bytes of the lines of a block, with their newlines. */
static int64_t ours_line_bytes(const levada_block *block)
{
    const levada_column *line = levada_block_at(block, 0);
    const levada_level  *level = &line->level[line->field->depth];
    int64_t              sum = line->n;

    for (int64_t k = 0; k < line->n; ++k)
        sum += level->end[k] - level->begin[k];
    return sum;
}

static void ours_pass(void *state, levada_bench_count *count)
{
    const ours_state   *s = state;
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_iter        *it = NULL;
    levada_block       *block = NULL, *held = NULL;
    levada_status       status;

    options.threads = s->threads;
    options.block_rows = s->block_rows;
    options.seed = 1;
    status = levada_iter_open(s->dataset, &options, &it, &err);
    while (status == LEVADA_OK && (status = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        count->records += levada_block_rows(block);
        if (s->measure == OURS_LINES)
            count->bytes += ours_line_bytes(block);
        if (s->holds) {
            levada_block_unref(&held);
            held = block;
            block = NULL;
        }
        levada_block_unref(&block);
    }
    ours_check(status, &err);
    levada_block_unref(&held);
    levada_iter_close(&it);
    if (s->measure == OURS_FILE)
        count->bytes += s->file_bytes;
}

/* -- the works --------------------------------------------------------------------------------- */

#define OURS_A \
    " | parse_example:{tokens:{kind:VarLen,dtype:int64},label:{kind:FixedLen,shape:[],dtype:int64}}"
#define OURS_F                                                      \
    " | parse_example:{feat:{kind:FixedLen,shape:[512],dtype:float32}," \
    "label:{kind:FixedLen,shape:[],dtype:int64}}"
#define OURS_S                                                                              \
    " | parse_sequence_example:context={id:{kind:FixedLen,shape:[],dtype:int64},"           \
    "name:{kind:FixedLen,shape:[],dtype:string}},sequences={tokens:{kind:FixedLenSequence," \
    "shape:[],dtype:int64},feat:{kind:FixedLenSequence,shape:[16],dtype:float32}}"
#define OURS_BUCKETS                      \
    " | bucket_by_sequence_length:tokens," \
    "boundaries=[64,96,128,160,192,256,320,448,640,1024],batch_sizes=64"

static void *ours_open_blocks(const levada_bench_args *args, ours_measure measure,
                              const char *source)
{
    ours_state *s = ours_open(args, measure, source, "");

    s->block_rows = OURS_SCAN_ROWS;
    return s;
}

static void *ours_open_scan(const levada_bench_args *args)
{
    return ours_open_blocks(args, OURS_FILE, "tfrecord");
}

static void *ours_open_lines(const levada_bench_args *args)
{
    return ours_open_blocks(args, OURS_LINES, "text_lines");
}

/* File to batches, verified. */
static void *ours_open_a(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "tfrecord", OURS_A " | padded_batch:256");
}

/* Opens the job with tokens of the dtype that `user` names. */
static void *ours_open_narrow_a(const levada_bench_args *args)
{
    char rest[OURS_TEXT / 2];

    snprintf(rest, sizeof rest,
             " | parse_example:{tokens:{kind:VarLen,dtype:%s},"
             "label:{kind:FixedLen,shape:[],dtype:int64}} | padded_batch:256",
             (const char *)args->user);
    return ours_open(args, OURS_FILE, "tfrecord", rest);
}

static void *ours_open_held_a(const levada_bench_args *args)
{
    ours_state *s = ours_open_a(args);

    s->holds = 1;
    return s;
}

static void *ours_open_f(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "tfrecord", OURS_F " | batch:256");
}

static void *ours_open_buckets(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "tfrecord", OURS_A OURS_BUCKETS);
}

static void *ours_open_s(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "tfrecord", OURS_S " | padded_batch:256");
}

static void *ours_open_buckets_s(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "tfrecord",
                     OURS_S " | bucket_by_sequence_length:tokens,"
                            "boundaries=[32,48,64,80,96,128,160,224,320,448],batch_sizes=64");
}

/* Returns the main job. */
static void *ours_open_main(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "tfrecord", " | shuffle:10000" OURS_A OURS_BUCKETS);
}

/* Opens the job without boundaries: 4,000 records are sorted, and a budget cuts batches. */
static void *ours_open_main_lookahead(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "tfrecord",
                     " | shuffle:10000" OURS_A
                     " | bucket_by_sequence_length:tokens,max_tokens=16384,lookahead=4000");
}

static void *ours_open_b(const levada_bench_args *args)
{
    char   rest[OURS_TEXT / 2];
    size_t used = (size_t)snprintf(rest, sizeof rest, " | parse_example:{");

    for (int k = 0; k < OURS_SCALARS; ++k)
        used += (size_t)snprintf(rest + used, sizeof rest - used,
                                 "%sf%02d:{kind:FixedLen,shape:[],dtype:%s}", k > 0 ? "," : "", k,
                                 k % 2 == 1 ? "float32" : "int64");
    snprintf(rest + used, sizeof rest - used, "} | batch:256");
    return ours_open(args, OURS_FILE, "tfrecord", rest);
}

/* -- other formats */

static void *ours_open_numbers_csv(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "csv",
                     ",record_defaults=[int64,int64,int64,int64,int64,float32,float32,float32,"
                     "float32,float32,float32,float32,float32]");
}

static void *ours_open_quoted_csv(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "csv",
                     ",record_defaults=[int64,string,string,string,string]");
}

static void *ours_open_jsonl(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "jsonl", ",fields={text:string}");
}

static void *ours_open_tar(const levada_bench_args *args)
{
    return ours_open(args, OURS_FILE, "tar", ",fields=[bin]");
}

/* Numbers without a file: what handing records over costs. */
static void *ours_open_numbers(const levada_bench_args *args, const char *text)
{
    ours_state  *s = levada_bench_alloc(sizeof *s);
    levada_error err = LEVADA_ERROR_INIT;

    ours_check(levada_dataset_parse(NULL, text, &s->dataset, &err), &err);
    s->threads = args->inner;
    s->measure = OURS_RECORDS;
    return s;
}

#define OURS_SHUFFLED "range:1000000 | shuffle:1000"

static void *ours_open_shuffle(const levada_bench_args *args)
{
    return ours_open_numbers(args, OURS_SHUFFLED);
}

static void *ours_open_mix(const levada_bench_args *args)
{
    return ours_open_numbers(args, "mix(range:1000000; range:1000000; range:1000000)");
}

static void *ours_open_mix_shuffled(const levada_bench_args *args)
{
    return ours_open_numbers(args,
                             "mix(" OURS_SHUFFLED "; " OURS_SHUFFLED "; " OURS_SHUFFLED ")");
}

const levada_bench_work levada_bench_works[] = {
    {"scan", ours_open_scan, ours_pass, NULL},
    {"lines", ours_open_lines, ours_pass, NULL},
    {"batch_a", ours_open_a, ours_pass, NULL},
    {"batch_a_int32", ours_open_narrow_a, ours_pass, "int32"},
    {"batch_a_uint16", ours_open_narrow_a, ours_pass, "uint16"},
    {"batch_held_a", ours_open_held_a, ours_pass, NULL},
    {"batch_b", ours_open_b, ours_pass, NULL},
    {"batch_f", ours_open_f, ours_pass, NULL},
    {"buckets_a", ours_open_buckets, ours_pass, NULL},
    {"batch_s", ours_open_s, ours_pass, NULL},
    {"buckets_s", ours_open_buckets_s, ours_pass, NULL},
    {"main_a", ours_open_main, ours_pass, NULL},
    {"main_lookahead_a", ours_open_main_lookahead, ours_pass, NULL},
    {"csv_numbers", ours_open_numbers_csv, ours_pass, NULL},
    {"csv_quoted", ours_open_quoted_csv, ours_pass, NULL},
    {"jsonl", ours_open_jsonl, ours_pass, NULL},
    {"tar", ours_open_tar, ours_pass, NULL},
    {"mix", ours_open_mix, ours_pass, NULL},
    {"mix_shuffled", ours_open_mix_shuffled, ours_pass, NULL},
    {"shuffle", ours_open_shuffle, ours_pass, NULL},
    {NULL, NULL, NULL, NULL},
};
