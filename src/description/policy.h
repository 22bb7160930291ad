/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to bad records: fail (the default), or skip them up to a budget.
 */
#ifndef LEVADA_DESCRIPTION_POLICY_H
#define LEVADA_DESCRIPTION_POLICY_H

#include <levada/error.h>

typedef struct levada_policy {
    bool    skip;  /* false: the first bad record is the end          */
    int64_t most;  /* bad records allowed, -1 = any number            */
    double  share; /* of all records so far, 0..1; negative = no rule */
} levada_policy;

/* Parses NULL or "fail" | "skip" | "skip:1000" | "skip:0.1%"; else fails with EINVALID_ARGUMENT. */
LEVADA_MUST_USE levada_status levada_policy_parse(const char *text, levada_policy *out,
                                                  levada_error *err);
/* Returns true if `bad` of `records` (good and bad ones) are within the budget. A share counts from
 * 1,000 records on, so that one bad record early in a file is not half of all. */
bool levada_policy_allows(const levada_policy *policy, int64_t bad, int64_t records);

#endif
