/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/sample.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/text.h"
#include "registry/env_priv.h"
#include <levada/example.h>
#include <levada/output.h>
#include <levada/sample.h>
#include <levada/writer.h>

#include <string.h>

#define SAMPLE_FILES 2
#define SAMPLE_RECORDS 150 /* in each file */
#define SAMPLE_LEVEL 6     /* of zlib: the same bytes on every machine */
#define SAMPLE_SPEAKERS 32
#define SAMPLE_TOKENS 2048 /* more than the longest speech has */

static const char sample_spec[] = "{\"tokens\": {\"kind\": \"VarLen\", \"dtype\": \"int64\"},\n"
                                  " \"label\": {\"kind\": \"FixedLen\", \"shape\": [], "
                                  "\"dtype\": \"int64\"}}\n";

typedef struct sample_part {
    const char *at;
    size_t      size;
} sample_part;

/* The speeches, one after the other. */
typedef struct sample_cursor {
    size_t      at; /* in levada_sample_text */
    int64_t     nspeakers;
    sample_part speakers[SAMPLE_SPEAKERS]; /* in the order of their first speech */
    sample_part speaker, speech;           /* of the current record */
    int64_t     label;                     /* the number of the current speaker */
} sample_cursor;

/* Returns the bytes from c->at up to `mark`, or up to the end of the text; c->at moves past the
 * mark. */
static sample_part sample_until(sample_cursor *c, const char *mark)
{
    size_t      width = strlen(mark), end = c->at;
    sample_part part = {.at = levada_sample_text + c->at};

    while (end + width <= levada_sample_text_size &&
           memcmp(levada_sample_text + end, mark, width) != 0) {
        end++;
    }
    if (end + width > levada_sample_text_size) end = levada_sample_text_size - 1;
    part.size = end - c->at;
    c->at = end + width < levada_sample_text_size ? end + width : levada_sample_text_size;
    return part;
}

static void sample_next(sample_cursor *c)
{
    c->speaker = sample_until(c, ":\n");
    c->speech = sample_until(c, "\n\n");
    for (c->label = 0; c->label < c->nspeakers; c->label++) {
        const sample_part *known = &c->speakers[c->label];

        if (known->size == c->speaker.size && !memcmp(known->at, c->speaker.at, known->size)) {
            return;
        }
    }
    c->speakers[c->nspeakers++] = c->speaker;
}

static levada_status sample_encode(const sample_cursor *c, levada_example *example,
                                   levada_error *err)
{
    const void   *speaker = c->speaker.at;
    int64_t       tokens[SAMPLE_TOKENS];
    levada_status st;

    for (size_t i = 0; i < c->speech.size; i++) tokens[i] = (unsigned char)c->speech.at[i];
    levada_example_reset(example);
    st = levada_example_add_i64(example, "tokens", tokens, (int64_t)c->speech.size, err);
    if (st == LEVADA_OK) st = levada_example_add_i64(example, "label", &c->label, 1, err);
    if (st == LEVADA_OK) {
        st = levada_example_add_bytes(example, "speaker", &speaker, &c->speaker.size, 1, err);
    }
    return st;
}

static levada_status sample_records(sample_cursor *c, levada_writer *writer, levada_error *err)
{
    levada_example *example = NULL;
    const uint8_t  *data;
    size_t          size;
    levada_status   st = levada_example_create(&example, err);

    for (int i = 0; i < SAMPLE_RECORDS && st == LEVADA_OK; i++) {
        sample_next(c);
        st = sample_encode(c, example, err);
        if (st == LEVADA_OK) st = levada_example_finish(example, &data, &size, err);
        if (st == LEVADA_OK) st = levada_writer_write(writer, data, size, err);
    }
    levada_example_destroy(&example);
    return st;
}

static levada_status sample_path(const char *folder, const char *name, char **out,
                                 levada_error *err)
{
    levada_text text = {0};

    levada_text_format(&text, "%s/%s", folder, name);
    return levada_text_steal(&text, out, err);
}

static levada_status sample_tfrecord(levada_env *env, const char *folder, const char *name,
                                     sample_cursor *c, levada_error *err)
{
    levada_writer *writer = NULL;
    char          *path = NULL;
    levada_status  st = sample_path(folder, name, &path, err);

    if (st == LEVADA_OK) st = levada_writer_open(env, path, "gzip", SAMPLE_LEVEL, &writer, err);
    if (st == LEVADA_OK) st = sample_records(c, writer, err);
    if (st == LEVADA_OK) st = levada_writer_close(writer, err);
    levada_writer_destroy(&writer);
    levada_free(path);
    return st;
}

/* Writes one speech per line. */
static void sample_lines(levada_text *text)
{
    sample_cursor c = {0};

    for (int i = 0; i < SAMPLE_FILES * SAMPLE_RECORDS; i++) {
        sample_next(&c);
        for (size_t k = 0; k < c.speech.size; k++) {
            levada_text_char(text, c.speech.at[k] == '\n' ? ' ' : c.speech.at[k]);
        }
        levada_text_char(text, '\n');
    }
}

static levada_status sample_plain(const char *folder, const char *name, const char *data,
                                  size_t size, levada_error *err)
{
    char         *path = NULL;
    levada_status st = sample_path(folder, name, &path, err);

    if (st == LEVADA_OK) st = levada_output_save(path, data, size, err);
    levada_free(path);
    return st;
}

levada_status levada_sample_write(levada_env *env, const char *folder, levada_error *err)
{
    static const char *const names[SAMPLE_FILES] = {"train-0.tfrecord.gz", "train-1.tfrecord.gz"};
    sample_cursor            c = {0};
    levada_text              lines = {0};
    char                    *text = NULL;
    levada_status            st = LEVADA_OK;

    LEVADA_TRY(levada_require(folder != NULL, "folder", err));
    LEVADA_TRY(levada_env_have(env, err));
    for (int i = 0; i < SAMPLE_FILES && st == LEVADA_OK; i++) {
        st = sample_tfrecord(env, folder, names[i], &c, err);
    }
    if (st == LEVADA_OK) {
        st = sample_plain(folder, "spec.json", sample_spec, sizeof sample_spec - 1, err);
    }
    if (st != LEVADA_OK) return st;
    sample_lines(&lines);
    LEVADA_TRY(levada_text_steal(&lines, &text, err));
    st = sample_plain(folder, "speeches.txt", text, strlen(text), err);
    levada_free(text);
    return st;
}
