/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any decoder, FUZZ_NAME, with the options of its example: the build makes a target of each. A
 * string is decoded or rejected with a reason; the strings around it do not matter, nor does the
 * level of the processor, which is tried with one input in 16. Images are small: 100 bytes of PNG
 * can hold 100,000 pixels, whose memory costs more than all the decoding.
 */
#include "rows.h"

#include <levada/levada.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DECODER_LEVELS (LEVADA_CPU_AVX512 + 1)
#define DECODER_PIXELS "max_pixels" /* the option, and its value */
#define DECODER_MOST_PIXELS "16384"

static void decoder_require(bool holds)
{
    if (!holds) abort();
}

/* The member `name` of a list of {"name": ...}; NULL = there is none. */
static const levada_value *decoder_find(const levada_value *list, const char *name)
{
    for (int64_t i = 0; i < levada_value_count(list); i++) {
        const levada_value *item = levada_value_item(list, i);
        const char *text = levada_value_as_text(levada_value_get(item, "name"), NULL);

        if (text && strcmp(text, name) == 0) return item;
    }
    return NULL;
}

/* The example of the decoder in levada_stages_json. */
static levada_dataset *decoder_example(void)
{
    levada_dataset *ds = NULL;
    levada_value *stages = NULL;
    const levada_value *op;
    char *text = NULL, example[1024];

    decoder_require(levada_stages_json(NULL, &text, NULL) == LEVADA_OK);
    decoder_require(levada_value_parse_json(text, strlen(text), &stages, NULL) == LEVADA_OK);
    levada_string_free(&text);
    op = decoder_find(stages, FUZZ_NAME);
    decoder_require(op);
    (void)snprintf(example, sizeof example, "%s%s",
                   levada_value_as_text(levada_value_get(op, "example"), NULL),
                   decoder_find(levada_value_get(op, "args"), DECODER_PIXELS)
                       ? "," DECODER_PIXELS "=" DECODER_MOST_PIXELS
                       : "");
    decoder_require(levada_dataset_parse(NULL, example, &ds, NULL) == LEVADA_OK);
    levada_value_destroy(&stages);
    return ds;
}

/* The decoder with the options of the last stage of its example, and kernels up to a level. */
static levada_decoding *decoder_open(levada_cpu_level level)
{
    levada_env_options options = LEVADA_ENV_OPTIONS_INIT;
    levada_env *env = NULL;
    levada_dataset *ds = decoder_example();
    levada_decoding *decoding = NULL;
    levada_value *json = NULL;
    const levada_value *stages;
    char *text = NULL;

    options.cpu = level;
    decoder_require(levada_env_create(&options, &env, NULL) == LEVADA_OK);
    decoder_require(levada_dataset_json(ds, &text, NULL) == LEVADA_OK);
    decoder_require(levada_value_parse(text, &json, NULL) == LEVADA_OK);
    stages = levada_value_get(json, "stages");
    stages = levada_value_item(stages, levada_value_count(stages) - 1);
    decoder_require(levada_decoding_open(env, FUZZ_NAME, levada_value_get(stages, "args"),
                                         &decoding, NULL) == LEVADA_OK);
    levada_value_destroy(&json);
    levada_string_free(&text);
    levada_dataset_unref(&ds);
    return decoding;
}

static levada_status decoder_run(levada_decoding *decoding, const void *const *strings,
                                 const size_t *sizes, int64_t n, levada_block **out)
{
    levada_error err = LEVADA_ERROR_INIT;
    levada_status st = levada_decoding_run(decoding, strings, sizes, n, out, &err);

    decoder_require(st == LEVADA_OK || (err.code == st && err.message[0]));
    decoder_require(st == LEVADA_OK || st == LEVADA_EINVALID_ARGUMENT ||
                    st == LEVADA_EDATA_LOSS || st == LEVADA_ERESOURCE_EXHAUSTED ||
                    st == LEVADA_EUNIMPLEMENTED); /* a library that is not built in */
    return st;
}

static void decoder_check_levels(levada_decoding *const *decodings, const void *data, size_t size)
{
    levada_cli_buffer first = { 0 }, text = { 0 };

    for (int i = LEVADA_CPU_AUTO; i < DECODER_LEVELS; i++) {
        levada_cli_buffer *to = i == LEVADA_CPU_AUTO ? &first : &text;
        levada_block *block = NULL;

        levada_cli_puts(to, levada_status_name(decoder_run(decodings[i], &data, &size, 1, &block)));
        if (block) levada_cli_row_json(to, block, 0);
        decoder_require(to == &first || strcmp(first.at, text.at) == 0);
        levada_cli_buffer_clear(&text);
        levada_block_unref(&block);
    }
    levada_cli_buffer_clear(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static levada_decoding *decodings[DECODER_LEVELS];
    const void *strings[] = { data, data };
    const size_t sizes[] = { size, size };
    levada_block *one = NULL, *two = NULL;
    levada_status st;

    if (size > 1 << 16) return 0;
    for (int i = LEVADA_CPU_AUTO; i < DECODER_LEVELS && !decodings[DECODER_LEVELS - 1]; i++)
        decodings[i] = decoder_open((levada_cpu_level)i);
    st = decoder_run(decodings[LEVADA_CPU_AUTO], strings, sizes, 1, &one);
    decoder_require(decoder_run(decodings[LEVADA_CPU_AUTO], strings, sizes, 2, &two) == st);
    decoder_require(st != LEVADA_OK ||
                    (levada_block_rows(one) == 1 && levada_block_rows(two) == 2));
    levada_block_unref(&one);
    levada_block_unref(&two);
    if (FUZZ_ALL || size % 16 == 0) decoder_check_levels(decodings, data, size);
    return 0;
}
