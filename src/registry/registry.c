/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names are in an immutable table, sorted. Registering publishes a new table and keeps the old
 * one, so that looking up needs no lock; names are few and come at the beginning.
 */
#include "registry/registry.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/versioned.h"
#include "registry/registry_check.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

/* Generated: builtins.c. */
extern const levada_stage_def *const   levada_builtin_stages[];
extern const levada_format_def *const  levada_builtin_formats[];
extern const levada_source_def *const  levada_builtin_sources[];
extern const levada_decoder_def *const levada_builtin_decoders[];
extern const levada_combiner_def *const   levada_builtin_combiners[];
extern const levada_filter_def *const  levada_builtin_filters[];
extern const levada_opener_def *const  levada_builtin_openers[];

/* Names of descriptions; filters; openers. The same name may be in several parts. */
enum { REGISTRY_DESCRIPTIONS, REGISTRY_FILTERS, REGISTRY_OPENERS, REGISTRY_PARTS };

typedef struct registry_table {
    struct registry_table *older;
    int32_t                n[REGISTRY_PARTS];
    levada_op            **ops[REGISTRY_PARTS];
    levada_op             *slots[];
} registry_table;

struct levada_registry {
    _Atomic(registry_table *) table;
    bool                      lent; /* the names are others' */
};

static const levada_arg registry_file_args[] = {
    LEVADA_ARG(TEXTS, levada_file_args, files, .required = true, .positional = true, .paths = true,
               .doc = "paths and patterns of the files: * ? [a-z] ** {a,b} {00..12}"),
    LEVADA_ARG(TEXT, levada_file_args, compression, .otherwise = "auto",
               .doc = "auto (looks at the first bytes), none, or a filter such as gzip"),
    LEVADA_ARG(BOOL, levada_file_args, shuffle_files, .otherwise = "false",
               .doc = "read the files in a different order in each epoch"),
    /* Good records do not depend on it: a job that died of damage may go on with another policy. */
    LEVADA_ARG(TEXT, levada_file_args, errors, .tuning = true,
               .doc = "policy for damage: fail, skip, skip:1000 or skip:0.1%; null = the policy of "
                      "the iterator"),
    LEVADA_ARG(
        BOOL, levada_file_args, index, .otherwise = "false",
        .doc = "use the indexes that `levada index` or another library wrote next to the files"),
    LEVADA_ARG_END
};

/* Of formats whose files are text. */
static const levada_arg registry_text_args[] = {
    LEVADA_ARG(TEXT, levada_file_args, encoding, .otherwise = "utf-8",
               .doc = "encoding of the files: utf-8, utf-16 (by its byte order mark), utf-16-le, "
                      "utf-16-be, latin-1 or cp1252"),
    LEVADA_ARG_END
};

static const levada_arg registry_file_number_args[] = {
    LEVADA_ARG(BOOL, levada_number_args, shuffle_records, .otherwise = "false",
               .doc = "read the records of all files in a different order in each epoch; needs "
                      "index, or a format that numbers its records (megatron)"),
    LEVADA_ARG(INTS, levada_number_args, records, .min = 0, .max = INT64_MAX,
               .doc = "[start, stop): read only the records with these numbers, counted from 0 "
                      "through all files in order; needs index, or a format that numbers its "
                      "records (megatron); null = all"),
    LEVADA_ARG(INTS, levada_number_args, part, .min = 0, .max = INT64_MAX,
               .doc = "[i, n]: read only part i of n; with an index a range of the records, "
                      "otherwise every n-th file, starting with file i; null = all"),
    LEVADA_ARG_END
};

static const levada_arg registry_number_args[] = {
    LEVADA_ARG(BOOL, levada_number_args, shuffle_records, .otherwise = "false",
               .doc = "return all records in a different order in each epoch, without a buffer"),
    LEVADA_ARG(INTS, levada_number_args, records, .min = 0, .max = INT64_MAX,
               .doc = "[start, stop): return only the records with these numbers; null = all"),
    LEVADA_ARG(INTS, levada_number_args, part, .min = 0, .max = INT64_MAX,
               .doc = "[i, n]: return only part i of n, a range of the records; null = all"),
    LEVADA_ARG_END
};

