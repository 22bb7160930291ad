/* SPDX-License-Identifier: Apache-2.0 */
/* npy_info - dtype and shape of arrays of NumPy (.npy), from their headers. */
#include "decode/npy.h"

#include <levada/builder.h>
#include <string.h>

static levada_status npy_info_check(const void *args, levada_spec **out, levada_error *err)
{
    static const levada_field fields[] = {
        { .name = "dtype", .dtype = LEVADA_BYTES },
        { .name = "shape", .dtype = LEVADA_INT64, .depth = 1 },
    };

    (void)args;
    return levada_spec_create(fields, 2, LEVADA_SPEC_PLAIN, out, err);
}

static levada_status npy_info_decode(void *state, const void *args, const levada_strings *in,
                                     levada_builder *out, levada_error *err)
{
    (void)state, (void)args;
    for (int64_t i = 0; i < in->n; i++) {
        levada_error why = LEVADA_ERROR_INIT;
        levada_npy   a;
        const char  *name;

        if (levada_npy_read(in->data[i], in->size[i], &a, &why) != LEVADA_OK) {
            a = (levada_npy){ 0 };
            LEVADA_TRY(levada_builder_reject(out, i, &why, err));
        }
        name = a.dtype == LEVADA_NONE ? "" : levada_dtype_name(a.dtype);
        LEVADA_TRY(levada_builder_push_bytes(out, 0, name, (int64_t)strlen(name), err));
        for (int32_t d = 0; d < a.ndim; d++)
            LEVADA_TRY(levada_builder_push_i64(out, 1, a.dims[d], err));
        LEVADA_TRY(levada_builder_end_row(out, 1, err));
    }
    return LEVADA_OK;
}

static const levada_example_file npy_info_files[] = {
    { "numbers.npy",
      "\x93NUMPY\1\0\x37\0"
      "{'descr': '<i2', 'fortran_order': False, 'shape': (3,)}\1\0\2\0\3\0",
      71 },
    { NULL, NULL, 0 }
};

const levada_decoder_def levada_decoder_npy_info = {
    .struct_size = sizeof(levada_decoder_def),
    .name = "npy_info",
    .doc = "reads only the dtype and shape of NumPy arrays (.npy)",
    .example = "fixed_length:numbers.npy,record_bytes=71 | npy_info",
    .example_files = npy_info_files,
    .field = "record",
    .check = npy_info_check,
    .decode = npy_info_decode,
};
