/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign indexes: files of other libraries that say where records are (levada/source.h,
 * `foreign`). Each becomes pages as those of an index of levada (files/index.h), in memory, so that
 * everything reads records in the same way.
 */
#ifndef LEVADA_FILES_INDEX_FOREIGN_H
#define LEVADA_FILES_INDEX_FOREIGN_H

#include "files/index.h"

/* The pages of an index. All zero is empty. */
typedef struct levada_index_image {
    uint8_t *at;
    int64_t  size, capacity;
} levada_index_image;

/* Makes the image of the foreign index of the data file `path`. ENOT_FOUND: it has none.
 * EUNIMPLEMENTED: the data file is compressed. Takes 12 bytes for each record, 16 with lengths. */
LEVADA_MUST_USE levada_status levada_index_foreign(levada_env *env, const levada_op *op,
                                                   const void *args, const char *path,
                                                   levada_index_image *out, levada_error *err);

#endif
