/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder `description`: datasets, and how they are read from text and JSON (parse.h), printed
 * (print.c) and hashed. A dataset is an immutable, counted tree. Each node is an op of the registry
 * with its bound options, its inputs and the columns of its blocks, which follow from those of the
 * inputs before any data is read (dataset_spec.c). Running one is not the matter of this folder.
 *
 * Any thread may use a dataset. Depth, nesting and size are bounded, so functions may recurse.
 */
#ifndef LEVADA_DESCRIPTION_DATASET_PRIV_H
#define LEVADA_DESCRIPTION_DATASET_PRIV_H

#include "option/option_priv.h"
#include "registry/registry.h"
#include <levada/dataset.h>

#include <stdatomic.h>

/* What all iterators of a dataset share. */
typedef struct levada_common {
    void (*drop)(struct levada_common *kept);
} levada_common;

struct levada_dataset {
    atomic_int       refs;
    levada_env      *env; /* a reference */
    const levada_op *op;
    levada_value    *options; /* a map: every option of the table, in table order, typed        */
    void            *args;    /* bound struct; pointers into options and `memory`               */
    void           **memory;  /* arrays that binding made (levada_ints, levada_texts)           */
    int32_t          nmemory;
    levada_spec     *spec;    /* of the blocks that it emits                                   */
    levada_spec     *middle;  /* of a SERIAL stage with apply: spec of next() (= its input's)    */
    int32_t          ninputs;
    levada_dataset **inputs;
    /* Limits, so that whatever walks over datasets may recurse. Pipes among the options count. */
    int32_t depth; /* stages above each other, at most LEVADA_DATASET_DEPTH   */
    int32_t nest;  /* combiners and values in each other, at most LEVADA_NEST_VALUE */
    int64_t nodes; /* stages in the whole tree, at most LEVADA_DATASET_NODES  */
    _Atomic(levada_common *) kept; /* set once, by a stage that runs; dropped with it */
    _Atomic(levada_common *) spare; /* reads single records, while no call does; dropped with it */
};

#define LEVADA_DATASET_DEPTH 1000
#define LEVADA_DATASET_NODES 100000

/* The defaults that are being read, the innermost first: one that is a pipe may hold stages whose
 * options have such defaults, too. */
typedef struct levada_default_path {
    const levada_op                  *op;
    const levada_arg                 *arg;
    const struct levada_default_path *outer; /* NULL = none */
    int32_t                           depth;
} levada_default_path;

/* Keeps the first one until the dataset is gone; another one is dropped. Any thread may call it. */
void levada_dataset_keep(levada_dataset *dataset, levada_common *common);
/* Leaves `spare` (NULL = nothing) at the dataset, and takes what was there. Any thread: nobody else
 * has what was taken. */
levada_common *levada_dataset_swap_spare(const levada_dataset *dataset, levada_common *spare);
/* Returns the kept one, borrowed; NULL if nothing was kept yet. */
levada_common *levada_dataset_kept(const levada_dataset *dataset);

/* What a dataset is made with. */
typedef struct levada_making {
    levada_env                *env;
    const levada_places       *places; /* NULL = the options stand nowhere        */
    const levada_default_path *within; /* the default that it is part of, or NULL */
} levada_making;

/* Makes a dataset as levada_dataset_append does, from an op that was found and options that it may
 * empty (NULL = none). */
LEVADA_MUST_USE levada_status levada_dataset_make(const levada_making *by, const levada_op *op,
                                                  levada_value          *options,
                                                  levada_dataset *const *inputs, int32_t ninputs,
                                                  levada_dataset **out, levada_error *err);
/* Binds the options of an op alone, of which it may empty `options`. */
LEVADA_MUST_USE levada_status levada_op_bind(const levada_making *by, const levada_op *op,
                                             levada_value *options, levada_bound *out,
                                             levada_error *err);
/* Returns the default of an option as a value of its type; null if there is none. `outer`: the
 * default that is being read, NULL = none. Returns EINVALID_ARGUMENT if it cannot be read, or leads
 * back to itself. */
LEVADA_MUST_USE levada_status levada_parse_default(levada_env *env, const levada_op *op,
                                                   const levada_arg          *arg,
                                                   const levada_default_path *outer,
                                                   levada_value **out, levada_error *err);
/* Settles which column a decoder reads, and sets *field to its name, which lives with the args. */
LEVADA_MUST_USE levada_status levada_dataset_choose(levada_dataset *dataset, const char **field,
                                                    levada_error *err);
/* Derives spec and middle from the inputs; resolves the field of decoders. */
LEVADA_MUST_USE levada_status levada_dataset_derive(levada_dataset *dataset, levada_error *err);

/* Returns true for one byte string per record, which decoders read: checked before any data if the
 * columns are known, else for each block. */
bool levada_field_decodable(const levada_field *field);
/* Fails with the reason why a field cannot be decoded. */
LEVADA_MUST_USE levada_status levada_field_undecodable(const levada_field *field,
                                                       levada_error *err);

/* Appends what one stage does, its inputs left aside, as it is hashed. Of a file format the options
 * of its own, not those of the files. */
void levada_dataset_print_own(levada_text *text, const levada_dataset *dataset);
/* Appends the stages from the first source on: TEXT, or the list "[...]" of JSON or HASH. */
void levada_dataset_print(levada_text *text, const levada_dataset *dataset, levada_print how);

/* Returns the traits of the last stage with its options, with those that others imply. */
levada_traits levada_traits_of(const levada_dataset *dataset);
/* Returns true if every record of the result is one of the input. */
bool levada_traits_unchanged(const levada_traits *traits);
/* Returns true if random numbers decide which records there are, or their order. */
bool levada_traits_order(const levada_traits *traits);
/* Returns the records (batches) that the last stage makes of n; -1 = not known. */
int64_t levada_traits_count(const levada_dataset *dataset, int64_t n);
/* Appends what they are with any options, as members of JSON. */
void levada_traits_print(levada_text *text, const levada_op *op);
/* Finds the dataset whose last stage batches for one rank; what reads ahead downstream of that
 * stage stays. *out stays NULL if the stage has no ranks of that kind. */
LEVADA_MUST_USE levada_status levada_dataset_rank(const levada_dataset *dataset,
                                                  const levada_rank *rank, levada_dataset **out,
                                                  levada_error *err);
/* Returns true for a shard, or a stage with ranks, of more than one part. */
bool levada_dataset_divides(const levada_dataset *at);
/* Returns the name that a combiner has for input i; NULL = it has none. */
const char *levada_dataset_input_name(const levada_dataset *dataset, int32_t i);
/* Returns the last stage that does more than read ahead. */
const levada_dataset *levada_dataset_last(const levada_dataset *dataset);

/* What is drawn: the order or choice of records from the seed of the iterator; the same, also from
 * a seed of the stage; anything. */
typedef enum levada_draws {
    LEVADA_DRAWS_SEEDLESS,
    LEVADA_DRAWS_ORDER,
    LEVADA_DRAWS_ANY
} levada_draws;

/* Returns the first stage or source that draws that, or NULL. */
const levada_dataset *levada_dataset_draws(const levada_dataset *at, levada_draws what);
/* Returns a stage that draws from the seed of the iterator upstream of a shard, or NULL. */
const levada_dataset *levada_dataset_draws_before_shard(const levada_dataset *at);

#endif