static const levada_arg registry_decoder_args[] = {
    LEVADA_ARG(TEXT, levada_decoder_args, field,
               .doc = "column to decode; null = the default of the decoder, or the only column of "
                      "bytes"),
    LEVADA_ARG_END
};

/* Of a decoder that replaces its column. */
static const levada_arg registry_replacing_args[] = {
    LEVADA_ARG(TEXT, levada_decoder_args, field,
               .doc = "column to decode; null = the default of the decoder, or the only column of "
                      "bytes"),
    LEVADA_ARG(TEXT, levada_decoder_args, out,
               .doc = "name of the decoded column; null = the name of the column that it replaces"),
    LEVADA_ARG_END
};

static const levada_arg registry_no_args[] = {LEVADA_ARG_END};

const char *levada_family_name(levada_family family)
{
    static const char *const names[] = {"stage", "format", "source", "decoder", "combiner",
                                        "filter", "opener"};

    return names[family];
}

#define REGISTRY_TAKE(op, kind, type, def_)                                         \
    do {                                                                            \
        LEVADA_TRY(LEVADA_VERSIONED_READ((op)->def.kind, (def_), type, err));       \
        (op)->name = (op)->def.kind.name;                                           \
        (op)->doc = (op)->def.kind.doc;                                             \
    } while (0)

#define REGISTRY_TAKE_ARGS(op, kind)                    \
    do {                                                \
        (op)->example = (op)->def.kind.example;         \
        (op)->args = (op)->def.kind.args;               \
        (op)->args_size = (op)->def.kind.args_size;     \
    } while (0)

static levada_status registry_take(levada_op *op, const void *def, levada_error *err)
{
    switch (op->family) {
    case LEVADA_FAMILY_STAGE:
        REGISTRY_TAKE(op, stage, levada_stage_def, def);
        REGISTRY_TAKE_ARGS(op, stage);
        op->example_files = op->def.stage.example_files;
        op->min_inputs = op->max_inputs = 1;
        break;
    case LEVADA_FAMILY_FORMAT:
        REGISTRY_TAKE(op, format, levada_format_def, def);
        REGISTRY_TAKE_ARGS(op, format);
        op->example_files = op->def.format.example_files;
        if (op->def.format.decoder) {
            LEVADA_TRY(LEVADA_VERSIONED_READ(op->decoder, op->def.format.decoder,
                                             levada_decoder_def, err));
        }
        break;
    case LEVADA_FAMILY_SOURCE:
        REGISTRY_TAKE(op, source, levada_source_def, def);
        REGISTRY_TAKE_ARGS(op, source);
        op->example_files = op->def.source.example_files;
        break;
    case LEVADA_FAMILY_DECODER:
        REGISTRY_TAKE(op, decoder, levada_decoder_def, def);
        REGISTRY_TAKE_ARGS(op, decoder);
        op->example_files = op->def.decoder.example_files;
        op->min_inputs = op->max_inputs = 1;
        break;
    case LEVADA_FAMILY_COMBINER:
        REGISTRY_TAKE(op, combiner, levada_combiner_def, def);
        REGISTRY_TAKE_ARGS(op, combiner);
        op->min_inputs = op->def.combiner.min_inputs;
        op->max_inputs = op->def.combiner.max_inputs;
        break;
    case LEVADA_FAMILY_FILTER: REGISTRY_TAKE(op, filter, levada_filter_def, def); break;
    case LEVADA_FAMILY_OPENER: REGISTRY_TAKE(op, opener, levada_opener_def, def); break;
    }
    return LEVADA_OK;
}

/* Appends the rows of a table whose rows may be of another size than ours. */
static int32_t registry_append(levada_arg *to, int32_t n, const levada_arg *from, size_t offset,
                               bool positional)
{
    size_t stride = from->struct_size, size = sizeof(*to) < stride ? sizeof(*to) : stride;

    while (from->name != NULL) {
        if (to != NULL) {
            memcpy(&to[n], from, size);
            to[n].offset += offset;
            to[n].positional = to[n].positional || positional;
            positional = false; /* one of them */
        }
        n++;
        from = (const levada_arg *)(const void *)((const char *)from + stride);
    }
    return n;
}

