/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder `registry`: environments (env_priv.h) and the names that they know. A registry holds
 * every name that a description may use, built in or of a plug-in, with its descriptor.
 *
 * Lookups take no lock: the names are an immutable sorted table, and registering publishes a new
 * one. Names are never removed, so a levada_op lives as long as its environment.
 *
 * Registration copies a descriptor by its struct_size (so that plug-ins compiled against an older
 * header go on working), fills in what the core adds (options of the file reader, the option
 * `field` of decoders) and refuses what breaks the contract: a SERIAL descriptor with state but
 * without save and restore, a name that is taken, an option table with two positional options.
 */
#ifndef LEVADA_REGISTRY_REGISTRY_H
#define LEVADA_REGISTRY_REGISTRY_H

#include "registry/env_priv.h"
#include "registry/combiner.h"
#include "registry/stage_core.h"
#include <levada/decoder.h>
#include <levada/filter.h>
#include <levada/opener.h>
#include <levada/option.h>
#include <levada/source.h>
#include <levada/stage.h>

typedef enum levada_family {
    LEVADA_FAMILY_STAGE,
    LEVADA_FAMILY_FORMAT,
    LEVADA_FAMILY_SOURCE,
    LEVADA_FAMILY_DECODER,
    LEVADA_FAMILY_COMBINER,
    LEVADA_FAMILY_FILTER, /* not a name of descriptions: a value of compression= */
    LEVADA_FAMILY_OPENER  /* neither: a scheme in the names of files */
} levada_family;

/* One name. Immutable once registered; lives as long as its environment. */
typedef struct levada_op {
    levada_family     family;
    const char       *name, *doc, *example;
    const levada_example_file *example_files; /* that the example reads; NULL = none */
    const char       *plugin;      /* NULL = built in */
    const levada_arg *args;        /* own options first, then the core's; ends with NULL name */
    size_t            args_size;   /* of the whole struct: core options follow own ones       */
    size_t            core_offset; /* where the core's part of the struct begins              */
    int32_t           min_inputs, max_inputs; /* 0,0 sources · 1,1 stages, decoders · combiners  */
    levada_traits     traits;      /* as declared; levada_traits_of() says them for options   */
    union {
        levada_stage_def   stage;
        levada_format_def  format;
        levada_source_def  source;
        levada_decoder_def decoder;
        levada_combiner_def   combiner;
        levada_filter_def  filter;
        levada_opener_def  opener;
    } def;
    levada_decoder_def decoder; /* of a format with typed columns: a copy; decode NULL = none */
} levada_op;

/* Returns the hooks that turn byte strings into columns: of a decoder, or of a format with typed
 * columns. NULL if it has none. */
const levada_decoder_def *levada_op_decoder(const levada_op *op);
/* Returns what the library's own stages tell the core; all NULL and 0 for everything else. */
const levada_stage_core *levada_op_core(const levada_op *op);
/* Returns true if every record of a combiner is one of an input. */
bool levada_op_forwards(const levada_op *op);

/* Which records of a source that numbers its records, and in which order. */
typedef struct levada_number_args {
    bool        shuffle_records;
    levada_ints records; /* first and end; none = all    */
    levada_ints part;    /* number and count; none = all */
} levada_number_args;

/* Returns the options that select records of a format or a numbered source (source.h); NULL if it
 * has none. */
const levada_number_args *levada_op_numbers(const levada_op *op, const void *args);
/* Returns true if the core walks the numbers of a source. */
bool levada_op_numbered(const levada_op *op);
/* Chooses the numbers [*first, *end) of `count` records. EOUT_OF_RANGE: there are fewer records. */
LEVADA_MUST_USE levada_status levada_numbers_choose(const levada_number_args *args, int64_t count,
                                                    int64_t *first, int64_t *end,
                                                    levada_error *err);

