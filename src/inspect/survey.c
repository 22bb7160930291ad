/* SPDX-License-Identifier: Apache-2.0 */
#include "inspect/survey.h"

#include "base/alloc.h"
#include "base/hash.h"
#include <levada/example_view.h>

#include <string.h>

#define SURVEY_FEATURES 1024 /* more are counted in one sum; each costs 90 kB */

#define SURVEY_SLOTS (2 * SURVEY_FEATURES) /* a power of two */

typedef struct survey_feature {
    char            *name;
    uint32_t         size;
    bool             sequence;
    uint32_t         kinds; /* a bit for each dtype that items had */
    int64_t          records;
    levada_histogram values, steps;
} survey_feature;

struct levada_survey {
    levada_example_view *view;
    survey_feature      *feature;
    int32_t              *index; /* 1 + number of the feature by hash of its name, or 0 */
    int32_t               n;
    int64_t               more; /* features of records whose names found no place */
    int64_t               examples, sequences, others;
};

levada_status levada_survey_create(levada_survey **out, levada_error *err)
{
    levada_survey *s = levada_alloc_zero(sizeof *s);

    if (s) s->feature = levada_alloc_zero(SURVEY_FEATURES * sizeof *s->feature);
    if (s) s->index = levada_alloc_zero(SURVEY_SLOTS * sizeof *s->index);
    if (!s || !s->feature || !s->index || levada_example_view_create(&s->view, NULL) != LEVADA_OK) {
        levada_survey_destroy(&s);
        return levada_fail(err, LEVADA_ERESOURCE_EXHAUSTED, "out of memory for a survey");
    }
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
    levada_example_view_destroy(&s->view);
    levada_free(s->feature);
    levada_free(s->index);
    levada_free(s);
}

/* -- features */

/* Returns the place where the index has this feature, or would have it. */
static int32_t *survey_place(levada_survey *s, const levada_example_feature *seen)
{
    uint64_t at = levada_hash64(seen->name, seen->name_size, seen->sequence);

    for (;; at++) {
        int32_t              *place = &s->index[at % SURVEY_SLOTS];
        const survey_feature *f = *place ? &s->feature[*place - 1] : NULL;

        if (!f || (f->size == seen->name_size && f->sequence == seen->sequence &&
                   memcmp(f->name, seen->name, f->size) == 0)) {
            return place;
        }
    }
}

static survey_feature *survey_find(levada_survey *s, const levada_example_feature *seen)
{
    size_t          size = seen->name_size;
    int32_t        *place = survey_place(s, seen);
    survey_feature *f;

    if (*place) return &s->feature[*place - 1];
    if (s->n == SURVEY_FEATURES) return NULL;
    f = &s->feature[s->n];
    f->name = levada_alloc(size + 1);
    if (!f->name) return NULL;
    memcpy(f->name, seen->name, size);
    f->name[size] = '\0';
    f->size = (uint32_t)size;
    f->sequence = seen->sequence;
    *place = ++s->n;
    return f;
}

static void survey_take(levada_survey *s, const levada_example_feature *seen)
{
    survey_feature *f = survey_find(s, seen);

    if (!f) {
        s->more++;
        return;
    }
    f->records++;
    for (int64_t i = 0; i < seen->nitems; i++) {
        f->kinds |= 1u << seen->items[i].dtype;
        levada_histogram_add(&f->values, seen->items[i].count, 1);
    }
    if (seen->sequence) levada_histogram_add(&f->steps, seen->nitems, 1);
}

levada_status levada_survey_add(levada_survey *s, const uint8_t *data, int64_t size,
                                levada_error *err)
{
    levada_example_kind kind;
    int64_t             n;

    LEVADA_TRY(levada_example_view_parse(s->view, data, (size_t)size, &kind, err));
    n = levada_example_view_count(s->view);
    for (int64_t i = 0; i < n; i++) survey_take(s, levada_example_view_at(s->view, i));
    s->others += kind == LEVADA_EXAMPLE_OTHER;
    s->sequences += kind == LEVADA_EXAMPLE_SEQUENCE && n > 0;
    s->examples += kind == LEVADA_EXAMPLE_PLAIN && n > 0;
    return LEVADA_OK;
}

const char *levada_survey_kind(const levada_survey *s)
{
    if (s->sequences + s->examples <= s->others || s->n == 0) return NULL;
    return s->sequences > 0 ? "SequenceExample" : "Example";
}

/* -- telling */

static const char *survey_kind_name(uint32_t kinds)
{
    uint32_t filled = kinds & ~(1u << LEVADA_NONE);

    if (filled == 0) return "none";
    if (filled == 1u << LEVADA_BYTES) return "bytes";
    if (filled == 1u << LEVADA_FLOAT32) return "float";
    return filled == 1u << LEVADA_INT64 ? "int64" : "mixed";
}

static void survey_list_json(const levada_survey *s, bool sequence, levada_text *text)
{
    const char *comma = "";

    for (int32_t i = 0; i < s->n; i++) {
        const survey_feature *f = &s->feature[i];

        if (f->sequence != sequence) continue;
        levada_text_format(text, "%s{\"name\":", comma);
        levada_text_json_name(text, f->name, f->size);
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
    if (s->more > 0) levada_text_format(text, ",\"unlisted_features\":%lld", (long long)s->more);
}

const levada_histogram *levada_survey_longest(const levada_survey *s, const char **name,
                                             size_t *size)
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
        *size = f->size;
    }
    return longest;
}
