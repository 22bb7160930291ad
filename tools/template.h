/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plug-ins that `levada new-plugin` writes. Every NAME in them becomes the name.
 */
#ifndef LEVADA_TOOLS_TEMPLATE_H
#define LEVADA_TOOLS_TEMPLATE_H

/* The lines of the files; each ends with NULL. */
extern const char *const levada_cli_template_decoder[];
extern const char *const levada_cli_template_format[];
extern const char *const levada_cli_template_source[];
extern const char *const levada_cli_template_stage[];

#endif