/* Options of the file reader, at core_offset of a format's args. */
typedef struct levada_file_args {
    levada_texts files;         /* positional; paths and globs */
    const char  *compression;   /* "auto", "none", or a filter's name */
    bool         shuffle_files;
    const char  *errors;        /* NULL = the iterator's policy */
    const char  *encoding;      /* of formats with lines; NULL = UTF-8, or bytes */
    bool         index;         /* the files have indexes (files/index.h) */
    levada_number_args numbers; /* of records with an index; `part` of files without */
} levada_file_args;

/* Options of every decoder, at core_offset of its args. */
typedef struct levada_decoder_args {
    const char *field; /* in a dataset never NULL: the decoder's own or the only BYTES column where
                        * the option was not given */
    const char *out;   /* of decoders that replace their column: the name of the new one; NULL = the
                        * same. Other decoders do not have the option */
} levada_decoder_args;

/* Makes the columns that a decoder makes: those of its check(), under the names that `args`
 * contains. */
LEVADA_MUST_USE levada_status levada_op_decoded_spec(const levada_op *op, const void *args,
                                                     levada_spec **out, levada_error *err);

typedef struct levada_registry levada_registry;

/* Creates a registry with the built-in names. */
LEVADA_MUST_USE levada_status levada_registry_create(levada_registry **out, levada_error *err);
void                          levada_registry_destroy(levada_registry **registry);

/* A copy of a descriptor (levada_stage_def for STAGE and so on) with its whole table of options,
 * not registered yet; `plugin` is the name of the library, NULL = built in. EINVALID_ARGUMENT: it
 * breaks the contract; the message says how. Defaults of options are not read. */
/* Makes the columns of a format as it frames them: of bytes. */
LEVADA_MUST_USE levada_status levada_op_format_spec(const levada_op *op, levada_spec **out,
                                                    levada_error *err);
LEVADA_MUST_USE levada_status levada_op_create(levada_family family, const void *def,
                                               const char *plugin, levada_op **out,
                                               levada_error *err);
void                          levada_op_destroy(levada_op **op);
/* Registers n >= 1 of them, and takes them over: lookups find either none or all. Any thread.
 * EALREADY_EXISTS: a name is taken; nothing is registered then. */
LEVADA_MUST_USE levada_status levada_registry_insert(levada_registry  *registry,
                                                     levada_op *const *ops, int32_t n,
                                                     levada_error *err);
/* Makes a registry with the names of `from` and n >= 1 more, all of them borrowed. */
LEVADA_MUST_USE levada_status levada_registry_lend(levada_registry *from, levada_op *const *ops,
                                                   int32_t n, levada_registry **out,
                                                   levada_error *err);
/* Returns "stage", "format", "source", "decoder", "combiner", "filter", "opener". */
const char *levada_family_name(levada_family family);

/* Finds a stage, format or another descriptor by its name; NULL if there is none. Borrowed. */
const levada_op *levada_registry_find(const levada_env *env, const char *name);
/* Returns the i-th descriptor in the order of names, or the i-th filter; NULL beyond the last. */
const levada_op         *levada_registry_at(const levada_env *env, int32_t i);
const levada_filter_def *levada_registry_filter_at(const levada_env *env, int32_t i);
/* Finds a filter by its name, in any case of letters. */
const levada_filter_def *levada_registry_filter(const levada_env *env, const char *name);
/* Returns the opener whose scheme is the first `size` bytes of the name. */
const levada_opener_def *levada_registry_opener(const levada_env *env, const char *name,
                                                size_t size);
/* Returns EINVALID_ARGUMENT unless it is NULL, "", auto, none or the name of a filter. */
LEVADA_MUST_USE levada_status levada_compression_check(const levada_env *env,
                                                       const char *compression,
                                                       levada_error *err);
/* Returns the error for an unknown name: EINVALID_ARGUMENT with the nearest one. `where` is " at
 * column 14" or "". */
levada_status levada_registry_unknown(const levada_env *env, const char *name, const char *where,
                                      levada_error *err);
/* Returns the filter whose probe knows these first bytes best; NULL = none: plain. */
const levada_filter_def *levada_registry_probe(const levada_env *env, const uint8_t *data,
                                               size_t size);

#endif