/* Checks that all rows of a table have the size of its first one. */
static levada_status registry_check_rows(const levada_op *op, const levada_arg *row,
                                         levada_error *err)
{
    size_t        stride = row->struct_size;
    levada_status status = LEVADA_OK;

    while (status == LEVADA_OK && row->name != NULL) {
        status = levada_versioned_check(row, sizeof(*row), "levada_arg", err);
        if (status == LEVADA_OK && row->struct_size != stride) {
            status = levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                                 "struct_size=%zu of levada_arg differs from %zu, that of the row "
                                 "before", row->struct_size, stride);
        }
        if (status != LEVADA_OK) levada_error_wrap(err, "%s: option '%s'", op->name, row->name);
        row = (const levada_arg *)(const void *)((const char *)row + stride);
    }
    return status;
}

static bool registry_has_positional(const levada_arg *args, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (args[i].positional) return true;
    }
    return false;
}

/* The options that the core adds. */
typedef struct registry_core {
    const levada_arg *args, *text, *numbers; /* of the core's struct, and of the numbers in it */
    size_t            numbers_offset, size;
} registry_core;

static registry_core registry_core_of(const levada_op *op)
{
    registry_core core = { .args = registry_no_args, .text = registry_no_args,
                           .numbers = registry_no_args };

    if (op->family == LEVADA_FAMILY_FORMAT) {
        core.args = registry_file_args;
        if (op->def.format.lines) core.text = registry_text_args;
        core.numbers = registry_file_number_args;
        core.numbers_offset = offsetof(levada_file_args, numbers);
        core.size = sizeof(levada_file_args);
    } else if (levada_op_numbered(op)) {
        core.numbers = registry_number_args;
        core.size = sizeof(levada_number_args);
    } else if (op->family == LEVADA_FAMILY_DECODER) {
        core.args = op->def.decoder.replaces ? registry_replacing_args : registry_decoder_args;
        core.size = sizeof(levada_decoder_args);
    }
    return core;
}

