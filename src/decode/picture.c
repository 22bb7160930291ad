/* SPDX-License-Identifier: Apache-2.0 */
#include "decode/picture.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/random.h"
#include "tensor/block_priv.h"

#include <string.h>

#define PICTURE_MOST_BYTES ((int64_t)1 << 30) /* of the pixels of a block */

enum { PICTURE_BILINEAR, PICTURE_NEAREST }; /* the choices of `method` */

/* One image of a block. */
typedef struct picture_row {
    levada_picture        picture;
    int32_t               orientation;
    levada_picture_window window;        /* of the image that is turned */
    int32_t               height, width; /* of the result */
    int64_t               at; /* of its first byte */
    bool                  bad;
} picture_row;

/* -- options */

static levada_status picture_random_crop(levada_ints size, levada_picture_options *o,
                                         levada_error *err)
{
    if (size.n != 2 || size.at[0] > INT32_MAX || size.at[1] > INT32_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "random_crop must be [height, width], got %lld numbers",
                           (long long)size.n);
    }
    o->crops = o->draws = true;
    o->crop = (levada_picture_window){ 0, 0, (int32_t)size.at[0], (int32_t)size.at[1] };
    return LEVADA_OK;
}

void levada_picture_vary(const void *args, levada_traits *traits)
{
    const levada_picture_args *a = args;

    if (a->random_crop.n > 0 || a->random_resized_crop.n > 0)
        traits->random = LEVADA_RANDOM_BY_RECORD;
}

static levada_resize_method picture_method(const levada_picture_args *a)
{
    if (a->method == PICTURE_NEAREST) return LEVADA_RESIZE_NEAREST;
    return a->antialias ? LEVADA_RESIZE_ANTIALIAS : LEVADA_RESIZE_BILINEAR;
}

static levada_status picture_resized_crop(const levada_picture_args *a, levada_picture_options *o,
                                          levada_error *err)
{
    levada_ints size = a->random_resized_crop;

    if (size.n == 0) return LEVADA_OK;
    if (size.n > 2) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "random_resized_crop must be [height, width] or one number, got %lld "
                           "numbers", (long long)size.n);
    }
    if (o->crops) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "random_resized_crop cannot be combined with crop or random_crop");
    }
    if (o->dtype != LEVADA_UINT8 && a->method != PICTURE_NEAREST) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "random_resized_crop of dtype=%s needs method=nearest, or dtype=uint8",
                           levada_dtype_name(o->dtype));
    }
    o->crops = o->resizes = true;
    o->crop = (levada_picture_window){ 0, 0, (int32_t)size.at[0], (int32_t)size.at[size.n - 1] };
    o->to = (levada_resize_to){
        .dtype = o->dtype,
        .height = size.at[0],
        .width = size.at[size.n - 1],
        .channels = o->channels,
        .method = picture_method(a),
    };
    o->seed = a->seed;
    return levada_crop_rule_of(a->crop_scale, "crop_scale", a->crop_ratio, "crop_ratio", &o->rule,
                               err);
}

static levada_status picture_crop(levada_ints crop, levada_ints drawn, levada_picture_options *o,
                                  levada_error *err)
{
    const int64_t *at = crop.at;

    if (crop.n > 0 && drawn.n > 0)
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "crop and random_crop cannot be combined");
    if (drawn.n > 0) return picture_random_crop(drawn, o, err);
    o->crops = crop.n > 0;
    if (crop.n == 0) return LEVADA_OK;
    if (crop.n != 4) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "crop must be [y, x, height, width], got %lld numbers",
                           (long long)crop.n);
    }
    if (at[0] < 0 || at[1] < 0 || at[2] < 1 || at[3] < 1 || at[0] + at[2] > INT32_MAX ||
        at[1] + at[3] > INT32_MAX || at[0] > INT32_MAX || at[1] > INT32_MAX) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "crop=[%lld,%lld,%lld,%lld] must be [y, x, height, width] with y and "
                           "x of "
                           "at least 0, and height and width of at least 1",
                           (long long)at[0], (long long)at[1], (long long)at[2],
                           (long long)at[3]);
    }
    o->crop = (levada_picture_window){ (int32_t)at[0], (int32_t)at[1], (int32_t)at[2],
                                       (int32_t)at[3] };
    return LEVADA_OK;
}

