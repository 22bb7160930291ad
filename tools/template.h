/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plug-ins that `levada new-plugin` writes: a first part, the lines of one kind, and a last
 * part. Every NAME in them becomes the name of the plug-in, KIND, WHAT and RUN that of the kind.
 */
#ifndef LEVADA_TOOLS_TEMPLATE_H
#define LEVADA_TOOLS_TEMPLATE_H

/* Each ends with NULL. */
extern const char *const levada_cli_template_first[];
extern const char *const levada_cli_template_decoder[];
extern const char *const levada_cli_template_format[];
extern const char *const levada_cli_template_source[];
extern const char *const levada_cli_template_stage[];
extern const char *const levada_cli_template_last[];

#endif
