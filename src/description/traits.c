/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traits of a stage with its options, and what follows from them. No other code asks which
 * stage it is.
 */
#include "base/assert.h"
#include "base/versioned.h"
#include "description/dataset_priv.h"

static void traits_add_order(levada_traits *t, const levada_dataset *ds)
{
    const levada_number_args *numbers = levada_op_numbers(ds->op, ds->args);
    const levada_file_args   *files = (const void *)((const char *)ds->args + ds->op->core_offset);
    bool of_files = ds->op->family == LEVADA_FAMILY_FORMAT && files->shuffle_files;

    if (!of_files && !(numbers && numbers->shuffle_records)) return;
    t->random = LEVADA_RANDOM_BY_PASS;
    t->drawn = of_files ? "order of files" : "order of records";
}

static void traits_imply(levada_traits *t)
{
    t->struct_size = sizeof *t;
    t->divides = t->divides || (t->reads == LEVADA_READS_COLUMNS && t->rows != LEVADA_ROWS_BATCHES);
    t->keeps_lengths = t->keeps_lengths || levada_traits_unchanged(t);
}

levada_traits levada_traits_of(const levada_dataset *ds)
{
    levada_traits t = ds->op->traits;

    if (t.vary) t.vary(ds->args, &t);
    traits_add_order(&t, ds);
    traits_imply(&t);
    return t;
}

bool levada_traits_unchanged(const levada_traits *t)
{
    if (t->rows == LEVADA_ROWS_ONE_TO_ONE) return t->reads == LEVADA_READS_NONE;
    return t->rows == LEVADA_ROWS_SUBSET || t->rows == LEVADA_ROWS_PERMUTES;
}

bool levada_traits_order(const levada_traits *t) { return t->random >= LEVADA_RANDOM_BY_SEED; }

int64_t levada_traits_count(const levada_dataset *ds, int64_t n)
{
    const levada_traits t = levada_traits_of(ds);

    if (t.count) return t.count(ds->args, n);
    return t.rows == LEVADA_ROWS_ONE_TO_ONE || t.rows == LEVADA_ROWS_PERMUTES ? n : -1;
}

levada_status levada_dataset_traits(const levada_dataset *dataset, levada_traits *out,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    const levada_traits all = levada_traits_of(dataset);

    LEVADA_TRY(levada_versioned_check(out, sizeof all, "levada_traits", err));
    levada_versioned_write(out, &all, sizeof all);
    return LEVADA_OK;
}

void levada_traits_print(levada_text *text, const levada_op *op)
{
    static const char *const rows[] = { "many", "one_to_one", "subset", "permutes", "batches",
                                        "unbatches" };
    static const char *const reads[] = { "all", "columns", "none" };
    levada_traits            t = op->traits;

    traits_imply(&t);
    levada_text_format(text, "\"rows\":\"%s\",\"reads\":\"%s\"", rows[t.rows], reads[t.reads]);
    if (t.random) levada_text_put(text, ",\"random\":true");
    if (t.divides) levada_text_put(text, ",\"divides\":true");
    if (t.keeps_lengths) levada_text_put(text, ",\"keeps_lengths\":true");
    if (t.never_rejects) levada_text_put(text, ",\"never_rejects\":true");
    if (t.side_effects) levada_text_put(text, ",\"side_effects\":true");
    if (t.shards) levada_text_put(text, ",\"shards\":true");
}