levada_status levada_picture_options_of(const levada_picture_args *a, levada_dtype dtype,
                                        levada_picture_options *o, levada_error *err)
{
    *o = (levada_picture_options){
        .dtype = dtype,
        .channels = (int32_t)a->channels,
        .max_pixels = a->max_pixels,
        .ratio = (int32_t)a->ratio,
        .fancy = a->fancy_upscaling,
        .fast = a->dct_method == 1,
        .recovers = a->try_recover_truncated,
        .acceptable = a->acceptable_fraction,
        .orients = a->orient,
    };
    if (a->ratio != 1 && a->ratio != 2 && a->ratio != 4 && a->ratio != 8) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "ratio must be 1, 2, 4, or 8, got %lld",
                           (long long)a->ratio);
    }
    LEVADA_TRY(picture_crop(a->crop, a->random_crop, o, err));
    return picture_resized_crop(a, o, err);
}

levada_status levada_picture_open(void *state, const void *args, const levada_context *context,
                                  levada_error *err)
{
    (void)args, (void)err;
    ((levada_picture_tools *)state)->context = context;
    return LEVADA_OK;
}

static int64_t picture_pixel_bytes(const levada_picture_options *o)
{
    return o->channels * levada_dtype_size(o->dtype);
}

levada_status levada_picture_spec(const levada_picture_options *o, levada_spec **out,
                                  levada_error *err)
{
    levada_field field = { .name = "image", .dtype = o->dtype };

    if (o->crops && (int64_t)o->crop.height * o->crop.width > o->max_pixels) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "crop has %d x %d pixels, more than max_pixels=%lld; raise max_pixels",
                           (int)o->crop.height, (int)o->crop.width, (long long)o->max_pixels);
    }
    if (o->crops) field.dims[field.ndim++] = o->crop.height;
    if (o->crops) field.dims[field.ndim++] = o->crop.width;
    else field.depth = 2;
    field.dims[field.ndim++] = o->channels;
    return levada_spec_create(&field, 1, LEVADA_SPEC_PLAIN, out, err);
}

/* -- sizes */

/* Returns the key of the random numbers of a record. Windows that a rule draws follow from its
 * origin alone, as in the stage random_resized_crop; others, and those without an origin, from its
 * bytes, too. */
static uint64_t picture_key(const levada_picture_options *o, const levada_picture_tools *tools,
                            const levada_strings *in, int64_t i)
{
    size_t   size = (size_t)in->size[i];
    uint64_t key = levada_draw_key(tools->context, o->resizes ? o->seed : LEVADA_NULL_INT);

    if (!o->resizes || !in->block)
        key = levada_hash64(in->data[i], size < 1024 ? size : 1024, key + size);
    return in->block ? levada_block_row_key(in->block, i, key) : key;
}

static void picture_draw(picture_row *row, uint64_t key, int32_t height, int32_t width)
{
    uint64_t rows = (uint64_t)(height - row->window.height) + 1;
    uint64_t columns = (uint64_t)(width - row->window.width) + 1;

    row->window.y = (int32_t)levada_random_below(levada_random_at(key, 0), rows);
    row->window.x = (int32_t)levada_random_below(levada_random_at(key, 1), columns);
}

static void picture_draw_resized(const levada_picture_options *o, picture_row *row, uint64_t key)
{
    levada_image w = { 0 };

    levada_crop_draw(&o->rule, key, row->window.height, row->window.width, &w);
    row->window = (levada_picture_window){ (int32_t)w.y, (int32_t)w.x, (int32_t)w.height,
                                           (int32_t)w.width };
}

/* Sets the window to the whole image, scaled and turned. */
static void picture_whole(const levada_picture_options *o, picture_row *row)
{
    const levada_picture *p = &row->picture;
    int32_t ratio = p->kind == LEVADA_PICTURE_JPEG ? o->ratio : 1;
    int32_t height = (p->height - 1) / ratio + 1, width = (p->width - 1) / ratio + 1;

    row->window = (levada_picture_window){ 0, 0, height, width };
    if (levada_picture_swaps(row->orientation))
        row->window = (levada_picture_window){ 0, 0, width, height };
}

