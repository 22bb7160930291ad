/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG through libpng, which leaves by longjmp on an error: what has to be freed is in a png_work,
 * outside of the function that it leaves.
 */
#include "decode/picture.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <string.h>

#include <png.h>

enum { PNG_MOST_CHUNK = 8 << 20 }; /* bytes of texts and profiles, inflated */

typedef struct png_work {
    png_structp    png;
    png_infop      info;
    const uint8_t *at, *end;
    uint8_t       *whole; /* scratch for windows */
    levada_error  *why;
} png_work;

/* -- what the library calls */

static void png_failed(png_structp png, png_const_charp text)
{
    png_work *w = png_get_error_ptr(png);

    if (w->why->code == LEVADA_OK) {
        (void)levada_fail(w->why, LEVADA_EDATA_LOSS, "damaged PNG data: %s", text);
    }
    png_longjmp(png, 1);
}

static void png_warned(png_structp png, png_const_charp text) { (void)png, (void)text; }

static png_voidp png_take(png_structp png, png_alloc_size_t size)
{
    void *memory = levada_alloc(size);

    if (!memory) {
        png_work *w = png_get_mem_ptr(png);

        (void)levada_fail(w->why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a PNG decoder");
    }
    return memory;
}

static void png_give(png_structp png, png_voidp memory)
{
    (void)png;
    levada_free(memory);
}

static void png_more(png_structp png, png_bytep to, size_t n)
{
    png_work *w = png_get_io_ptr(png);

    if ((size_t)(w->end - w->at) < n) png_error(png, "the data ends too early");
    memcpy(to, w->at, n);
    w->at += n;
}

/* -- one image */

/* Turns a row of RGB or RGBA, of 8 or 16 bits, into gray with the same alpha. libpng's conversion
 * has the weights of linear light, and depends on chunks of the file. */
static void png_gray(png_structp png, png_row_infop row, png_bytep data)
{
    size_t         size = row->bit_depth / 8, step = size * row->channels;
    const uint8_t *end = data + step * row->width;
    uint8_t       *to = data;

    (void)png;
    for (const uint8_t *at = data; at < end; at += step) {
        uint16_t c[4] = { at[0], at[1], at[2] };

        if (size == 2) memcpy(c, at, step);
        c[0] = (uint16_t)levada_picture_luma(c[0], c[1], c[2]);
        if (size == 1) *to = (uint8_t)c[0];
        else memcpy(to, c, 2);
        to += size;
        if (row->channels == 3) continue;
        memcpy(to, at + 3 * size, size);
        to += size;
    }
}

/* Chooses the conversions to the wanted pixels. Transparent colors always become an alpha channel,
 * because more than one conversion of libpng makes it. */
static void png_choose(png_structp png, png_infop info, const levada_picture_options *o)
{
    int  color = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
    bool colored = (color & PNG_COLOR_MASK_COLOR) != 0;
    bool transparent = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
    bool alpha = transparent || (color & PNG_COLOR_MASK_ALPHA) != 0;
    bool wants = o->channels % 2 == 0;

    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (!colored && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
    if (transparent) png_set_tRNS_to_alpha(png);
    if (o->dtype == LEVADA_UINT8 && depth == 16) png_set_strip_16(png);
    if (o->dtype == LEVADA_UINT16 && depth < 16) png_set_expand_16(png);
    if (o->dtype == LEVADA_UINT16) png_set_swap(png);
    if (alpha && !wants) png_set_strip_alpha(png);
    if (!alpha && wants) png_set_add_alpha(png, 0xffff, PNG_FILLER_AFTER);
    if (!colored && o->channels > 2) png_set_gray_to_rgb(png);
    if (colored && o->channels <= 2) {
        png_set_read_user_transform_fn(png, png_gray);
        png_set_user_transform_info(png, NULL, o->dtype == LEVADA_UINT8 ? 8 : 16, o->channels);
    }
}

static void png_rows(png_work *w, uint8_t *to, int32_t height, size_t stride)
{
    int passes = png_set_interlace_handling(w->png);

    png_read_update_info(w->png, w->info);
    if (png_get_rowbytes(w->png, w->info) != stride) png_error(w->png, "rows of another size");
    if (passes > 1) memset(to, 0, stride * (size_t)height);
    for (int pass = 0; pass < passes; pass++) {
        for (int32_t y = 0; y < height; y++) png_read_row(w->png, to + (size_t)y * stride, NULL);
    }
    png_read_end(w->png, NULL);
}

static levada_status png_run(png_work *w, const levada_picture_options *o,
                             const levada_picture *p, const levada_picture_window *window,
                             uint8_t *pixels)
{
    size_t pixel = (size_t)o->channels * (size_t)levada_dtype_size(o->dtype);
    size_t stride = (size_t)p->width * pixel, row = (size_t)window->width * pixel;
    bool   part = window->height != p->height || window->width != p->width;

    if (setjmp(png_jmpbuf(w->png))) return w->why->code;
    png_set_user_limits(w->png, (png_uint_32)p->width, (png_uint_32)p->height);
    png_set_chunk_malloc_max(w->png, PNG_MOST_CHUNK);
    png_set_read_fn(w->png, w, png_more);
    png_read_info(w->png, w->info);
    png_choose(w->png, w->info, o);
    if (!part) {
        png_rows(w, pixels, p->height, stride);
        return LEVADA_OK;
    }
    w->whole = levada_alloc(stride * (size_t)p->height);
    if (!w->whole) {
        return levada_fail(w->why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for an image");
    }
    png_rows(w, w->whole, p->height, stride);
    for (int32_t y = 0; y < window->height; y++) {
        memcpy(pixels + (size_t)y * row,
               w->whole + (size_t)(window->y + y) * stride + (size_t)window->x * pixel, row);
    }
    return LEVADA_OK;
}

levada_status levada_png_decode(const levada_picture_options *o, const uint8_t *data, int32_t size,
                                const levada_picture *picture,
                                const levada_picture_window *window, uint8_t *pixels,
                                levada_error *why)
{
    png_work      w = { .at = data, .end = data + size, .why = why };
    levada_status st;

    w.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &w, png_failed, png_warned, &w,
                                     png_take, png_give);
    if (w.png) w.info = png_create_info_struct(w.png);
    if (w.info) {
        st = png_run(&w, o, picture, window, pixels);
    } else {
        st = levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a PNG decoder");
    }
    png_destroy_read_struct(&w.png, &w.info, NULL);
    levada_free(w.whole);
    return st;
}
