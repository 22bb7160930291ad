/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the command share: exit statuses, the table of commands, and how to talk.
 *
 * Results go to standard output, messages to standard error. A command returns its exit status; it
 * prints its own messages, and reports a failed call with levada_cli_fail.
 */
#ifndef LEVADA_TOOLS_CLI_H
#define LEVADA_TOOLS_CLI_H

#include "args.h"
#include "buffer.h"
#include <levada/env.h>

typedef enum levada_cli_status {
    LEVADA_CLI_DONE        = 0,
    LEVADA_CLI_FAILED      = 1, /* an error, or damage was found          */
    LEVADA_CLI_USAGE       = 2, /* the command line is wrong              */
    LEVADA_CLI_INTERRUPTED = 130, /* Ctrl-C, as shells write it           */
    LEVADA_CLI_TERMINATED  = 143  /* SIGTERM, where it stops as Ctrl-C does */
} levada_cli_status;

typedef struct levada_cli_command {
    const char              *name, *words; /* words: how its arguments are written, "FILE..." */
    const char              *doc;          /* one line                                        */
    const char              *more;         /* paragraph of the help, or NULL                  */
    const char              *choices;      /* possible first arguments, or NULL               */
    const levada_cli_option *options;      /* ends with a NULL name                           */
    int                      min_words, max_words; /* most; -1 = any                          */
    int                      inputs; /* words that may be files to read, of which - is standard
                                      * input; -1 = all */
    levada_cli_status (*run)(levada_env *env, const levada_cli_args *args);
} levada_cli_command;

extern const levada_cli_command levada_cli_run, levada_cli_head, levada_cli_info,
    levada_cli_verify, levada_cli_stats, levada_cli_convert, levada_cli_stages, levada_cli_bench,
    levada_cli_check, levada_cli_new_plugin, levada_cli_ckpt, levada_cli_index, levada_cli_sample,
    levada_cli_completion, levada_cli_steps, levada_cli_resume_check,
    levada_cli_replay, levada_cli_receipts;
/* All of them, in the order in which the help shows them; ends with NULL. */
extern const levada_cli_command *const levada_cli_commands[];

/* Ctrl-C and kill -USR1. A second Ctrl-C ends the process at once, as kill and a hang-up do:
 * without leaving temporary files. A size limit is an error of the write. */
void levada_cli_signals(void);
void levada_cli_signals_save(void);  /* SIGTERM stops as Ctrl-C does: there is something to save */
void levada_cli_signals_end(void);   /* Ctrl-C ends the process: work that cannot stop itself  */
bool levada_cli_stopped(void);       /* Ctrl-C was pressed, or such a SIGTERM came             */
bool levada_cli_interrupted(void);   /* the same, in the main thread: openers give up          */
bool levada_cli_report_wanted(void); /* kill -USR1 came; true once for each                    */

/* "levada: text" on standard error; returns FAILED, or INTERRUPTED after Ctrl-C. */
levada_cli_status levada_cli_fail(const levada_error *err);
/* Writes lines to standard error, after the output before them. Any thread. */
void levada_cli_message(const levada_cli_buffer *text);
/* Writes a message of the command itself. */
LEVADA_PRINTF(1, 2) void levada_cli_say(const char *fmt, ...);

/* Writes the text to standard output and empties it. False when nobody reads any more (quiet) or
 * the disk is full (said): the command stops. */
bool levada_cli_out(levada_cli_buffer *text);
/* Everything so far is where standard output goes, on the disk if that is a file. */
bool levada_cli_out_sync(void);
/* Writes the rest of the output at the end of the program. Turns DONE into FAILED if it is lost. */
levada_cli_status levada_cli_out_close(levada_cli_status status);

/* Seconds on a clock that never jumps. */
double levada_cli_now(void);

#endif
