/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/json_parser.h"

#include "base/alloc.h"
#include "base/number.h"
#include "base/text.h"
#include "rows/json_scan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

levada_status levada_json_parser_open(levada_json_parser *p, bool replace, levada_error *err)
{
    p->replace = replace;
    return levada_json_reader_create(&p->reader, err);
}

void levada_json_parser_close(levada_json_parser *p)
{
    levada_free(p->text.at);
    levada_free(p->odd.at);
    levada_json_reader_destroy(&p->reader);
    *p = (levada_json_parser){ 0 };
}

static levada_status parser_parse(levada_json_parser *p, const uint8_t *text, size_t size,
                                  const char **wrong, levada_json_value *root, levada_error *err)
{
    LEVADA_TRY(levada_json_reader_reserve(p->reader, size, err));
    *wrong = levada_json_reader_parse(p->reader, text, size, root);
    return LEVADA_OK;
}

levada_status levada_json_parser_read(levada_json_parser *p, const uint8_t *text, size_t size,
                                      const char **wrong, levada_json_value *root,
                                      levada_error *err)
{
    const char *found = NULL;

    p->mended = p->replaced = false;
    LEVADA_TRY(parser_parse(p, text, size, wrong, root, err));
    if (!*wrong) return LEVADA_OK;
    LEVADA_TRY(levada_json_scan(p, text, size, &found, err));
    if (found) *wrong = found;
    else if (p->mended && p->lines) *wrong = NULL;
    else if (p->mended)
        LEVADA_TRY(parser_parse(p, p->text.at, (size_t)p->text.n, wrong, root, err));
    return LEVADA_OK;
}

levada_json_odd levada_json_parser_odd(levada_json_parser *p, levada_json_value value)
{
    uint64_t big = levada_json_as_big(value);
    int      size;

    if (p->mended) return ((const levada_json_odd *)p->odd.at)[big - LEVADA_JSON_ODD];
    size = snprintf(p->digits, sizeof p->digits, "%" PRIu64, big);
    return (levada_json_odd){ p->digits, size, true };
}

bool levada_json_odd_float(const levada_json_odd *odd, double *f)
{
    bool named = strchr("Ny", odd->text[odd->size - 1]) != NULL; /* NaN, Infinity */

    return levada_number_scan_f64(odd->text, (size_t)odd->size, f) != LEVADA_NUMBER_NONE &&
           (named || isfinite(*f));
}
