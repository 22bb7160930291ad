/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of levada stats as one HTML page with charts. It loads nothing: styles and drawings
 * are part of it.
 */
#ifndef LEVADA_TOOLS_STATS_PAGE_H
#define LEVADA_TOOLS_STATS_PAGE_H

#include "json.h"

/* `report` is the object of levada_padding_report; `description` is what was read. */
void levada_cli_stats_page(levada_cli_buffer *page, const levada_value *report,
                           const char *description);

#endif
