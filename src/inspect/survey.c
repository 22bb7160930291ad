/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect/survey.h"

#include "base/alloc.h"
#include "base/kernels.h"
#include "base/wire.h"

#include <string.h>

#define SURVEY_FEATURES 1024 /* more are not told apart; each costs 90 kB */

typedef enum survey_kind { SURVEY_NONE, SURVEY_BYTES, SURVEY_FLOAT, SURVEY_INT64 } survey_kind;

typedef struct survey_feature {
    char            *name;
    uint32_t         size;
    bool             sequence;
    uint32_t         kinds; /* a bit for each kind that was seen */
    int64_t          records;
    levada_histogram values, steps;
} survey_feature;

struct levada_survey {
    const levada_kernels *kernels;
    survey_feature       *feature;
    int32_t               n, next; /* next: where the feature that follows usually is */
    int64_t               examples, sequences, others;
};

/* A piece of a message. */
typedef struct survey_part {
    const uint8_t *p, *end;
} survey_part;

levada_status levada_survey_create(levada_survey **out, levada_error *err)
{
    levada_survey *s = levada_alloc_zero(sizeof *s);

    if (s) s->feature = levada_alloc_zero(SURVEY_FEATURES * sizeof *s->feature);
    if (!s || !s->feature) {
        levada_free(s);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "no memory for a survey");
    }
    s->kernels = levada_kernels_for(LEVADA_CPU_AUTO);
    *out = s;
    return LEVADA_OK;
}

void levada_survey_destroy(levada_survey **survey)
{
    levada_survey *s = *survey;

    *survey = NULL;
    if (!s) return;
    for (int32_t i = 0; i < s->n; i++) {
        levada_free(s->feature[i].name);
        levada_histogram_clear(&s->feature[i].values);
        levada_histogram_clear(&s->feature[i].steps);
    }
    levada_free(s->feature);
    levada_free(s);
}

/* -- messages. A reader returns false where the bytes are no such message; with survey == NULL it
 *    only looks. */

/* Takes the next field. False at the end, and where the bytes are no message: then p is NULL. A
 * field of bytes is put into *sized, any other is skipped (*sized is empty) and its tag given. */
static bool survey_field(survey_part *in, uint32_t *tag, survey_part *sized)
{
    uint32_t size;

    if (!in->p || in->p == in->end) return false;
    *sized = (survey_part){in->p, in->p};
    in->p = levada_wire_tag(in->p, in->end, tag);
    if (!in->p) return false;
    if ((*tag & 7) != 2) {
        in->p = levada_wire_skip(*tag, in->p, in->end);
        return in->p != NULL;
    }
    in->p = levada_wire_sized(in->p, in->end, &size);
    if (!in->p) return false;
    *sized = (survey_part){in->p, in->p + size};
    in->p += size;
    return true;
}

/* Values of a list: bytes one by one, numbers packed or one by one. */
static bool survey_list(const levada_survey *s, survey_part in, survey_kind kind, int64_t *values)
{
    survey_part sized;
    uint32_t    tag;

    while (survey_field(&in, &tag, &sized)) {
        if (tag >> 3 != 1) continue;
        if (kind == SURVEY_BYTES || (tag & 7) != 2) {
            *values += 1;
        } else if (kind == SURVEY_FLOAT) {
            if ((sized.end - sized.p) % 4 != 0) return false;
            *values += (sized.end - sized.p) / 4;
        } else {
            if (sized.p < sized.end && sized.end[-1] >= 0x80) return false;
            *values += s->kernels->varint_count(sized.p, (size_t)(sized.end - sized.p));
        }
    }
    return in.p != NULL;
}

static bool survey_value(const levada_survey *s, survey_part in, survey_kind *kind, int64_t *values)
{
    survey_part sized;
    uint32_t    tag;

    *kind = SURVEY_NONE;
    *values = 0;
    while (survey_field(&in, &tag, &sized)) {
        if ((tag & 7) != 2 || tag >> 3 > SURVEY_INT64) return false; /* no Feature has others */
        if (*kind != (survey_kind)(tag >> 3)) *values = 0;
        *kind = (survey_kind)(tag >> 3);
        if (!survey_list(s, sized, *kind, values)) return false;
    }
    return in.p != NULL;
}

/* -- features */

static survey_feature *survey_find(levada_survey *s, survey_part key, bool sequence)
{
    uint32_t        size = (uint32_t)(key.end - key.p);
    survey_feature *f;

    for (int32_t i = 0; i < s->n; i++) {
        int32_t at = (s->next + i) % s->n;

        f = &s->feature[at];
        if (f->size == size && f->sequence == sequence && memcmp(f->name, key.p, size) == 0) {
            s->next = at + 1 < s->n ? at + 1 : 0;
            return f;
        }
    }
    if (s->n == SURVEY_FEATURES) return NULL;
    f = &s->feature[s->n];
    f->name = levada_alloc((size_t)size + 1);
    if (!f->name) return NULL;
    memcpy(f->name, key.p, size);
    f->name[size] = '\0';
    f->size = size;
    f->sequence = sequence;
    s->n++;
    s->next = 0;
    return f;
}

