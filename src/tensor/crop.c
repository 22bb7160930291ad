/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/crop.h"

#include "base/random.h"

#include <math.h>

enum { CROP_TRIES = 10, CROP_DRAWS = 4 };

static levada_status crop_limits(levada_floats list, const char *name, double most, double out[2],
                                 levada_error *err)
{
    if (list.n != 2) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT, "%s must be [least, most], got %lld "
                           "numbers", name, (long long)list.n);
    }
    for (int i = 0; i < 2; i++) out[i] = list.at[i];
    if (out[0] > 0 && out[0] <= out[1] && out[1] <= most) return LEVADA_OK;
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "%s must be [least, most] with 0 < least <= most <= %g, got [%g, %g]", name,
                       most, out[0], out[1]);
}

levada_status levada_crop_rule_of(levada_floats scale, const char *scale_name, levada_floats ratio,
                                  const char *ratio_name, levada_crop_rule *out, levada_error *err)
{
    LEVADA_TRY(crop_limits(scale, scale_name, 1, out->scale, err));
    return crop_limits(ratio, ratio_name, 1e4, out->ratio, err);
}

/* Returns a number between two, drawn with number `n` of the key. */
static double crop_between(uint64_t key, uint64_t n, double least, double most)
{
    return least + levada_random_unit(levada_random_at(key, n)) * (most - least);
}

static int64_t crop_place(uint64_t key, uint64_t n, int64_t places)
{
    return (int64_t)levada_random_below(levada_random_at(key, n), (uint64_t)places);
}

static void crop_middle(const levada_crop_rule *rule, int64_t height, int64_t width,
                        levada_image *w)
{
    double ratio = (double)width / (double)height;

    w->height = height;
    w->width = width;
    if (ratio < rule->ratio[0]) w->height = (int64_t)rint((double)width / rule->ratio[0]);
    else if (ratio > rule->ratio[1]) w->width = (int64_t)rint((double)height * rule->ratio[1]);
    if (w->height < 1) w->height = 1;
    if (w->width < 1) w->width = 1;
    w->y = (height - w->height) / 2;
    w->x = (width - w->width) / 2;
}

void levada_crop_draw(const levada_crop_rule *rule, uint64_t key, int64_t height, int64_t width,
                      levada_image *w)
{
    double low = log(rule->ratio[0]), high = log(rule->ratio[1]);

    for (uint64_t i = 0; i < CROP_TRIES * CROP_DRAWS; i += CROP_DRAWS) {
        double area = (double)(height * width) *
                      crop_between(key, i, rule->scale[0], rule->scale[1]);
        double ratio = exp(crop_between(key, i + 1, low, high));

        w->width = (int64_t)rint(sqrt(area * ratio));
        w->height = (int64_t)rint(sqrt(area / ratio));
        if (w->width < 1 || w->width > width || w->height < 1 || w->height > height) continue;
        w->y = crop_place(key, i + 2, height - w->height + 1);
        w->x = crop_place(key, i + 3, width - w->width + 1);
        return;
    }
    crop_middle(rule, height, width, w);
}
