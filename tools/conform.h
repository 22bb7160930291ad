/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite: what holds for every name that can stand in a description, and for byte
 * filters.
 *
 * Its example yields the same records at any block size and with any number of threads, continues
 * after a save at every cut, can be cancelled at every step and while it runs, and saved then,
 * survives that any allocation fails, and refuses options beyond their limits. `levada check` runs
 * it on what a plug-in registers, and tests/conformance on everything that is built in. Public
 * headers only.
 */
#ifndef LEVADA_TOOLS_CONFORM_H
#define LEVADA_TOOLS_CONFORM_H

#include "buffer.h"
#include "conform_rows.h"
#include <levada/filter.h>
#include <levada/iter.h>
#include <levada/opener.h>
#include <levada/source.h>
#include <levada/stage.h>

typedef enum levada_conform_verdict {
    LEVADA_CONFORM_GOOD,
    LEVADA_CONFORM_BAD,    /* `what` broke                                        */
    LEVADA_CONFORM_SKIPPED /* `what` says why: a file of the example, or a library, is missing */
} levada_conform_verdict;

/* Memory that runs out on demand. */
typedef struct levada_conform_faults {
    void *user;
    /* A new environment that knows the name; nothing fails while it is made. */
    levada_status (*open)(void *user, levada_env **out, levada_error *err);
    /* Of the allocations from now on, the one with this number (from 0) fails. */
    void (*arm)(void *user, int64_t number);
    /* No more failures. Returns how many allocations there were since then. */
    int64_t (*disarm)(void *user);
    /* Pieces that were not given back yet. */
    int64_t (*live)(void *user);
} levada_conform_faults;

/* Files that examples read, by number from 0, and ways to change them. */
typedef struct levada_conform_files {
    void *user;
    /* Puts other content in place, which the example reads without an error. False: there is no
     * such file, or no such way. */
    bool (*change)(void *user, int32_t which, int32_t how);
    void (*undo)(void *user, int32_t which); /* also where nothing was changed */
} levada_conform_files;

/* One name on its way through the checks. The first ones are the caller's, the rest begins as
 * zeros; levada_conform_clear at the end. */
typedef struct levada_conform {
    levada_env                  *env;
    const char                  *name;
    const char                  *example; /* "" or NULL: there is none    */
    const levada_conform_faults *faults;  /* NULL: memory does not run out */
    const levada_conform_files  *files;   /* NULL: files stay as they are */
    bool may_be_empty; /* an example without a record is good enough       */
    bool format;       /* the name is a file format: it has no save() and restore() */
    const levada_format_def *def; /* of a file format, for its own checks; else NULL */
    bool own_files; /* files of the example may be damaged: nobody else reads them     */
    const levada_opener_def *opener; /* of an opener, in place of env and example; else NULL */
    const levada_filter_def *filter; /* of a byte filter, in place of env and example; of the
                                      * faults it needs no open, as it knows the table already */

    levada_conform_rows want; /* records of the example              */
    levada_cli_buffer   plain, packed; /* what a filter is run on      */
    bool                known;    /* want, or those, are there       */
    bool                unsteady; /* other runs had other records    */
    bool stuck; /* a thread does not come back: the process can only end           */
    char note[96];  /* what was done: "10 records, 9 settings"        */
    char what[768]; /* what broke: settings, record, bytes; else ""   */
    char where[192]; /* where to look, else ""                         */
} levada_conform;

typedef struct levada_conform_check {
    const char *name;  /* a word                               */
    const char *claim; /* "<name of the stage> <claim>"        */
    levada_conform_verdict (*run)(levada_conform *c);
} levada_conform_check;

/* All of them, the first one being that there are records at all; ends with a NULL name. */
extern const levada_conform_check levada_conform_checks[];
/* More of file formats, whose descriptor is in `def`. */
extern const levada_conform_check levada_conform_format_checks[];
/* Those of openers. */
extern const levada_conform_check levada_conform_opener_checks[];
/* Those of byte filters. */
extern const levada_conform_check levada_conform_filter_checks[];

/* Two of them with a choice: cuts at each step-th block only (0 = at every one, even with one
 * record in a block). */
levada_conform_verdict levada_conform_alike(levada_conform *c);
levada_conform_verdict levada_conform_cuts(levada_conform *c, int64_t step);

/* A restore is refused, or continues as a run over the changed files does. SKIPPED without `files`:
 * only for callers whose files may change, so not for `levada check`. */
levada_conform_verdict levada_conform_changed(levada_conform *c);

void levada_conform_clear(levada_conform *c);

/* The files of an example in the current folder. */
LEVADA_MUST_USE levada_status levada_conform_write_files(const levada_example_file *files,
                                                         levada_error              *err);
void                          levada_conform_drop_files(const levada_example_file *files);

/* -- for the files of the suite */

levada_conform_verdict levada_conform_prepare(levada_conform *c);
levada_conform_verdict levada_conform_cancel(levada_conform *c);
levada_conform_verdict levada_conform_memory(levada_conform *c);
levada_conform_verdict levada_conform_limits(levada_conform *c);
levada_conform_verdict levada_conform_traits(levada_conform *c);
levada_conform_verdict levada_conform_damage(levada_conform *c);
levada_conform_verdict levada_conform_places(levada_conform *c);
levada_conform_verdict levada_conform_probe(levada_conform *c);

/* Sets `what` and returns BAD. */
LEVADA_PRINTF(2, 3)
levada_conform_verdict levada_conform_broken(levada_conform *c, const char *fmt, ...);
/* Reports an error of a call. */
levada_conform_verdict levada_conform_failed(levada_conform *c, const char *call,
                                             const levada_error *err);
void levada_conform_look(levada_conform *c, const char *where);

/* An iterator over the example, seed 11. */
LEVADA_MUST_USE levada_status levada_conform_open(const levada_conform *c, levada_env *env,
                                                  int32_t threads, int32_t block_rows,
                                                  levada_iter **out, levada_error *err);
/* Reads at most `blocks` blocks (-1 = all) into `to`. END when there are no more, which it says
 * twice. */
LEVADA_MUST_USE levada_status levada_conform_read(levada_iter *it, int64_t blocks,
                                                  levada_conform_rows *to, levada_error *err);

#endif
