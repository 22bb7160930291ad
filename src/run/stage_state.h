/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the nodes of sources, SERIAL stages and combiners have in common: a state that belongs to
 * the hooks of a descriptor, opened, saved, restarted, cancelled and closed.
 *
 * cancel() is called from any thread, also while next() runs, and never while the state is made or
 * closed: `live` says, under the lock, whether there is one to cancel. Everything else is for the
 * thread that the node belongs to. How often the node began again is context.pass of the node.
 */
#ifndef LEVADA_RUN_STAGE_STATE_H
#define LEVADA_RUN_STAGE_STATE_H

#include "files/glob.h"
#include "run/node.h"

typedef struct levada_stage_hooks {
    size_t state_size;
    levada_status (*open)(levada_node *it, void *state, levada_error *err); /* of the node's kind */
    /* Those of the descriptor; each may be NULL. */
    void (*close)(void *state);
    levada_status (*save)(const void *state, levada_state_writer *to, levada_error *err);
    levada_status (*restore)(void *state, levada_state_reader *from, levada_error *err);
    void (*cancel)(void *state);
} levada_stage_hooks;

/* From the definition of a source, a stage or a combiner: three types whose hooks bear the same
 * names. `opens` makes the state of a node of that kind. */
#define LEVADA_STAGE_HOOKS(def, opens)                                                          \
    { .state_size = (def)->state_size,                                                           \
      .open = (opens),                                                                           \
      .close = (def)->close,                                                                     \
      .save = (def)->save,                                                                       \
      .restore = (def)->restore,                                                                 \
      .cancel = (def)->cancel }

typedef struct levada_stage_state {
    levada_stage_hooks hooks;
    void               *state; /* aligned to 64 bytes, zeroed before each open() */
    int64_t             emitted; /* sources: records of this pass, their numbers */
    const void         *args;    /* sources: with paths in place of patterns; NULL = not open yet */
    levada_files        files;   /* sources that read files: the paths */
    levada_spec        *keys;    /* sources: columns of the keys that it emits; NULL = none */
    bool                opened;
    levada_mutex        lock;
    /* -- guarded by lock */
    bool live;
} levada_stage_state;

/* Opens it->self, with an open state; freed with the node, even when this fails. */
LEVADA_MUST_USE levada_status levada_stage_state_open(levada_node *it,
                                                      const levada_stage_hooks *hooks,
                                                 levada_error *err);
void *levada_stage_state_of(const levada_node *it);

/* Saves a stage, for the table of a node's operations. */
LEVADA_MUST_USE levada_status levada_stage_state_save(levada_node *it, levada_state_writer *to,
                                                 levada_error *err);
LEVADA_MUST_USE levada_status levada_stage_state_restore(levada_node *it, levada_state_reader *from,
                                                    levada_error *err);
LEVADA_MUST_USE levada_status levada_stage_state_rewind(levada_node *it, bool read_to_end,
                                                   levada_error *err);
void                          levada_stage_state_cancel(levada_node *it);
void                          levada_stage_state_close(levada_node *it);

#endif