/* Makes the whole table of options: own ones, then what the core adds. */
static levada_status registry_make_args(levada_op *op, const levada_arg *own, levada_error *err)
{
    const registry_core core = registry_core_of(op);

    if (own == NULL) own = registry_no_args;
    LEVADA_TRY(registry_check_rows(op, own, err));
    int32_t     n = registry_append(NULL, 0, own, 0, false);
    int32_t     with_core = registry_append(NULL, n, core.args, 0, false);
    int32_t     with_text = registry_append(NULL, with_core, core.text, 0, false);
    int32_t     most = registry_append(NULL, with_text, core.numbers, 0, false) + 1;
    levada_arg *args = levada_alloc_zero((size_t)most * sizeof(*args));

    op->args = args;
    if (args == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    op->core_offset = (op->args_size + 15) / 16 * 16;
    registry_append(args, 0, own, 0, false);
    bool free_place = op->family == LEVADA_FAMILY_DECODER && !registry_has_positional(args, n);
    registry_append(args, n, core.args, op->core_offset, free_place);
    registry_append(args, with_core, core.text, op->core_offset, false);
    registry_append(args, with_text, core.numbers, op->core_offset + core.numbers_offset, false);
    if (core.size > 0) op->args_size = op->core_offset + core.size;
    return LEVADA_OK;
}

bool levada_op_numbered(const levada_op *op)
{
    return op->family == LEVADA_FAMILY_SOURCE && op->def.source.next == NULL;
}

const levada_number_args *levada_op_numbers(const levada_op *op, const void *args)
{
    const char *core = (const char *)args + op->core_offset;

    if (levada_op_numbered(op)) return (const void *)core;
    if (op->family != LEVADA_FAMILY_FORMAT) return NULL;
    return (const void *)(core + offsetof(levada_file_args, numbers));
}

/* Returns the beginning of part i of `count` parts of n records: i * n / count without overflow. */
static int64_t registry_cut(int64_t n, int64_t i, int64_t count)
{
    int64_t each = n / count, rest = n % count;

    return each * i + (i < rest ? i : rest);
}

levada_status levada_numbers_choose(const levada_number_args *args, int64_t count, int64_t *first,
                                    int64_t *end, levada_error *err)
{
    const levada_ints *records = &args->records, *part = &args->part;
    int64_t            n;

    *first = records->n ? records->at[0] : 0;
    *end = records->n ? records->at[1] : count;
    if (*end > count) {
        return levada_fail(err, LEVADA_EOUT_OF_RANGE,
                           "records=[%lld,%lld] exceeds the %lld records",
                           (long long)*first, (long long)*end, (long long)count);
    }
    n = *end - *first;
    if (part->n) {
        *end = *first + registry_cut(n, part->at[0] + 1, part->at[1]);
        *first += registry_cut(n, part->at[0], part->at[1]);
    }
    return LEVADA_OK;
}

const levada_decoder_def *levada_op_decoder(const levada_op *op)
{
    if (op->family == LEVADA_FAMILY_DECODER) return &op->def.decoder;
    return op->decoder.decode ? &op->decoder : NULL;
}

/* Returns the option `out`, or else the name of the decoded column; NULL = as check() names it. */
static const char *registry_replaced(const levada_op *op, const void *args)
{
    const levada_decoder_args *core = (const void *)((const char *)args + op->core_offset);

    if (op->family != LEVADA_FAMILY_DECODER || !op->def.decoder.replaces) return NULL;
    return core->out != NULL ? core->out : core->field;
}

levada_status levada_op_decoded_spec(const levada_op *op, const void *args, levada_spec **out,
                                     levada_error *err)
{
    const char  *name = registry_replaced(op, args);
    levada_spec *made = NULL;

    LEVADA_TRY(levada_op_decoder(op)->check(args, &made, err));
    if (made == NULL)
        return levada_fail(err, LEVADA_EINTERNAL,
                           "internal error: check() returned no columns; please report it");
    if (name == NULL) {
        *out = made;
        return LEVADA_OK;
    }
    levada_field field = *levada_spec_field(made, 0);

    field.name = name;
    levada_status status = levada_spec_create(&field, 1, levada_spec_flags_of(made), out, err);
    levada_spec_unref(&made);
    return status;
}

levada_status levada_op_format_spec(const levada_op *op, levada_spec **out, levada_error *err)
{
    const levada_format_def *def = &op->def.format;
    levada_field             fields[LEVADA_FORMAT_COLUMNS] = { 0 };
    int32_t                  n = 0;

    for (; n < LEVADA_FORMAT_COLUMNS && def->fields[n]; n++) {
        fields[n] = (levada_field){ .name = def->fields[n], .dtype = LEVADA_BYTES };
    }
    return levada_spec_create(fields, n, LEVADA_SPEC_PLAIN, out, err);
}

void levada_op_destroy(levada_op **op)
{
    union {
        const void *shared;
        void       *ours;
    } args, plugin;

    if (*op == NULL) return;
    args.shared = (*op)->args;
    plugin.shared = (*op)->plugin;
    levada_free(args.ours);
    levada_free(plugin.ours);
    levada_free(*op);
    *op = NULL;
}

static const levada_traits *registry_declared(const levada_op *op)
{
    switch (op->family) {
    case LEVADA_FAMILY_STAGE: return op->def.stage.traits;
    case LEVADA_FAMILY_SOURCE: return op->def.source.traits;
    case LEVADA_FAMILY_DECODER: return op->def.decoder.traits;
    case LEVADA_FAMILY_COMBINER: return op->def.combiner.traits;
    case LEVADA_FAMILY_FORMAT:
    case LEVADA_FAMILY_FILTER:
    case LEVADA_FAMILY_OPENER: break;
    }
    return NULL;
}

/* Takes the declared traits; without a declaration, an option `seed` means that something is
 * random. */
static levada_status registry_take_traits(levada_op *op, levada_error *err)
{
    const levada_traits *declared = registry_declared(op);

    if (declared != NULL)
        LEVADA_TRY(LEVADA_VERSIONED_READ(op->traits, declared, levada_traits, err));
    for (const levada_arg *arg = op->args; declared == NULL && arg && arg->name != NULL; arg++) {
        if (strcmp(arg->name, "seed") == 0) op->traits.random = LEVADA_RANDOM_BY_PASS;
    }
    if (op->family == LEVADA_FAMILY_DECODER) {
        op->traits.rows = LEVADA_ROWS_ONE_TO_ONE;
        op->traits.reads = LEVADA_READS_COLUMNS;
    }
    return LEVADA_OK;
}

const levada_stage_core *levada_op_core(const levada_op *op)
{
    static const levada_stage_core none = { 0 };
    const levada_stage_core *core = op->family == LEVADA_FAMILY_STAGE ? op->def.stage.core : NULL;

    return core ? core : &none;
}

bool levada_op_forwards(const levada_op *op)
{
    return op->family == LEVADA_FAMILY_COMBINER && (op->traits.rows == LEVADA_ROWS_SUBSET ||
                                                    op->traits.rows == LEVADA_ROWS_PERMUTES);
}

levada_status levada_op_create(levada_family family, const void *def, const char *plugin,
                               levada_op **out, levada_error *err)
{
    levada_op        *op = levada_alloc_zero(sizeof(*op));
    const levada_arg *own;
    levada_status     status = LEVADA_OK;

    if (op == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    op->family = family;
    status = registry_take(op, def, err);
    own = op->args;
    op->args = NULL; /* that table is the caller's */
    if (status == LEVADA_OK) status = registry_make_args(op, own, err);
    if (status == LEVADA_OK) status = registry_take_traits(op, err);
    if (plugin != NULL && family == LEVADA_FAMILY_STAGE) {
        op->def.stage.core = NULL;
    }
    if (status == LEVADA_OK && plugin != NULL) {
        op->plugin = levada_strdup(plugin);
        if (op->plugin == NULL) {
            status = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
        }
    }
    if (status == LEVADA_OK) status = levada_registry_check(op, err);
    if (status == LEVADA_OK) *out = op;
    else levada_op_destroy(&op);
    return status;
}

/* Returns the place where the name is, or belongs. */
static int32_t registry_place(const registry_table *table, int part, const char *name)
{
    int32_t low = 0, high = table != NULL ? table->n[part] : 0;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (strcmp(table->ops[part][middle]->name, name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static const levada_op *registry_find(const registry_table *table, int part, const char *name)
{
    int32_t i = registry_place(table, part, name);

    if (table == NULL || i >= table->n[part]) return NULL;
    return strcmp(table->ops[part][i]->name, name) == 0 ? table->ops[part][i] : NULL;
}

/* Returns the old table and one op more; NULL if memory is short. */
static registry_table *registry_extend(registry_table *old, int part, levada_op *op)
{
    int32_t         all = 0, at = registry_place(old, part, op->name);
    registry_table *table;

    for (int p = 0; old != NULL && p < REGISTRY_PARTS; p++) all += old->n[p];
    table = levada_alloc_zero(sizeof(registry_table) + ((size_t)all + 1) * sizeof(op));
    if (table == NULL) return NULL;
    table->older = old;
    for (int p = 0, begin = 0; p < REGISTRY_PARTS; begin += table->n[p++]) {
        int32_t n = old != NULL ? old->n[p] : 0;

        table->ops[p] = table->slots + begin;
        for (int32_t i = 0; i < n; i++) {
            table->ops[p][i + (p == part && i >= at ? 1 : 0)] = old->ops[p][i];
        }
        table->n[p] = n + (p == part ? 1 : 0);
    }
    table->ops[part][at] = op;
    return table;
}

static int registry_part(const levada_op *op)
{
    if (op->family == LEVADA_FAMILY_FILTER) return REGISTRY_FILTERS;
    return op->family == LEVADA_FAMILY_OPENER ? REGISTRY_OPENERS : REGISTRY_DESCRIPTIONS;
}

static levada_status registry_taken(const levada_op *by, levada_error *err)
{
    const char *article = by->family == LEVADA_FAMILY_OPENER ? "an" : "a";

    return levada_fail(err, LEVADA_EALREADY_EXISTS, "%s: the name is registered by %s %s%s%s",
                       by->name, article, levada_family_name(by->family),
                       by->plugin != NULL ? " of plug-in " : "",
                       by->plugin != NULL ? by->plugin : "");
}

/* Makes the old table and n >= 1 ops more. On failure nothing is left. */
static levada_status registry_extend_all(registry_table *old, levada_op *const *ops, int32_t n,
                                         registry_table **out, levada_error *err)
{
    registry_table *table = old;

    for (int32_t i = 0; i < n; i++) {
        int              part = registry_part(ops[i]);
        const levada_op *taken = registry_find(table, part, ops[i]->name);
        registry_table  *more = taken == NULL ? registry_extend(table, part, ops[i]) : NULL;

        if (table != old) levada_free(table);
        if (taken != NULL) return registry_taken(taken, err);
        if (more == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
        table = more;
    }
    table->older = old;
    *out = table;
    return LEVADA_OK;
}

levada_status levada_registry_insert(levada_registry *registry, levada_op *const *ops, int32_t n,
                                     levada_error *err)
{
    registry_table *old = atomic_load_explicit(&registry->table, memory_order_acquire);

    for (;;) {
        registry_table *table = NULL;

        LEVADA_TRY(registry_extend_all(old, ops, n, &table, err));
        if (atomic_compare_exchange_strong_explicit(&registry->table, &old, table,
                                                    memory_order_acq_rel, memory_order_acquire)) {
            return LEVADA_OK;
        }
        levada_free(table);
    }
}

static levada_status registry_add(levada_registry *registry, levada_family family, const void *def,
                                  levada_error *err)
{
    levada_op *op = NULL;

    LEVADA_TRY(levada_op_create(family, def, NULL, &op, err));
    levada_status status = levada_registry_insert(registry, &op, 1, err);
    if (status != LEVADA_OK) levada_op_destroy(&op);
    return status;
}

#define REGISTRY_ADD_ALL(kind, family)                                                         \
    for (int32_t i = 0; status == LEVADA_OK && levada_builtin_##kind[i] != NULL; i++) {        \
        status = registry_add(registry, LEVADA_FAMILY_##family, levada_builtin_##kind[i], err); \
    }

static levada_status registry_add_builtins(levada_registry *registry, levada_error *err)
{
    levada_status status = LEVADA_OK;

    REGISTRY_ADD_ALL(stages, STAGE)
    REGISTRY_ADD_ALL(formats, FORMAT)
    REGISTRY_ADD_ALL(sources, SOURCE)
    REGISTRY_ADD_ALL(decoders, DECODER)
    REGISTRY_ADD_ALL(combiners, COMBINER)
    REGISTRY_ADD_ALL(filters, FILTER)
    REGISTRY_ADD_ALL(openers, OPENER)
    return status;
}

levada_status levada_registry_create(levada_registry **out, levada_error *err)
{
    levada_registry *registry = levada_alloc_zero(sizeof(*registry));

    if (registry == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    levada_status status = registry_add_builtins(registry, err);
    if (status == LEVADA_OK) *out = registry;
    else levada_registry_destroy(&registry);
    return status;
}

void levada_registry_destroy(levada_registry **registry)
{
    if (*registry == NULL) return;
    registry_table *table = atomic_load_explicit(&(*registry)->table, memory_order_acquire);
    for (int part = 0; table != NULL && !(*registry)->lent && part < REGISTRY_PARTS; part++) {
        for (int32_t i = 0; i < table->n[part]; i++) levada_op_destroy(&table->ops[part][i]);
    }
    while (table != NULL) {
        registry_table *older = table->older;
        levada_free(table);
        table = older;
    }
    levada_free(*registry);
    *registry = NULL;
}

static const registry_table *registry_now(const levada_env *env)
{
    levada_registry *registry = levada_env_registry(env);

    return registry != NULL ? atomic_load_explicit(&registry->table, memory_order_acquire) : NULL;
}

/* Lends the names of the registry. Its table has nothing older below it, which belongs to the other
 * registry. */
levada_status levada_registry_lend(levada_registry *from, levada_op *const *ops, int32_t n,
                                   levada_registry **out, levada_error *err)
{
    registry_table  *now = atomic_load_explicit(&from->table, memory_order_acquire), *table = NULL;
    levada_registry *registry = levada_alloc_zero(sizeof(*registry));

    if (registry == NULL) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory");
    levada_status status = registry_extend_all(now, ops, n, &table, err);
    if (status != LEVADA_OK) {
        levada_free(registry);
        return status;
    }
    table->older = NULL;
    registry->lent = true;
    atomic_init(&registry->table, table);
    *out = registry;
    return LEVADA_OK;
}

const levada_op *levada_registry_find(const levada_env *env, const char *name)
{
    return registry_find(registry_now(env), REGISTRY_DESCRIPTIONS, name);
}

static const levada_op *registry_at(const levada_env *env, int part, int32_t i)
{
    const registry_table *table = registry_now(env);

    return table != NULL && i >= 0 && i < table->n[part] ? table->ops[part][i] : NULL;
}

const levada_op *levada_registry_at(const levada_env *env, int32_t i)
{
    return registry_at(env, REGISTRY_DESCRIPTIONS, i);
}

/* Finds a stage by the first `size` bytes of a name, in any case. */
static const levada_op *registry_find_any_case(const levada_env *env, int part, const char *name,
                                               size_t size)
{
    char lower[48] = "";

    if (size >= sizeof(lower)) return NULL;
    for (size_t i = 0; i < size; i++) {
        lower[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    }
    return registry_find(registry_now(env), part, lower);
}

const levada_filter_def *levada_registry_filter(const levada_env *env, const char *name)
{
    const levada_op *op = registry_find_any_case(env, REGISTRY_FILTERS, name, strlen(name));

    return op != NULL ? &op->def.filter : NULL;
}

const levada_opener_def *levada_registry_opener(const levada_env *env, const char *name,
                                                size_t size)
{
    const levada_op *op = registry_find_any_case(env, REGISTRY_OPENERS, name, size);

    return op != NULL ? &op->def.opener : NULL;
}

levada_status levada_compression_check(const levada_env *env, const char *compression,
                                       levada_error *err)
{
    if (!compression || *compression == '\0' || strcasecmp(compression, "auto") == 0 ||
        strcasecmp(compression, "none") == 0 || levada_registry_filter(env, compression)) {
        return LEVADA_OK;
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "compression='%s' must be auto, none, gzip, zlib, zstd or the name of a "
                       "loaded filter",
                       compression);
}

const levada_filter_def *levada_registry_filter_at(const levada_env *env, int32_t i)
{
    const levada_op *op = registry_at(env, REGISTRY_FILTERS, i);

    return op != NULL ? &op->def.filter : NULL;
}

const levada_filter_def *levada_registry_probe(const levada_env *env, const uint8_t *data,
                                               size_t size)
{
    const registry_table    *table = registry_now(env);
    const levada_filter_def *best = NULL;
    int32_t                  most = 0;

    for (int32_t i = 0; table != NULL && i < table->n[REGISTRY_FILTERS]; i++) {
        const levada_filter_def *def = &table->ops[REGISTRY_FILTERS][i]->def.filter;
        int32_t                  bits = def->probe(data, size);
        if (bits > most) {
            most = bits;
            best = def;
        }
    }
    return best;
}

levada_status levada_registry_unknown(const levada_env *env, const char *name, const char *where,
                                      levada_error *err)
{
    const registry_table *table = registry_now(env);
    const char           *best = NULL;
    size_t                distance = SIZE_MAX;

    for (int32_t i = 0; table != NULL && i < table->n[REGISTRY_DESCRIPTIONS]; i++) {
        levada_nearest(name, table->ops[REGISTRY_DESCRIPTIONS][i]->name, &best, &distance);
    }
    if (best != NULL) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "unknown stage '%.48s'%s; did you mean "
                           "'%s'?", name, where, best);
    }
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "unknown stage '%.48s'%s; if it belongs to a plug-in, load its library "
                       "first",
                       name, where);
}
