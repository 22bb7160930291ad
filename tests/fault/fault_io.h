/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the system that fail when a test says so. fault_io.c stands in for calls of the C
 * library, in the names that files of any size have: open, fstat, pread, write, close, openat,
 * fsync, fchmod, linkat, renameat.
 */
#ifndef LEVADA_TESTS_FAULT_IO_H
#define LEVADA_TESTS_FAULT_IO_H

#include <stdbool.h>
#include <stdint.h>

typedef enum fault_io_kind {
    FAULT_IO_EIO,
    FAULT_IO_EINTR, /* only for calls that move bytes */
    FAULT_IO_ENOSPC,
    FAULT_IO_EMFILE,
    FAULT_IO_SHORT, /* a third of the bytes           */
    FAULT_IO_NONE,  /* no byte, and no error          */
    FAULT_IO_KINDS
} fault_io_kind;

/* Which calls are counted. */
typedef enum fault_io_calls {
    FAULT_IO_READS,
    FAULT_IO_OPENS,
    FAULT_IO_WRITES, /* write, and close of what was written */
    FAULT_IO_FILES   /* all others that writing a file takes */
} fault_io_calls;

/* Of these calls from now on, the one with this number (from 0) fails so; with `after` all later
 * ones too. */
void fault_io_arm(fault_io_calls calls, fault_io_kind kind, int64_t number, bool after);
/* No more failures. Returns how many of these calls there were since fault_io_arm. */
int64_t fault_io_disarm(void);
/* Whether files without a name can be made (O_TMPFILE): true at first. */
void fault_io_nameless(bool can);
/* Descriptors of the process that are open. */
int64_t fault_io_open(void);

#endif
