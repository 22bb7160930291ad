/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions: what is read prints in both forms, and both are read back as the same.
 * Values: the same in their one form.
 */
#include <levada/dataset.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void stop(const char *what, const char *text, const char *other)
{
    fprintf(stderr, "%s\n  %s\n  %s\n", what, text, other);
    abort();
}

/* What text means, as JSON; NULL where it is refused. */
static char *meaning(const char *text, char **short_text, uint8_t print[16], levada_error *err)
{
    levada_dataset *dataset = NULL;
    char           *json = NULL;

    if (levada_dataset_parse(NULL, text, &dataset, err) != LEVADA_OK) return NULL;
    bool printed = levada_dataset_json(dataset, &json, err) == LEVADA_OK &&
                   levada_dataset_text(dataset, short_text, err) == LEVADA_OK &&
                   levada_dataset_fingerprint(dataset, print, err) == LEVADA_OK;
    levada_dataset_unref(&dataset);
    if (!printed) stop("cannot be printed", text, err->message);
    return json;
}

static void same_again(const char *text, const char *json, const char *short_text,
                       const uint8_t print[16])
{
    levada_error err = LEVADA_ERROR_INIT;
    char        *again_text = NULL;
    uint8_t      again_print[16] = {0};
    char        *again = meaning(text, &again_text, again_print, &err);

    if (again == NULL) stop("is not read back", text, err.message);
    if (strcmp(again, json) != 0) stop("means something else", json, again);
    if (strcmp(again_text, short_text) != 0) stop("prints otherwise", short_text, again_text);
    if (memcmp(again_print, print, 16) != 0) stop("has another fingerprint", text, json);
    levada_string_free(&again_text);
    levada_string_free(&again);
}

static void try_dataset(const char *text)
{
    levada_error err = LEVADA_ERROR_INIT;
    char        *short_text = NULL;
    uint8_t      print[16] = {0};
    char        *json = meaning(text, &short_text, print, &err);

    if (json == NULL) {
        if (err.code >= 0 || err.message[0] == '\0') stop("is refused without a reason", text, "");
        return;
    }
    same_again(json, json, short_text, print);
    same_again(short_text, json, short_text, print);
    levada_string_free(&short_text);
    levada_string_free(&json);
}

static char *value_json(const char *text)
{
    levada_value *value = NULL;
    char         *json = NULL;

    if (levada_value_parse(text, &value, NULL) != LEVADA_OK) return NULL;
    if (levada_value_json(value, &json, NULL) != LEVADA_OK) stop("cannot be printed", text, "");
    levada_value_destroy(&value);
    return json;
}

static void try_value(const char *text)
{
    char *json = value_json(text);

    if (json == NULL) return;
    char *again = value_json(json);
    /* A value alone may nest deeper than JSON can say it. */
    if (again != NULL && strcmp(json, again) != 0) stop("means something else", json, again);
    levada_string_free(&again);
    levada_string_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL) return 0;
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    if (strchr(text, '@') == NULL) { /* reads files: not the same everywhere */
        try_dataset(text);
        try_value(text);
    }
    free(text);
    return 0;
}
