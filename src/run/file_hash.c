/* SPDX-License-Identifier: Apache-2.0 */
#include "run/file_hash.h"

#include "base/hash.h"
#include "base/text.h"

#include <string.h>

static levada_status file_hash_name(levada_run *run, const levada_origin *of, uint64_t *out,
                                    levada_error *err)
{
    char       *path = NULL;
    const char *name;

    LEVADA_TRY(levada_run_origin_file(run, of, &path, err));
    name = path ? levada_base_name(path) : NULL;
    *out = name ? levada_hash64(name, strlen(name), 0) : 0;
    levada_string_free(&path);
    return LEVADA_OK;
}

levada_status levada_file_hash_of(levada_file_hashes *known, levada_run *run,
                                  const levada_origin *of, uint64_t *out, levada_error *err)
{
    uint32_t at = (uint32_t)of->shard + (uint32_t)of->pass * 7 + (uint32_t)of->source * 31;
    levada_file_hash *f = &known->files[at % LEVADA_FILE_HASHES];

    if (!f->known || f->of.shard != of->shard || f->of.pass != of->pass ||
        f->of.source != of->source) {
        f->known = false;
        LEVADA_TRY(file_hash_name(run, of, &f->hash, err));
        f->of = *of;
        f->known = true;
    }
    *out = f->hash;
    return LEVADA_OK;
}