static bool survey_take_feature(levada_survey *s, survey_feature *f, survey_part value)
{
    survey_kind kind;
    int64_t     values;

    if (!survey_value(s, value, &kind, &values)) return false;
    if (!f) return true;
    f->kinds |= 1u << kind;
    f->records++;
    levada_histogram_add(&f->values, values, 1);
    return true;
}

static bool survey_take_steps(levada_survey *s, survey_feature *f, survey_part list)
{
    survey_part step;
    uint32_t    tag;
    survey_kind kind;
    int64_t     values, steps = 0;

    while (survey_field(&list, &tag, &step)) {
        if (tag != LEVADA_WIRE_SIZED(1)) continue;
        if (!survey_value(s, step, &kind, &values)) return false;
        steps++;
        if (!f) continue;
        f->kinds |= 1u << kind;
        levada_histogram_add(&f->values, values, 1);
    }
    if (!list.p) return false;
    if (!f) return true;
    f->records++;
    levada_histogram_add(&f->steps, steps, 1);
    return true;
}

/* A map from names to features, or to lists of them. */
static bool survey_map(levada_survey *s, survey_part in, bool sequence, bool looks, int32_t *found)
{
    survey_part entry, sized;
    uint32_t    tag;

    while (survey_field(&in, &tag, &entry)) {
        survey_part     key = {entry.p, entry.p}, value = {entry.p, entry.p};
        survey_feature *f;

        if (tag != LEVADA_WIRE_SIZED(1)) return false; /* a map has nothing else */
        while (survey_field(&entry, &tag, &sized)) {
            if (tag == LEVADA_WIRE_SIZED(1)) key = sized;
            if (tag == LEVADA_WIRE_SIZED(2)) value = sized;
        }
        if (!entry.p) return false;
        *found += 1;
        f = looks ? NULL : survey_find(s, key, sequence);
        if (!(sequence ? survey_take_steps(s, f, value) : survey_take_feature(s, f, value))) {
            return false;
        }
    }
    return in.p != NULL;
}

static bool survey_message(levada_survey *s, survey_part in, bool looks, int32_t found[2])
{
    survey_part sized;
    uint32_t    tag;

    found[0] = found[1] = 0;
    while (survey_field(&in, &tag, &sized)) {
        uint32_t number = tag >> 3;

        if ((tag & 7) != 2 || number < 1 || number > 2) return false;
        if (!survey_map(s, sized, number == 2, looks, &found[number - 1])) return false;
    }
    return in.p != NULL;
}

void levada_survey_add(levada_survey *s, const uint8_t *data, int64_t size)
{
    survey_part all = {data, data + size};
    int32_t     found[2];

    s->next = 0;
    if (!survey_message(s, all, true, found)) {
        s->others++;
        return;
    }
    (void)survey_message(s, all, false, found);
    s->sequences += found[1] > 0;
    s->examples += found[1] == 0 && found[0] > 0;
}

const char *levada_survey_kind(const levada_survey *s)
{
    if (s->sequences + s->examples <= s->others || s->n == 0) return NULL;
    return s->sequences > 0 ? "SequenceExample" : "Example";
}

/* -- telling */

static const char *survey_kind_name(uint32_t kinds)
{
    uint32_t filled = kinds & ~1u;

    if (filled == 0) return "none";
    if (filled == 1u << SURVEY_BYTES) return "bytes";
    if (filled == 1u << SURVEY_FLOAT) return "float";
    return filled == 1u << SURVEY_INT64 ? "int64" : "mixed";
}

static void survey_list_json(const levada_survey *s, bool sequence, levada_text *text)
{
    const char *comma = "";

    for (int32_t i = 0; i < s->n; i++) {
        const survey_feature *f = &s->feature[i];

        if (f->sequence != sequence) continue;
        levada_text_format(text, "%s{\"name\":", comma);
        levada_text_json(text, f->name, f->size);
        levada_text_format(text, ",\"kind\":\"%s\",\"records\":%lld,\"values\":",
                           survey_kind_name(f->kinds), (long long)f->records);
        levada_histogram_json(&f->values, text);
        if (sequence) {
            levada_text_put(text, ",\"steps\":");
            levada_histogram_json(&f->steps, text);
        }
        levada_text_char(text, '}');
        comma = ",";
    }
}

void levada_survey_json(const levada_survey *s, levada_text *text)
{
    levada_text_put(text, "\"features\":[");
    survey_list_json(s, false, text);
    levada_text_put(text, "],\"sequences\":[");
    survey_list_json(s, true, text);
    levada_text_char(text, ']');
}

const levada_histogram *levada_survey_longest(const levada_survey *s, const char **name)
{
    const levada_histogram *longest = NULL;
    bool                    sequence = false;

    for (int32_t i = 0; i < s->n; i++) {
        const survey_feature   *f = &s->feature[i];
        const levada_histogram *h = f->sequence ? &f->steps : &f->values;

        if (h->n == 0 || (longest && f->sequence < sequence)) continue;
        if (longest && f->sequence == sequence && h->max <= longest->max) continue;
        longest = h;
        sequence = f->sequence; /* steps come before values of the context */
        *name = f->name;
    }
    return longest;
}
