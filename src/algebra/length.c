/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of records (batches) of a dataset, as far as it follows from the traits of its stages.
 */
#include "base/assert.h"
#include "description/dataset_priv.h"
#include <levada/divide.h>
#include <levada/inspect.h>

/* Sets the length of a source, -1 if it is unknown before the records are read. */
static levada_status length_of_source(const levada_dataset *ds, int64_t *out, levada_error *err)
{
    const levada_value *index = levada_value_get(ds->options, "index");
    bool format = ds->op->family == LEVADA_FAMILY_FORMAT;

    *out = -1;
    if (levada_op_numbered(ds->op) || (format && levada_value_as_bool(index))) {
        return levada_inspect_count(ds, out, err);
    }
    if (!format && ds->op->def.source.count) *out = ds->op->def.source.count(ds->args);
    return LEVADA_OK;
}

/* Returns the sum, or the least, of the inputs. */
static levada_status length_of_inputs(const levada_dataset *ds, bool sum, int64_t *out,
                                      levada_error *err)
{
    int64_t all = -1;

    for (int32_t i = 0; i < ds->ninputs; i++) {
        int64_t n = -1;

        LEVADA_TRY(levada_dataset_length(ds->inputs[i], &n, err));
        if (n < 0 || (sum && all > INT64_MAX - n)) {
            *out = -1;
            return LEVADA_OK;
        }
        if (all < 0) all = n;
        else if (sum) all += n;
        else if (n < all) all = n;
    }
    *out = all;
    return LEVADA_OK;
}

levada_status levada_dataset_length(const levada_dataset *dataset, int64_t *records,
                                    levada_error *err)
{
    LEVADA_TRY(levada_require(dataset != NULL, "dataset", err));
    LEVADA_TRY(levada_require(records != NULL, "records", err));
    levada_rows rows = dataset->op->traits.rows;
    bool        combines = dataset->op->family == LEVADA_FAMILY_COMBINER;
    int64_t     n = -1;

    if (dataset->ninputs == 0) return length_of_source(dataset, records, err);
    LEVADA_TRY(length_of_inputs(dataset, rows == LEVADA_ROWS_PERMUTES, &n, err));
    if (n >= 0 && combines) {
        bool known = rows == LEVADA_ROWS_PERMUTES || rows == LEVADA_ROWS_ONE_TO_ONE;

        n = known ? n : -1;
    } else if (n >= 0) {
        n = levada_traits_count(dataset, n);
    }
    *records = n;
    return LEVADA_OK;
}
