/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG through libjpeg-turbo. The library leaves by longjmp on a fatal error: nothing here owns
 * memory that it does not know. Its warnings tell of damage, and are errors here unless the
 * options ask to recover.
 */
#include "decode/picture.h"

#include "base/alloc.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h> /* knows more after jpeglib.h */

enum {
    JPEG_ROWS = 16,    /* of one call */
    JPEG_MARGIN = 2,   /* columns around a window: one neighbor of its colors, two pixels wide */
    JPEG_SCANS = 100   /* a progressive image with more costs time without end */
};

struct levada_jpeg {
    struct jpeg_decompress_struct  c;
    struct jpeg_error_mgr          errors;
    struct jpeg_source_mgr         source;
    struct jpeg_progress_mgr       progress;
    jmp_buf                        back;
    levada_error                  *why;
    const levada_picture_options  *options;
    const levada_picture          *picture;
    const levada_picture_window   *window;
    uint8_t                       *pixels;
    int32_t                        done;    /* rows of the window */
    int32_t                        lost;    /* row at which the data ended, or -1 */
    bool                           damaged; /* a warning told of it */
    char                           text[JMSG_LENGTH_MAX];
    uint8_t                       *rows; /* scratch: JPEG_ROWS rows */
    int64_t                        capacity;
};

/* -- what the library calls */

static void jpeg_error_exit(j_common_ptr c)
{
    struct levada_jpeg *j = c->client_data;
    bool                memory = c->err->msg_code == JERR_OUT_OF_MEMORY;

    c->err->format_message(c, j->text);
    (void)levada_fail(j->why, memory ? LEVADA_ERESOURCE_EXHAUSTED : LEVADA_EDATA_LOSS,
                      "damaged JPEG data: %s", j->text);
    longjmp(j->back, 1);
}

/* Returns true if pixels are wrong after that warning. */
static bool jpeg_is_damage(int code)
{
    return code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC ||
           code == JWRN_ARITH_BAD_CODE || code == JWRN_JPEG_EOF;
}

static void jpeg_emit_message(j_common_ptr c, int level)
{
    struct levada_jpeg *j = c->client_data;

    if (level >= 0 || !jpeg_is_damage(c->err->msg_code) || j->damaged) return;
    j->damaged = true;
    c->err->format_message(c, j->text);
}

static void jpeg_monitor(j_common_ptr c)
{
    struct levada_jpeg *j = c->client_data;

    if (j->c.input_scan_number <= JPEG_SCANS) return;
    (void)levada_fail(j->why, LEVADA_EDATA_LOSS,
                      "a JPEG must have at most %d scans, got more; compress it again", JPEG_SCANS);
    longjmp(j->back, 1);
}

static void jpeg_init_source(j_decompress_ptr c) { (void)c; }

/* Ends the image when the data ended: the library continues as if the image did, too. */
static boolean jpeg_fill_input(j_decompress_ptr c)
{
    static const JOCTET end[2] = { 0xff, JPEG_EOI };
    struct levada_jpeg *j = c->client_data;

    if (j->lost < 0) j->lost = j->done;
    c->src->next_input_byte = end;
    c->src->bytes_in_buffer = 2;
    return TRUE;
}

static void jpeg_skip_input(j_decompress_ptr c, long n)
{
    if (n <= 0) return;
    if ((size_t)n > c->src->bytes_in_buffer) {
        (void)jpeg_fill_input(c);
        return;
    }
    c->src->next_input_byte += n;
    c->src->bytes_in_buffer -= (size_t)n;
}

/* -- one image */

static levada_status jpeg_create(struct levada_jpeg **tool, levada_error *why)
{
    struct levada_jpeg *j = levada_alloc_zero(sizeof *j);

    if (!j) return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a JPEG decoder");
    j->c.err = jpeg_std_error(&j->errors);
    j->errors.error_exit = jpeg_error_exit;
    j->errors.emit_message = jpeg_emit_message;
    j->c.client_data = j;
    j->source = (struct jpeg_source_mgr){ .init_source = jpeg_init_source,
                                          .fill_input_buffer = jpeg_fill_input,
                                          .skip_input_data = jpeg_skip_input,
                                          .resync_to_restart = jpeg_resync_to_restart,
                                          .term_source = jpeg_init_source };
    j->progress.progress_monitor = jpeg_monitor;
    *tool = j;
    return LEVADA_OK;
}