/* Places the window; `key` is that of random windows. */
static levada_status picture_place(const levada_picture_options *o, uint64_t key, picture_row *row,
                                   levada_error *why)
{
    const levada_picture *p = &row->picture;
    int32_t height, width;
    int64_t pixels = (int64_t)p->height * p->width, most = o->max_pixels;

    if (most > PICTURE_MOST_BYTES / picture_pixel_bytes(o)) {
        most = PICTURE_MOST_BYTES / picture_pixel_bytes(o);
    }
    if (pixels > most) {
        return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED,
                           "%d x %d pixels are more than max_pixels=%lld; raise max_pixels",
                           p->height, p->width, (long long)most);
    }
    picture_whole(o, row);
    height = row->height = row->window.height;
    width = row->width = row->window.width;
    if (!o->crops) return LEVADA_OK;
    row->height = o->crop.height;
    row->width = o->crop.width;
    if (o->resizes) picture_draw_resized(o, row, key);
    if (o->resizes) return LEVADA_OK;
    row->window = o->crop;
    if (o->crop.y + o->crop.height <= height && o->crop.x + o->crop.width <= width) {
        if (o->draws) picture_draw(row, key, height, width);
        return LEVADA_OK;
    }
    if (o->draws) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "random_crop=[%d,%d] does not fit into an image of %d x %d pixels",
                           o->crop.height, o->crop.width, height, width);
    }
    return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                       "crop=[%d,%d,%d,%d] does not fit into an image of %d x %d pixels",
                       o->crop.y, o->crop.x, o->crop.height, o->crop.width, height, width);
}

static int64_t picture_bytes(const levada_picture_options *o, const picture_row *row)
{
    return (int64_t)row->height * row->width * picture_pixel_bytes(o);
}

/* Refuses images that libjpeg-turbo was not built for, because the library would call them damaged.
 * */
static levada_status picture_support(const levada_picture *p, levada_error *why)
{
    if (p->kind != LEVADA_PICTURE_JPEG || p->bits == 8) return LEVADA_OK;
    return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                       "JPEG of %d bits is not supported: convert it to 8 bits, or to PNG of 16",
                       p->bits);
}

static levada_status picture_look(const levada_picture_options *o, const uint8_t *data,
                                  int32_t size, uint64_t key, picture_row *row, levada_error *why)
{
    LEVADA_TRY(levada_picture_probe(data, size, &row->picture, why));
    LEVADA_TRY(picture_support(&row->picture, why));
    row->orientation = 1;
    if (o->orients) row->orientation = levada_picture_orientation(row->picture.kind, data, size);
    return picture_place(o, key, row, why);
}

int64_t levada_picture_measure(const levada_picture_options *o, const uint8_t *data, int32_t size)
{
    picture_row row = { 0 };

    return picture_look(o, data, size, 0, &row, NULL) == LEVADA_OK ? picture_bytes(o, &row) : 0;
}

/* -- a block */

/* Sizes of all images; those that have none are rejected. */
static levada_status picture_look_all(const levada_picture_options *o,
                                      const levada_picture_tools *tools, const levada_strings *in,
                                      picture_row *rows, int64_t *total, levada_builder *out,
                                      levada_error *err)
{
    *total = 0;
    for (int64_t i = 0; i < in->n; i++) {
        levada_error why = LEVADA_ERROR_INIT;
        uint64_t     key = o->draws || o->resizes ? picture_key(o, tools, in, i) : 0;

        rows[i].at = *total;
        rows[i].bad = picture_look(o, in->data[i], in->size[i], key, &rows[i], &why) != LEVADA_OK;
        if (rows[i].bad) LEVADA_TRY(levada_builder_reject(out, i, &why, err));
        if (rows[i].bad) rows[i].height = rows[i].width = 0;
        if (rows[i].bad && o->crops) { /* its row is there all the same */
            rows[i].height = o->crop.height;
            rows[i].width = o->crop.width;
        }
        *total += picture_bytes(o, &rows[i]);
        if (*total <= PICTURE_MOST_BYTES) continue;
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "more than 1 GiB of pixels in one block; lower block_rows");
    }
    return LEVADA_OK;
}

/* Sets the rows of pixels of each image, and the pixels of each row. */
static levada_status picture_shape(const levada_picture_options *o, const picture_row *rows,
                                   int64_t n, levada_builder *out, levada_error *err)
{
    int32_t *heights = NULL, *widths = NULL, lines = 0, pixels = 0;

    if (o->crops) return LEVADA_OK;
    LEVADA_TRY(levada_builder_offsets(out, 0, 0, n, &heights, err));
    heights[0] = 0;
    for (int64_t i = 0; i < n; i++) heights[i + 1] = lines += rows[i].height;
    LEVADA_TRY(levada_builder_offsets(out, 0, 1, lines, &widths, err));
    *widths++ = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int32_t y = 0; y < rows[i].height; y++) {
            *widths++ = pixels += rows[i].width;
        }
    }
    return LEVADA_OK;
}

