/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of a saved state: the fingerprint of a dataset omits the stages that deal records to ranks
 * (`shard`), which are compared here. A state of one part holds nothing of the other parts, so
 * another number of parts would lose records and repeat others.
 */
#include "state/state_priv.h"

#include "base/text.h"

#include <string.h>

/* Shard stages of two descriptions, in the order in which they stand there. */
typedef struct shards_walk {
    const levada_env   *env;
    const levada_value *found; /* arguments of number `wanted`, NULL = there is none */
    int64_t             wanted, seen;
    int64_t             stages; /* up to that one */
} shards_walk;

/* Returns true if the stage of that name deals records to ranks. */
static bool shards_deals(const levada_env *env, const levada_value *name)
{
    const char      *text = levada_value_as_text(name, NULL);
    const levada_op *op = text ? levada_registry_find(env, text) : NULL;

    return op && op->traits.shards;
}

static void shards_visit(shards_walk *w, const levada_value *at)
{
    levada_value_kind   kind = levada_value_kind_of(at);
    const levada_value *args = kind == LEVADA_VALUE_MAP ? levada_value_get(at, "args") : NULL;

    if (kind != LEVADA_VALUE_MAP && kind != LEVADA_VALUE_LIST) return;
    w->stages += args != NULL;
    if (args && shards_deals(w->env, levada_value_get(at, "op")) && w->seen++ == w->wanted) {
        w->found = args;
    }
    for (int64_t i = 0; !w->found && i < levada_value_count(at); i++) {
        shards_visit(w, levada_value_item(at, i));
    }
}

static shards_walk shards_find(const levada_env *env, const levada_value *dataset, int64_t n)
{
    shards_walk w = { .env = env, .wanted = n };

    shards_visit(&w, dataset);
    return w;
}

static void shards_say(levada_text *text, const levada_value *args)
{
    const levada_value *index = args ? levada_value_get(args, "index") : NULL;
    const levada_value *count = args ? levada_value_get(args, "count") : NULL;

    if (!index || !count) {
        levada_text_put(text, "a dataset without shard");
        return;
    }
    levada_text_format(text, "shard %lld of %lld", (long long)levada_value_as_int(index),
                       (long long)levada_value_as_int(count));
}

static levada_status shards_differ(const levada_value *now, const levada_value *was,
                                   levada_error *err)
{
    levada_text   is = { 0 }, had = { 0 };
    levada_status st;

    shards_say(&is, now);
    shards_say(&had, was);
    if (is.failed || had.failed) {
        st = levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                         "out of memory while comparing checkpoints");
    } else if (strcmp(is.at, had.at) == 0) {
        st = levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                         "the checkpoint was saved from %s with other options or at another "
                         "position",
                         had.at);
    } else {
        st = levada_fail(err, LEVADA_EFAILED_PRECONDITION,
                         "the checkpoint was saved from %s, but this is %s: resume with the same "
                         "rank and world size (torch_dataset(parts=) resumes with any number of "
                         "ranks)",
                         had.at, is.at);
    }
    levada_text_clear(&is);
    levada_text_clear(&had);
    return st;
}

static bool shards_equal(const levada_value *a, const levada_value *b, bool *failed)
{
    levada_text one = { 0 }, two = { 0 };
    bool        same;

    levada_value_print(&one, a, LEVADA_PRINT_JSON);
    levada_value_print(&two, b, LEVADA_PRINT_JSON);
    *failed = one.failed || two.failed;
    same = !*failed && strcmp(one.at, two.at) == 0;
    levada_text_clear(&one);
    levada_text_clear(&two);
    return same;
}

static levada_status shards_compare(const levada_env *env, const levada_value *now,
                                    const levada_value *was, levada_error *err)
{
    for (int64_t n = 0;; n++) {
        shards_walk a = shards_find(env, now, n), b = shards_find(env, was, n);
        bool        failed = false;

        if (!a.found && !b.found) return LEVADA_OK;
        if (a.found && b.found && a.stages == b.stages && shards_equal(a.found, b.found, &failed)) {
            continue;
        }
        if (!failed) return shards_differ(a.found, b.found, err);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED,
                           "out of memory while comparing checkpoints");
    }
}

levada_status levada_shards_check(const levada_env *env, const char *now, const char *saved,
                                  size_t size, levada_error *err)
{
    levada_value *is = NULL, *was = NULL;
    levada_status st = levada_value_parse_json(now, strlen(now), &is, err);

    if (st == LEVADA_OK) {
        st = levada_value_parse_json(saved, size, &was, err);
        if (st == LEVADA_EINVALID_ARGUMENT) {
            st = levada_fail(err, LEVADA_EDATA_LOSS,
                             "the checkpoint is corrupt: entry 'dataset/json': not a pipeline");
        }
    }
    if (st == LEVADA_OK) st = shards_compare(env, is, was, err);
    levada_value_destroy(&is);
    levada_value_destroy(&was);
    return st;
}