void levada_jpeg_close(struct levada_jpeg **tool)
{
    struct levada_jpeg *j = *tool;

    *tool = NULL;
    if (!j) return;
    levada_free(j->rows);
    levada_free(j);
}

/* Begins an image with an object of its own (0.1 us), because an object of the library keeps the
 * tables of an image and lends them to later images that lack their own. */
static void jpeg_begin(struct levada_jpeg *j, const uint8_t *data, int32_t size)
{
    jpeg_create_decompress(&j->c);
    j->c.src = &j->source;
    j->c.progress = &j->progress;
    j->source.next_input_byte = data;
    j->source.bytes_in_buffer = (size_t)size;
}

static bool jpeg_is_cmyk(const struct levada_jpeg *j)
{
    return j->c.jpeg_color_space == JCS_CMYK || j->c.jpeg_color_space == JCS_YCCK;
}

static void jpeg_choose(struct levada_jpeg *j)
{
    const levada_picture_options *o = j->options;

    j->c.scale_num = 1;
    j->c.scale_denom = (unsigned)o->ratio;
    j->c.dct_method = o->fast ? JDCT_IFAST : JDCT_ISLOW;
    j->c.do_fancy_upsampling = o->fancy;
    j->c.out_color_space = o->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    if (jpeg_is_cmyk(j)) j->c.out_color_space = JCS_CMYK;
}

/* Skips what lies outside of the window. Returns the column of the window in the rows. */
static int32_t jpeg_seek(struct levada_jpeg *j)
{
    const levada_picture_window *w = j->window;
    JDIMENSION full = j->c.output_width, x = 0, width = full;

    if (w->x > JPEG_MARGIN) x = (JDIMENSION)(w->x - JPEG_MARGIN);
    if ((JDIMENSION)(w->x + w->width + JPEG_MARGIN) < full) {
        width = (JDIMENSION)(w->x + w->width + JPEG_MARGIN) - x;
    } else {
        width = full - x;
    }
    if (width < full) jpeg_crop_scanline(&j->c, &x, &width);
    if (w->y > 0) (void)jpeg_skip_scanlines(&j->c, (JDIMENSION)w->y);
    return w->x - (int32_t)x;
}

/* Converts CMYK; Adobe stores the four inks inverted. */
static void jpeg_from_cmyk(const struct levada_jpeg *j, const uint8_t *from, uint8_t *to, int32_t n)
{
    uint8_t flip = j->c.saw_Adobe_marker ? 255 : 0;

    for (int32_t i = 0; i < n; i++, from += 4) {
        int      light = 255 - (from[3] ^ flip);
        uint32_t rgb[3];

        for (int c = 0; c < 3; c++) {
            int ink = (from[c] ^ flip) * light + 128;

            rgb[c] = (uint32_t)(light - (((ink >> 8) + ink) >> 8)); /* ink / 255, rounded */
        }
        if (j->options->channels == 1) {
            *to++ = (uint8_t)levada_picture_luma(rgb[0], rgb[1], rgb[2]);
        } else {
            for (int c = 0; c < 3; c++) *to++ = (uint8_t)rgb[c];
        }
    }
}

/* Copies rows that the library wrote to the scratch, to their place. */
static void jpeg_copy(const struct levada_jpeg *j, int32_t rows, int64_t stride, int32_t column)
{
    int64_t        size = (int64_t)j->window->width * j->options->channels;
    uint8_t       *to = j->pixels + j->done * size;
    const uint8_t *from = j->rows + column * j->c.output_components;

    for (int32_t i = 0; i < rows; i++, to += size, from += stride) {
        if (jpeg_is_cmyk(j)) jpeg_from_cmyk(j, from, to, j->window->width);
        else memcpy(to, from, (size_t)size);
    }
}

static bool jpeg_goes_on(const struct levada_jpeg *j)
{
    if (j->done >= j->window->height) return false;
    return j->options->recovers || (!j->damaged && j->lost < 0);
}

