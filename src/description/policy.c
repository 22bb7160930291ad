/* SPDX-License-Identifier: Apache-2.0 */
#include "description/policy.h"

#include "base/assert.h"

#include <levada/iter.h>
#include <stdlib.h>
#include <string.h>

#define POLICY_LEAST_RECORDS 1000

static levada_status policy_refuse(const char *text, levada_error *err)
{
    return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                       "errors='%s' must be fail, skip, skip:COUNT or skip:SHARE%%", text);
}

/* Reads a budget, which begins with a digit and is decimal: strtod alone would accept "inf", signs,
 * spaces and hexadecimal numbers. */
static levada_status policy_budget(const char *text, const char *budget, levada_policy *policy,
                                   levada_error *err)
{
    char  *rest = NULL;
    size_t length = strlen(budget);

    if (*budget < '0' || *budget > '9' || strpbrk(budget, "xX")) return policy_refuse(text, err);
    if (budget[length - 1] == '%') {
        policy->share = strtod(budget, &rest) / 100.0;
        if (rest != budget + length - 1 || policy->share > 1.0) return policy_refuse(text, err);
        return LEVADA_OK;
    }
    policy->most = strtoll(budget, &rest, 10);
    return *rest == '\0' ? LEVADA_OK : policy_refuse(text, err);
}

levada_status levada_policy_parse(const char *text, levada_policy *out, levada_error *err)
{
    levada_policy policy = {.skip = false, .most = -1, .share = -1.0};

    if (text && strcmp(text, "fail") != 0) {
        if (strncmp(text, "skip", 4) != 0 || (text[4] != '\0' && text[4] != ':')) {
            return policy_refuse(text, err);
        }
        policy.skip = true;
        if (text[4] == ':') LEVADA_TRY(policy_budget(text, text + 5, &policy, err));
    }
    *out = policy;
    return LEVADA_OK;
}

levada_status levada_errors_check(const char *errors, levada_error *err)
{
    levada_policy policy;

    LEVADA_TRY(levada_require(errors != NULL, "errors", err));
    return levada_policy_parse(errors, &policy, err);
}

bool levada_policy_allows(const levada_policy *policy, int64_t bad, int64_t records)
{
    int64_t counted = records < POLICY_LEAST_RECORDS ? POLICY_LEAST_RECORDS : records;

    if (!policy->skip) return bad == 0;
    if (policy->most >= 0 && bad > policy->most) return false;
    return policy->share < 0 || (double)bad <= policy->share * (double)counted;
}
