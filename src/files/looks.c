/* SPDX-License-Identifier: Apache-2.0 */
#include "files/looks.h"

#include <stddef.h>
#include <string.h>

#define LOOKS_WHOLE                                                                      \
    "store such files in tar, or list them with the source 'files' and read them in map"
#define LOOKS_OTHER "convert it"

typedef struct looks_magic {
    int32_t     offset, size;
    const char *bytes;
    levada_look look;
} looks_magic;

/* Fewer than four bytes may be the beginning of anything. */
static const looks_magic looks_known[] = {
    { 0, 8, "\x89PNG\r\n\x1a\n", { "a PNG image", LOOKS_WHOLE } },
    { 0, 3, "\xff\xd8\xff", { "a JPEG image", NULL } },
    { 0, 4, "GIF8", { "a GIF image", LOOKS_OTHER } },
    { 8, 4, "WEBP", { "a WebP image", LOOKS_OTHER } },
    { 8, 4, "WAVE", { "a WAV file", LOOKS_WHOLE } },
    { 0, 4, "fLaC", { "a FLAC file", LOOKS_WHOLE } },
    { 0, 6, "\x93NUMPY", { "a NumPy array", LOOKS_WHOLE } },
    { 0, 4, "OggS", { "an Ogg file", LOOKS_OTHER } },
    { 0, 3, "ID3", { "an MP3 or FLAC file with an ID3 tag", LOOKS_WHOLE } },
    { 0, 4, "PAR1", { "a Parquet file", "read it in Python with lv.parquet" } },
    { 0, 6, "ARROW1", { "an Arrow file", "read it in Python with lv.arrow" } },
    { 0, 8, "\x89HDF\r\n\x1a\n",
      { "an HDF5 file", "open it with h5py and pass a dataset to lv.from_random_access" } },
    { 0, 15, "SQLite format 3", { "an SQLite database", "export its tables as CSV" } },
    { 0, 4, "PK\x03\x04", { "a ZIP archive", "unpack it with unzip" } },
    { 0, 6, "7z\xbc\xaf\x27\x1c", { "a 7-Zip archive", "unpack it with 7z" } },
    { 0, 6, "\xfd" "7zXZ\0", { "a file compressed with xz", "decompress it with unxz" } },
    { 4, 6, "1AY&SY", { "a file compressed with bzip2", "decompress it with bunzip2" } },
    { 0, 4, "\x04\x22\x4d\x18", { "a file compressed with LZ4", "decompress it with unlz4" } },
    { 0, 4, "%PDF", { "a PDF file", LOOKS_OTHER } },
    { 0, 4, "\x7f" "ELF", { "a program", NULL } },
    { 0, 2, "\x80\x02", { "a Python pickle", NULL } },
    { 0, 2, "\x80\x03", { "a Python pickle", NULL } },
    { 0, 2, "\x80\x04", { "a Python pickle", NULL } },
    { 0, 2, "\x80\x05", { "a Python pickle", NULL } },
    { 0, 2, "\xff\xfe", { "text in UTF-16", NULL } },
    { 0, 2, "\xfe\xff", { "text in UTF-16", NULL } },
};

levada_look levada_looks_like(const uint8_t *head, int64_t size)
{
    for (size_t i = 0; i < sizeof looks_known / sizeof *looks_known; i++) {
        const looks_magic *m = &looks_known[i];

        if (size >= m->offset + m->size &&
            memcmp(head + m->offset, m->bytes, (size_t)m->size) == 0)
            return m->look;
    }
    return (levada_look){ "binary data", NULL };
}
