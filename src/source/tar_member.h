/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One member of a tar archive: ustar, PAX and GNU headers, and those before them.
 *
 * The headers that describe a member (PAX, GNU long names) belong to it. Sizes are what the bytes
 * say, not more: compare them with what there is. Any thread, no memory.
 */
#ifndef LEVADA_SOURCE_TAR_MEMBER_H
#define LEVADA_SOURCE_TAR_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

enum { LEVADA_TAR_BLOCK = 512, LEVADA_TAR_OWN_NAME = 256 /* prefix, slash and name */ };

typedef enum levada_tar_kind {
    LEVADA_TAR_NOTHING, /* a block of zeros: the end of an archive, or padding      */
    LEVADA_TAR_FILE,
    LEVADA_TAR_PARTIAL, /* a file whose bytes are not all stored here: `wrong` says why */
    LEVADA_TAR_OTHER,  /* a folder, a link, a device, a label, a header for all members */
    LEVADA_TAR_CUT,    /* the member continues after these bytes                     */
    LEVADA_TAR_BAD,
    LEVADA_TAR_REFUSED /* intact, but members after it would be misread: `wrong` says why */
} levada_tar_kind;

typedef struct levada_tar_member {
    int64_t     data, size; /* of a file: its bytes are [data, data + size)          */
    int64_t     total;      /* bytes with headers and padding; of a CUT one: bytes of the
                            * file without padding, or of headers                  */
    const char *wrong;
    const char *name;   /* in the bytes that were read, or `own` */
    int32_t     length; /* of the name; 0 = none is known        */
    char        own[LEVADA_TAR_OWN_NAME]; /* of a header with a prefix */
} levada_tar_member;

/* Reads the member at bytes[0, left). `at_end`: nothing follows, and the padding of the last member
 * may be missing. Without `check` header checksums are taken for good. */
levada_tar_kind levada_tar_read(const uint8_t *bytes, int64_t left, bool at_end, bool check,
                                levada_tar_member *out);

/* Returns true if a header with a good checksum is in these 512 bytes. *magic: it also says ustar.
 * */
bool levada_tar_is_header(const uint8_t *block, bool *magic);

/* Returns the number of bytes of a header that describes the next member, with its data; 0 = it is
 * another header. */
int64_t levada_tar_extension(const uint8_t *block);

/* Returns the number of bytes of a header and of its data, by what the header says alone. */
int64_t levada_tar_length(const uint8_t *block);

/* Returns true after damage if the header is what is left of a member whose name or size was in the
 * damaged bytes: bytes[0, size) are no headers, and a good header follows them. */
bool levada_tar_is_described(const uint8_t *bytes, int64_t size);

/* Returns the number of bytes of the blocks of zeros at the beginning. */
int64_t levada_tar_zeros(const uint8_t *bytes, int64_t size);

/* Returns where the first header begins that has a good checksum and says ustar, at any byte; -1 =
 * none. */
int64_t levada_tar_find(const uint8_t *bytes, int64_t size);

#endif
