/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The orientation of images in EXIF data, a TIFF directory that JPEG has in a segment APP1 and PNG
 * in a chunk eXIf. Orientation 1 is as stored; 2 to 4 mirror rows or columns, 5 to 8 exchange them.
 */
#include "decode/picture.h"

#include <string.h>

enum { ORIENT_TAG = 0x0112, ORIENT_SHORT = 3, ORIENT_ENTRY = 12, ORIENT_MOST = 8 };

/* Bytes of an image, read in the order of its EXIF data. */
typedef struct orient_bytes {
    const uint8_t *at;
    int64_t        size;
    bool           little;
} orient_bytes;

static int64_t orient_u16(const orient_bytes *b, int64_t at)
{
    return b->little ? b->at[at] | b->at[at + 1] << 8 : b->at[at] << 8 | b->at[at + 1];
}

static int64_t orient_u32(const orient_bytes *b, int64_t at)
{
    int64_t first = orient_u16(b, at), second = orient_u16(b, at + 2);

    return b->little ? first | second << 16 : first << 16 | second;
}

/* Returns the EXIF data of a JPEG, which lies before its scans; empty if there is none. */
static orient_bytes orient_of_jpeg(const uint8_t *data, int64_t size)
{
    orient_bytes b = { data, size, false };
    int64_t      at = 2;

    while (at + 4 <= size && data[at] == 0xff) {
        int marker = data[at + 1];

        if (marker == 0xff || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
            at += marker == 0xff ? 1 : 2; /* fill bytes, and markers without a size */
            continue;
        }
        if (marker == 0xd9 || marker == 0xda) break;
        int64_t n = orient_u16(&b, at + 2);

        if (n < 2 || at + 2 + n > size) break;
        if (marker == 0xe1 && n >= 8 && memcmp(data + at + 4, "Exif\0\0", 6) == 0)
            return (orient_bytes){ data + at + 10, n - 8, false };
        at += 2 + n;
    }
    return (orient_bytes){ 0 };
}

/* Returns the EXIF data of a PNG; empty if there is none. */
static orient_bytes orient_of_png(const uint8_t *data, int64_t size)
{
    orient_bytes b = { data, size, false };
    int64_t      at = 8;

    while (size - at >= 12) {
        int64_t n = orient_u32(&b, at);

        if (n > size - at - 12) break;
        if (memcmp(data + at + 4, "eXIf", 4) == 0) return (orient_bytes){ data + at + 8, n, false };
        at += n + 12;
    }
    return (orient_bytes){ 0 };
}

/* Returns the entry of the first directory. */
static int32_t orient_of_exif(orient_bytes b)
{
    int64_t at, n;

    if (b.size < 10) return 1;
    b.little = memcmp(b.at, "II*\0", 4) == 0;
    if (!b.little && memcmp(b.at, "MM\0*", 4) != 0) return 1;
    at = orient_u32(&b, 4);
    if (at > b.size - 2) return 1;
    n = orient_u16(&b, at);
    for (at += 2; n > 0 && at <= b.size - ORIENT_ENTRY; n--, at += ORIENT_ENTRY) {
        int64_t value = orient_u16(&b, at + 8);

        if (orient_u16(&b, at) != ORIENT_TAG) continue;
        if (orient_u16(&b, at + 2) != ORIENT_SHORT || orient_u32(&b, at + 4) != 1) return 1;
        return value >= 1 && value <= ORIENT_MOST ? (int32_t)value : 1;
    }
    return 1;
}

int32_t levada_picture_orientation(levada_picture_kind kind, const uint8_t *data, int32_t size)
{
    if (kind == LEVADA_PICTURE_JPEG) return orient_of_exif(orient_of_jpeg(data, size));
    return orient_of_exif(orient_of_png(data, size));
}

/* Returns true if rows of the stored image are read from the last to the first. */
static bool orient_flips_rows(int32_t orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

/* Returns true if each row of the stored image is read from its end. */
static bool orient_flips_columns(int32_t orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

levada_picture_window levada_picture_stored(int32_t orientation, levada_picture_window w,
                                            int32_t height, int32_t width)
{
    levada_picture_window out = w;

    if (levada_picture_swaps(orientation))
        out = (levada_picture_window){ w.x, w.y, w.width, w.height };
    if (orient_flips_rows(orientation)) out.y = height - out.y - out.height;
    if (orient_flips_columns(orientation)) out.x = width - out.x - out.width;
    return out;
}

void levada_picture_turn(int32_t orientation, const uint8_t *from, int32_t height, int32_t width,
                         int64_t pixel, uint8_t *to)
{
    bool    swaps = levada_picture_swaps(orientation);
    int64_t row = width * pixel; /* from a stored row to the next, and from a pixel to the next */
    int64_t down = orient_flips_rows(orientation) ? -row : row;
    int64_t right = orient_flips_columns(orientation) ? -pixel : pixel;
    int32_t rows = swaps ? width : height, columns = swaps ? height : width;

    if (down < 0) from += (height - 1) * row;
    if (right < 0) from += (width - 1) * pixel;
    for (int32_t y = 0; y < rows; y++) {
        const uint8_t *at = from + y * (swaps ? right : down);

        for (int32_t x = 0; x < columns; x++, at += swaps ? down : right, to += pixel)
            memcpy(to, at, (size_t)pixel);
    }
}
