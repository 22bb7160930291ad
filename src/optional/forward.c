/* SPDX-License-Identifier: Apache-2.0 */
#include "optional/functions.h"

#include <levada/version.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static _Atomic(const levada_optional_table *) forward_table;

/* Finds the path of the shared object: beside the file that this function is in. */
static bool forward_path(char *path, size_t size)
{
    Dl_info     own;
    const char *slash;
    int         used;

    if (dladdr(&forward_table, &own) == 0 || own.dli_fname == NULL) return false;
    slash = strrchr(own.dli_fname, '/');
    used = snprintf(path, size, "%.*s" LEVADA_OPTIONAL_NAME,
                    slash != NULL ? (int)(slash + 1 - own.dli_fname) : 0, own.dli_fname);
    return used > 0 && (size_t)used < size;
}

static levada_status forward_open(levada_error *err)
{
    const levada_optional_table *table;
    char                         path[PATH_MAX];
    void                        *library;

    if (atomic_load(&forward_table) != NULL) return LEVADA_OK;
    if (!forward_path(path, sizeof path))
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "cannot find " LEVADA_OPTIONAL_NAME "; reinstall levada");
    /* Two threads may open it at the same time: they receive the same library. */
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return levada_fail(err, LEVADA_EUNIMPLEMENTED, "cannot open the optional libraries: %s",
                           dlerror());
    table = dlsym(library, "levada_optional");
    if (table == NULL || strcmp(table->version, LEVADA_VERSION) != 0)
        return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                           "%s does not belong to levada " LEVADA_VERSION ": reinstall levada",
                           path);
    atomic_store(&forward_table, table);
    return LEVADA_OK;
}

/* Functions that may be called first */

levada_status levada_jpeg_decode(struct levada_jpeg **tool, const levada_picture_options *o,
                                 const uint8_t *data, int32_t size,
                                 const levada_picture *picture,
                                 const levada_picture_window *window, uint8_t *pixels,
                                 levada_error *why)
{
    LEVADA_TRY(forward_open(why));
    return forward_table->jpeg_decode(tool, o, data, size, picture, window, pixels, why);
}

levada_status levada_png_decode(const levada_picture_options *o, const uint8_t *data, int32_t size,
                                const levada_picture *picture,
                                const levada_picture_window *window, uint8_t *pixels,
                                levada_error *why)
{
    LEVADA_TRY(forward_open(why));
    return forward_table->png_decode(o, data, size, picture, window, pixels, why);
}

levada_status levada_flac_decode(levada_sound_tools *tools, const levada_sound_options *o,
                                 bool md5, const uint8_t *data, int32_t size, levada_sound *out,
                                 levada_error *why)
{
    LEVADA_TRY(forward_open(why));
    return forward_table->flac_decode(tools, o, md5, data, size, out, why);
}

/* Returns 0, because levada_resampler_run() fails if the library cannot be opened. */
int64_t levada_resampler_capacity(const levada_resampling *r, int64_t frames)
{
    levada_error why = LEVADA_ERROR_INIT;

    if (forward_open(&why) != LEVADA_OK) return frames;
    return forward_table->resampler_capacity(r, frames);
}

levada_status levada_resampler_run(const levada_resampling *r, const void *in, int64_t frames,
                                   void *out, int64_t capacity, int64_t *made, levada_error *err)
{
    LEVADA_TRY(forward_open(err));
    return forward_table->resampler_run(r, in, frames, out, capacity, made, err);
}

levada_status levada_fft_create(int64_t n, levada_fft **out, levada_error *err)
{
    *out = NULL;
    LEVADA_TRY(forward_open(err));
    return forward_table->fft_create(n, out, err);
}

levada_status levada_json_reader_create(levada_json_reader **out, levada_error *err)
{
    *out = NULL;
    LEVADA_TRY(forward_open(err));
    return forward_table->json_reader_create(out, err);
}

/* Functions that accept that nothing was created */

void levada_jpeg_close(struct levada_jpeg **tool)
{
    if (*tool != NULL) forward_table->jpeg_close(tool);
}

void levada_flac_close(struct levada_flac **tool)
{
    if (*tool != NULL) forward_table->flac_close(tool);
}

void levada_fft_destroy(levada_fft **fft)
{
    if (*fft != NULL) forward_table->fft_destroy(fft);
}

void levada_json_reader_destroy(levada_json_reader **reader)
{
    if (*reader != NULL) forward_table->json_reader_destroy(reader);
}

/* Functions of what was created */

void levada_fft_power(levada_fft *fft, const float *values, float *to)
{
    forward_table->fft_power(fft, values, to);
}

levada_status levada_json_reader_reserve(levada_json_reader *reader, size_t size,
                                         levada_error *err)
{
    return forward_table->json_reader_reserve(reader, size, err);
}

const char *levada_json_reader_parse(levada_json_reader *reader, const uint8_t *text, size_t size,
                                     levada_json_value *out)
{
    return forward_table->json_reader_parse(reader, text, size, out);
}

levada_json_kind levada_json_kind_of(levada_json_value value)
{
    return forward_table->json_kind_of(value);
}

bool levada_json_as_bool(levada_json_value value)
{
    return forward_table->json_as_bool(value);
}

int64_t levada_json_as_int(levada_json_value value)
{
    return forward_table->json_as_int(value);
}

uint64_t levada_json_as_big(levada_json_value value)
{
    return forward_table->json_as_big(value);
}

double levada_json_as_float(levada_json_value value)
{
    return forward_table->json_as_float(value);
}

const uint8_t *levada_json_as_text(levada_json_value value, size_t *size)
{
    return forward_table->json_as_text(value, size);
}

bool levada_json_find(levada_json_value map, const char *name, size_t size,
                      levada_json_value *out)
{
    return forward_table->json_find(map, name, size, out);
}

bool levada_json_each(levada_json_value list, bool (*see)(void *user, levada_json_value item),
                      void *user)
{
    return forward_table->json_each(list, see, user);
}

bool levada_json_each_member(levada_json_value map,
                             bool (*see)(void *user, const char *name, size_t size,
                                         levada_json_value item),
                             void *user)
{
    return forward_table->json_each_member(map, see, user);
}
