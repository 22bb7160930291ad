/* SPDX-License-Identifier: Apache-2.0 */
#include "registry/registry_check.h"

#include "option/option_priv.h"

#include <string.h>

/* Returns the reason to refuse it, NULL if there is none. */
static const char *registry_check_stage(const levada_stage_def *def)
{
    bool serial = def->mode == LEVADA_MODE_SERIAL;

    if (serial && def->next == NULL) return "a SERIAL stage needs next()";
    if (!serial && def->mode != LEVADA_MODE_PURE) return "mode must be SERIAL or PURE";
    if (!serial && def->apply == NULL) return "a PURE stage needs apply()";
    if (!serial && def->next != NULL) return "a PURE stage has no next()";
    if (serial && def->state_size > 0 && (def->save == NULL || def->restore == NULL)) {
        return "a SERIAL stage with state needs save() and restore()";
    }
    bool one = (def->save == NULL) != (def->restore == NULL);
    return one ? "save() and restore() must be set together" : NULL;
}

static const char *registry_check_decoder(const levada_decoder_def *def)
{
    bool whole = def->check != NULL && def->decode != NULL;

    return whole ? NULL : "a decoder needs check() and decode()";
}

static const char *registry_check_format(const levada_op *op)
{
    const levada_format_def *def = &op->def.format;

    if (def->next == NULL && (def->foreign == NULL || def->infer == NULL)) {
        return "a format needs next(), or foreign() and infer()";
    }
    if (def->fields == NULL || def->fields[0] == NULL) return "a format needs a name in fields";
    if (def->decoder != NULL && def->fields[1] != NULL) {
        return "a format with a decoder has one column in fields";
    }
    if (def->decoder != NULL && registry_check_decoder(&op->decoder) != NULL) {
        return "the decoder of a format needs check() and decode()";
    }
    for (int32_t n = 0; def->fields[n] != NULL; n++) {
        if (n == LEVADA_FORMAT_COLUMNS) return "a format has at most 16 columns";
        for (int32_t i = 0; i < n; i++) {
            if (strcmp(def->fields[i],
                       def->fields[n]) == 0) return "two columns have the same name";
        }
    }
    return NULL;
}

static const char *registry_check_source(const levada_source_def *def)
{
    if (def->check == NULL) return "a source needs check()";
    if (def->next == NULL && (def->at == NULL || def->count == NULL)) {
        return "a source needs next(), or at() and count()";
    }
    if (def->next == NULL && (def->save != NULL || def->restore != NULL)) {
        return "a source without next() has neither save() nor restore()";
    }
    bool one = (def->save == NULL) != (def->restore == NULL);
    return one ? "save() and restore() must be set together" : NULL;
}

static const char *registry_check_combiner(const levada_combiner_def *def)
{
    if (def->check == NULL || def->next == NULL) return "a combiner needs check() and next()";
    if (def->state_size > 0 && (def->save == NULL || def->restore == NULL)) {
        return "a combiner with state needs save() and restore()";
    }
    if (def->min_inputs < 0 || (def->max_inputs >= 0 && def->max_inputs < def->min_inputs)) {
        return "min_inputs must not exceed max_inputs";
    }
    return NULL;
}

static const char *registry_check_filter(const levada_filter_def *def)
{
    if (def->probe == NULL || def->decode == NULL) return "a filter needs probe() and decode()";
    if (def->open == NULL || def->close == NULL || def->reset == NULL) {
        return "a filter needs open(), close() and reset()";
    }
    bool one = def->encode != NULL && (def->open_encoder == NULL || def->close_encoder == NULL);
    return one ? "encode() needs open_encoder() and close_encoder()" : NULL;
}

static const char *registry_check_opener(const levada_opener_def *def)
{
    bool whole = def->open && def->close && def->size && def->read_at;

    return whole ? NULL : "an opener needs open(), close(), size() and read_at()";
}

static const char *registry_check_traits(const levada_op *op)
{
    const levada_traits *t = &op->traits;
    bool pure = op->family == LEVADA_FAMILY_STAGE && op->def.stage.mode == LEVADA_MODE_PURE;

    if ((unsigned)t->rows > LEVADA_ROWS_UNBATCHES || (unsigned)t->reads > LEVADA_READS_NONE ||
        (unsigned)t->random > LEVADA_RANDOM_BY_PASS) {
        return "a trait has a value that does not exist";
    }
    if (pure && t->rows == LEVADA_ROWS_PERMUTES) return "only a SERIAL stage permutes records";
    if (pure && t->repeats != 0) return "only a SERIAL stage repeats its input";
    if (t->random == LEVADA_RANDOM_NONE && t->drawn) return "traits: drawn needs random";
    return NULL;
}

static const char *registry_check_hooks(const levada_op *op)
{
    switch (op->family) {
    case LEVADA_FAMILY_STAGE: return registry_check_stage(&op->def.stage);
    case LEVADA_FAMILY_FORMAT: return registry_check_format(op);
    case LEVADA_FAMILY_SOURCE: return registry_check_source(&op->def.source);
    case LEVADA_FAMILY_DECODER: return registry_check_decoder(&op->def.decoder);
    case LEVADA_FAMILY_COMBINER: return registry_check_combiner(&op->def.combiner);
    case LEVADA_FAMILY_FILTER: return registry_check_filter(&op->def.filter);
    case LEVADA_FAMILY_OPENER: return registry_check_opener(&op->def.opener);
    }
    return "unknown family";
}

levada_status levada_registry_check(const levada_op *op, levada_error *err)
{
    const char *name = op->name, *wrong = NULL;

    if (name == NULL || name[0] < 'a' || name[0] > 'z' || strlen(name) > 40 ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789")] != '\0') {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "%s: a name must have 1 to 40 characters of a-z, 0-9 and _, and begin "
                           "with a letter",
                           name != NULL ? name : "NULL");
    }
    wrong = registry_check_hooks(op);
    if (wrong == NULL) wrong = registry_check_traits(op);
    levada_status status = wrong != NULL ? levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s", wrong)
                                         : levada_option_check_table(op->args, op->args_size, err);
    if (status != LEVADA_OK) levada_error_wrap(err, "%s", name);
    return status;
}