static void jpeg_read_rows(struct levada_jpeg *j, int32_t column, bool direct)
{
    int64_t  stride = (int64_t)j->c.output_width * j->c.output_components;
    JSAMPROW at[JPEG_ROWS];

    while (jpeg_goes_on(j)) {
        int32_t  left = j->window->height - j->done, n;
        uint8_t *to = direct ? j->pixels + j->done * stride : j->rows;

        if (left > JPEG_ROWS) left = JPEG_ROWS;
        for (int32_t i = 0; i < left; i++) at[i] = to + i * stride;
        n = (int32_t)jpeg_read_scanlines(&j->c, at, (JDIMENSION)left);
        if (!direct) jpeg_copy(j, n, stride, column);
        j->done += n;
    }
}

static levada_status jpeg_verdict(const struct levada_jpeg *j, levada_error *why)
{
    int32_t good = j->lost < 0 ? j->done : j->lost, all = j->window->height;
    int64_t size = (int64_t)j->window->width * j->options->channels;

    if (j->options->recovers || (!j->damaged && j->lost < 0)) return LEVADA_OK;
    if (j->lost < 0) return levada_fail(why, LEVADA_EDATA_LOSS, "damaged JPEG data: %s", j->text);
    if (j->options->acceptable < 1.0 && good > 0 && good >= j->options->acceptable * all) {
        memset(j->pixels + good * size, 0, (size_t)((all - good) * size));
        return LEVADA_OK;
    }
    return levada_fail(why, LEVADA_EDATA_LOSS, "truncated JPEG data: %d of %d rows", good, all);
}

static levada_status jpeg_run(struct levada_jpeg *j, levada_error *why)
{
    const levada_picture *p = j->picture;
    int32_t               ratio = j->options->ratio, column;
    bool                  direct;

    (void)jpeg_read_header(&j->c, TRUE);
    jpeg_choose(j);
    if ((int32_t)j->c.image_width != p->width || (int32_t)j->c.image_height != p->height) {
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "damaged JPEG data: two sizes, %d x %d and %d x %d pixels",
                           (int)p->height, (int)p->width, (int)j->c.image_height,
                           (int)j->c.image_width);
    }
    (void)jpeg_start_decompress(&j->c);
    if ((int32_t)j->c.output_width != (p->width - 1) / ratio + 1) {
        return levada_fail(why, LEVADA_EINTERNAL,
                           "internal error: libjpeg scaled to a width of %d; please report it",
                           (int)j->c.output_width);
    }
    column = jpeg_seek(j);
    direct = !jpeg_is_cmyk(j) && (int32_t)j->c.output_width == j->window->width;
    if (!direct && !levada_reserve(&j->rows, &j->capacity, (int64_t)j->c.output_width * 4 *
                                   JPEG_ROWS, 1)) {
        return levada_fail(why, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for rows of pixels");
    }
    jpeg_read_rows(j, column, direct);
    return jpeg_verdict(j, why);
}

/* Runs the library, which returns to here on a fatal error. */
static levada_status jpeg_guarded(struct levada_jpeg *j, const uint8_t *data, int32_t size)
{
    levada_status st;

    if (setjmp(j->back)) {
        jpeg_destroy_decompress(&j->c);
        return j->why->code;
    }
    jpeg_begin(j, data, size);
    st = jpeg_run(j, j->why);
    jpeg_destroy_decompress(&j->c);
    return st;
}

levada_status levada_jpeg_decode(struct levada_jpeg **tool, const levada_picture_options *o,
                                 const uint8_t *data, int32_t size,
                                 const levada_picture *picture,
                                 const levada_picture_window *window, uint8_t *pixels,
                                 levada_error *why)
{
    struct levada_jpeg *j;

    if (!*tool) LEVADA_TRY(jpeg_create(tool, why));
    j = *tool;
    j->why = why;
    j->options = o;
    j->picture = picture;
    j->window = window;
    j->pixels = pixels;
    j->done = 0;
    j->lost = -1;
    j->damaged = false;
    return jpeg_guarded(j, data, size);
}
