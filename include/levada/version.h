/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of the headers. levada_version() returns the version of the loaded library, which may
 * be newer. docs/versions.md lists what stays compatible between versions.
 *
 * Example:
 *
 *     #if !LEVADA_VERSION_AT_LEAST(0, 1, 0)
 *     #error "levada 0.1 or later is needed"
 *     #endif
 *     printf("%s compiled, %s loaded\n", LEVADA_VERSION, levada_version());
 */
#ifndef LEVADA_VERSION_H
#define LEVADA_VERSION_H

#include <levada/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEVADA_VERSION_MAJOR 0
#define LEVADA_VERSION_MINOR 1
#define LEVADA_VERSION_PATCH 0
#define LEVADA_VERSION "0.1.0"

/* For #if: LEVADA_VERSION_AT_LEAST(0, 2, 0) */
#define LEVADA_VERSION_AT_LEAST(major, minor, patch)                               \
    (LEVADA_VERSION_MAJOR * 1000000 + LEVADA_VERSION_MINOR * 1000 + LEVADA_VERSION_PATCH >= \
     (major) * 1000000 + (minor) * 1000 + (patch))

/* Returns the version of the library: "0.1.0". */
LEVADA_API const char *levada_version(void);

#ifdef __cplusplus
}
#endif

#endif
