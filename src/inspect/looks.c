/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect/looks.h"

#include <string.h>

typedef struct looks_magic {
    int32_t     offset, size;
    const char *bytes, *name;
} looks_magic;

static const looks_magic looks_known[] = {
    { 0, 8, "\x89PNG\r\n\x1a\n", "a PNG image (the source 'files' reads whole files)" },
    { 0, 3, "\xff\xd8\xff", "a JPEG image (the source 'files' reads whole files)" },
    { 0, 4, "GIF8", "a GIF image" },
    { 8, 4, "WEBP", "a WebP image" },
    { 8, 4, "WAVE", "a WAV file (the source 'files' reads whole files)" },
    { 0, 4, "fLaC", "a FLAC file (the source 'files' reads whole files)" },
    { 0, 6, "\x93NUMPY", "a NumPy array (the source 'files' reads whole files)" },
    { 0, 4, "OggS", "an Ogg file" },
    { 0, 3, "ID3", "an MP3 file" },
    { 0, 4, "PAR1", "a Parquet file" },
    { 0, 6, "ARROW1", "an Arrow file" },
    { 0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file" },
    { 0, 15, "SQLite format 3", "an SQLite database" },
    { 0, 4, "PK\x03\x04", "a ZIP archive" },
    { 0, 6, "7z\xbc\xaf\x27\x1c", "a 7-Zip archive" },
    { 0, 6, "\xfd" "7zXZ\0", "a file compressed with xz" },
    { 0, 3, "BZh", "a file compressed with bzip2" },
    { 0, 4, "\x04\x22\x4d\x18", "a file compressed with LZ4" },
    { 0, 4, "%PDF", "a PDF file" },
    { 0, 4, "\x7f" "ELF", "a program" },
    { 0, 2, "\x80\x02", "a Python pickle" },
    { 0, 2, "\x80\x03", "a Python pickle" },
    { 0, 2, "\x80\x04", "a Python pickle" },
    { 0, 2, "\x80\x05", "a Python pickle" },
    { 0, 2, "\xff\xfe", "text in UTF-16" },
    { 0, 2, "\xfe\xff", "text in UTF-16" },
};

const char *levada_looks_like(const uint8_t *head, int64_t size)
{
    for (size_t i = 0; i < sizeof looks_known / sizeof *looks_known; i++) {
        const looks_magic *m = &looks_known[i];

        if (size >= m->offset + m->size &&
            memcmp(head + m->offset, m->bytes, (size_t)m->size) == 0)
            return m->name;
    }
    return "binary data";
}
