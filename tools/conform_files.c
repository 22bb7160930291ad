/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: files that examples read.
 */
#include "conform.h"
#include <levada/output.h>

#include <string.h>
#include <unistd.h>

levada_status levada_conform_write_files(const levada_example_file *files, levada_error *err)
{
    for (; files && files->name; files++) {
        if (strchr(files->name, '/')) {
            return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                               "the example file '%s' must not contain a directory", files->name);
        }
        LEVADA_TRY(levada_output_save(files->name, files->bytes, files->size, err));
    }
    return LEVADA_OK;
}

void levada_conform_drop_files(const levada_example_file *files)
{
    for (; files && files->name; files++) {
        if (!strchr(files->name, '/')) (void)unlink(files->name);
    }
}
