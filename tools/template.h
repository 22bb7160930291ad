/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plug-in that `levada new-plugin` begins with. Every NAME in it becomes the name.
 */
#ifndef LEVADA_TOOLS_TEMPLATE_H
#define LEVADA_TOOLS_TEMPLATE_H

/* The lines of the file; ends with NULL. */
extern const char *const levada_cli_template[];

#endif
