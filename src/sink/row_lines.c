/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text: the bytes of the only column. A record with a newline would be read as two. */
#include "sink/row_text.h"

#include "tensor/tensor_priv.h"

#include <string.h>

static levada_status lines_check(const levada_spec *spec, levada_error *err)
{
    const levada_field *field = levada_spec_field(spec, 0);
    char                shown[LEVADA_FIELD_SHOWN];

    if (levada_spec_count(spec) == 1 && levada_dtype_is_bytes(field->dtype) && field->depth == 0 &&
        field->ndim == 0)
        return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "text_lines: the input must have one column, a string of each record, got "
                       "%d columns, the first '%s' of %s; use select",
                       levada_spec_count(spec), field ? field->name : "",
                       field ? levada_field_shown(field, shown) : "");
}

static levada_status lines_row(levada_row_writer *w, const levada_block *block, int64_t row,
                               levada_text *out, levada_error *err)
{
    size_t      size;
    const char *text = levada_row_string(levada_block_at(block, 0), row, &size);

    (void)w;
    if (memchr(text, '\n', size) || (size > 0 && text[size - 1] == '\r'))
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "text_lines: the text contains a newline; write jsonl or tfrecord");
    levada_text_add(out, text, size);
    levada_text_char(out, '\n');
    return LEVADA_OK;
}

const levada_row_format levada_row_lines = {
    .name = "text_lines",
    .check = lines_check,
    .row = lines_row,
};
