/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays in the format of NumPy (.npy, versions 1 to 3), for decode_npy and npy_info. The header is
 * a dict of Python with the keys descr, fortran_order and shape; exactly that is read. Structured
 * dtypes, objects, strings and dates are refused. Pure, any thread.
 */
#ifndef LEVADA_DECODE_NPY_H
#define LEVADA_DECODE_NPY_H

#include <levada/decoder.h>

typedef struct levada_npy {
    levada_dtype   dtype;
    bool           big_endian, fortran; /* fortran: the first dimension varies fastest */
    int32_t        ndim;
    int64_t        dims[LEVADA_MAX_DIMS];
    int64_t        count;  /* of values */
    const uint8_t *values; /* in the string; count values, which are there */
} levada_npy;

/* Reads an array. Returns EINVALID_ARGUMENT if it is not an array of numbers, and EDATA_LOSS if it
 * is damaged, or not as long as it says. */
LEVADA_MUST_USE levada_status levada_npy_read(const uint8_t *data, int32_t size, levada_npy *out,
                                              levada_error *why);

#endif
