/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of images, read without a library. */
#include "decode/picture.h"

#include <string.h>

static const uint8_t probe_png_mark[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };

static int32_t probe_u16(const uint8_t *at) { return at[0] << 8 | at[1]; }

static int64_t probe_u32(const uint8_t *at)
{
    return (int64_t)probe_u16(at) << 16 | probe_u16(at + 2);
}

/* Reads a frame header at `at`, after its marker. */
static levada_status probe_frame(const uint8_t *at, const uint8_t *end, int marker,
                                 levada_picture *out, levada_error *why)
{
    if (end - at < 8)
        return levada_fail(why, LEVADA_EDATA_LOSS, "truncated JPEG header: %d of 8 bytes",
                           (int)(end - at));
    out->bits = at[2];
    out->height = probe_u16(at + 3);
    out->width = probe_u16(at + 5);
    out->planes = at[7];
    out->channels = at[7] == 1 ? 1 : 3;
    out->dense = marker == 0xc9 || marker == 0xca; /* arithmetic coding that is read */
    return LEVADA_OK;
}

static bool probe_is_frame(int marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* Markers without a size. */
static bool probe_is_lone(int marker)
{
    return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

static levada_status probe_jpeg(const uint8_t *data, int32_t size, levada_picture *out,
                                levada_error *why)
{
    const uint8_t *at = data + 2, *end = data + size;

    out->kind = LEVADA_PICTURE_JPEG;
    while (at < end) {
        int marker;

        if (*at++ != 0xff) continue;
        while (at < end && *at == 0xff) at++;
        if (at >= end) break;
        marker = *at++;
        if (marker == 0 || probe_is_lone(marker)) continue;
        if (probe_is_frame(marker)) return probe_frame(at, end, marker, out, why);
        if (marker == 0xd9 || marker == 0xda || end - at < 2 || probe_u16(at) < 2) break;
        if (probe_u16(at) >= end - at) break;
        at += probe_u16(at);
    }
    return levada_fail(why, LEVADA_EDATA_LOSS,
                       "damaged JPEG data: the size of the image is missing");
}

/* Returns true if a palette has transparent colors, and so an alpha channel. */
static bool probe_png_transparent(const uint8_t *data, int32_t size)
{
    const uint8_t *at = data + 8, *end = data + size;

    while (end - at >= 12) {
        int64_t n = probe_u32(at);

        if (memcmp(at + 4, "tRNS", 4) == 0) return true;
        if (memcmp(at + 4, "IDAT", 4) == 0 || n > end - at - 12) return false;
        at += n + 12;
    }
    return false;
}

static bool probe_png_bits(uint8_t bits)
{
    return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16;
}

static levada_status probe_png(const uint8_t *data, int32_t size, levada_picture *out,
                               levada_error *why)
{
    static const int8_t planes[7] = { 1, 0, 3, 1, 2, 0, 4 };
    int64_t             height, width;

    out->kind = LEVADA_PICTURE_PNG;
    if (size < 33 || memcmp(data + 12, "IHDR", 4) != 0) {
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "truncated PNG header: %d bytes, of which 33 must begin with IHDR",
                           size);
    }
    width = probe_u32(data + 16);
    height = probe_u32(data + 20);
    if (width > INT32_MAX || height > INT32_MAX || data[25] > 6 || !planes[data[25]] ||
        !probe_png_bits(data[24])) {
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "damaged PNG header: %lld x %lld pixels, %d bits, color type %d",
                           (long long)height, (long long)width, data[24], data[25]);
    }
    out->width = (int32_t)width;
    out->height = (int32_t)height;
    out->bits = data[24];
    out->planes = planes[data[25]];
    out->channels = data[25] == 3 ? 3 + probe_png_transparent(data, size) : out->planes;
    return LEVADA_OK;
}

/* Returns true if that many pixels may be in that many bytes. In JPEG a block of 64 numbers takes
 * at least one bit, and a quarter of the blocks may be there; deflate makes at most 1032 bytes of
 * one. */
static bool probe_fits(const levada_picture *p, int32_t size)
{
    int64_t pixels = (int64_t)p->height * p->width;

    if (p->dense) return true;
    if (p->kind == LEVADA_PICTURE_JPEG) return pixels / 2048 <= size;
    /* Divided first: the largest image has nearly 2^62 pixels of 64 bits. */
    return pixels / (8 * 1032) * p->bits * p->planes + p->height / 1032 <= size;
}

/* Names the formats that users may have, which are not supported. */
static levada_status probe_unknown(const uint8_t *data, int32_t size, levada_error *why)
{
    const char *name = NULL;

    if (size >= 4 && memcmp(data, "GIF8", 4) == 0) name = "GIF";
    else if (size >= 12 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WEBP", 4) == 0)
        name = "WebP";
    else if (size >= 4 && (memcmp(data, "II*\0", 4) == 0 || memcmp(data, "MM\0*", 4) == 0))
        name = "TIFF";
    else if (size >= 14 && memcmp(data, "BM", 2) == 0 && memcmp(data + 6, "\0\0\0\0", 4) == 0)
        name = "BMP";
    if (name)
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "%s images are not supported: convert them to PNG", name);
    return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                       "unknown image format: neither JPEG nor PNG (the first bytes are %02x %02x)",
                       data[0], size > 1 ? data[1] : 0);
}

levada_status levada_picture_probe(const uint8_t *data, int32_t size, levada_picture *out,
                                   levada_error *why)
{
    *out = (levada_picture){ 0 };
    if (size == 0)
        return levada_fail(why, LEVADA_EINVALID_ARGUMENT,
                           "input is empty; expected a JPEG or PNG image");
    if (size >= 8 && memcmp(data, probe_png_mark, 8) == 0) {
        LEVADA_TRY(probe_png(data, size, out, why));
    } else if (size >= 3 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff) {
        LEVADA_TRY(probe_jpeg(data, size, out, why));
    } else {
        return probe_unknown(data, size, why);
    }
    if (out->height == 0 || out->width == 0) {
        return levada_fail(why, LEVADA_EDATA_LOSS,
                           "damaged image: %d x %d pixels", out->height, out->width);
    }
    if (probe_fits(out, size)) return LEVADA_OK;
    return levada_fail(why, LEVADA_EDATA_LOSS,
                       "damaged image: %d x %d pixels cannot be in %d bytes",
                       out->height, out->width, size);
}