/* Decodes a window of the stored image. */
static levada_status picture_window(const levada_picture_options *o, levada_picture_tools *tools,
                                    const uint8_t *data, int32_t size, const picture_row *row,
                                    const levada_picture_window *window, uint8_t *pixels,
                                    levada_error *why)
{
    if (row->picture.kind == LEVADA_PICTURE_PNG) {
        return levada_png_decode(o, data, size, &row->picture, window, pixels, why);
    }
    if (o->dtype != LEVADA_UINT8) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "JPEG must be decoded with dtype=uint8, got %s",
                           levada_dtype_name(o->dtype));
    }
    if (o->channels != 1 && o->channels != 3) {
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "JPEG must have channels=1 or 3, got %d", o->channels);
    }
    return levada_jpeg_decode(&tools->jpeg, o, data, size, &row->picture, window, pixels, why);
}

/* Resizes the pixels of a window. */
static levada_status picture_resize(const levada_picture_options *o, levada_picture_tools *tools,
                                    const picture_row *row, const uint8_t *window, uint8_t *pixels,
                                    levada_error *why)
{
    const levada_image image = {
        .values = window,
        .stride = row->window.width,
        .height = row->window.height,
        .width = row->window.width,
        .pixel_bytes = picture_pixel_bytes(o),
    };

    return levada_resize(&tools->resizer, &image, &o->to, pixels, why);
}

/* Decodes the window as it is stored; then it is turned, and resized. */
static levada_status picture_one(const levada_picture_options *o, levada_picture_tools *tools,
                                 const uint8_t *data, int32_t size, const picture_row *row,
                                 uint8_t *pixels, levada_error *why)
{
    levada_picture_window whole, stored;
    int64_t     bytes = picture_pixel_bytes(o) * row->window.height * row->window.width;
    bool        turns = row->orientation > 1, direct = !turns && !o->resizes;
    picture_row as_stored = *row;
    uint8_t    *at = pixels;

    as_stored.orientation = 1;
    picture_whole(o, &as_stored);
    whole = as_stored.window;
    stored = levada_picture_stored(row->orientation, row->window, whole.height, whole.width);
    if (!direct && !levada_reserve(&tools->scratch, &tools->capacity, bytes * 2, 1))
        return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an image");
    if (!direct) at = tools->scratch;
    LEVADA_TRY(picture_window(o, tools, data, size, row, &stored, at, why));
    if (turns) {
        uint8_t *to = o->resizes ? at + bytes : pixels;

        levada_picture_turn(row->orientation, at, stored.height, stored.width,
                            picture_pixel_bytes(o), to);
        at = to;
    }
    return o->resizes ? picture_resize(o, tools, row, at, pixels, why) : LEVADA_OK;
}

/* Returns true if a library or memory is missing, so that nothing is wrong with the record. */
static bool picture_is_ours(levada_status st)
{
    return st == LEVADA_EUNIMPLEMENTED || st == LEVADA_ERESOURCE_EXHAUSTED;
}

static levada_status picture_fill(const levada_picture_options *o, levada_picture_tools *tools,
                                  const levada_strings *in, const picture_row *rows,
                                  uint8_t *values, levada_builder *out, levada_error *err)
{
    for (int64_t i = 0; i < in->n; i++) {
        levada_error  why = LEVADA_ERROR_INIT;
        uint8_t      *at = values + rows[i].at;
        levada_status st = LEVADA_OK;

        if (!rows[i].bad)
            st = picture_one(o, tools, in->data[i], in->size[i], &rows[i], at, &why);
        if (st == LEVADA_OK && !rows[i].bad) continue;
        if (picture_is_ours(st)) {
            if (err) *err = why;
            return st;
        }
        memset(at, 0, (size_t)picture_bytes(o, &rows[i]));
        if (st != LEVADA_OK) LEVADA_TRY(levada_builder_reject(out, i, &why, err));
    }
    return LEVADA_OK;
}

levada_status levada_picture_decode(const levada_picture_options *o, levada_picture_tools *tools,
                                    const levada_strings *in, levada_builder *out,
                                    levada_error *err)
{
    picture_row  *rows = levada_alloc_zero((size_t)in->n * sizeof *rows + 1);
    int64_t       total = 0;
    void         *values = NULL;
    levada_status st;

    if (!rows) return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for images");
    st = picture_look_all(o, tools, in, rows, &total, out, err);
    if (st == LEVADA_OK) st = picture_shape(o, rows, in->n, out, err);
    if (st == LEVADA_OK) {
        st = levada_builder_values(out, 0, total / levada_dtype_size(o->dtype), &values, err);
    }
    if (st == LEVADA_OK) st = picture_fill(o, tools, in, rows, values, out, err);
    levada_free(rows);
    return st;
}

void levada_picture_close(levada_picture_tools *tools)
{
    levada_jpeg_close(&tools->jpeg);
    levada_resizer_clear(&tools->resizer);
    levada_free(tools->scratch);
    tools->scratch = NULL;
}
