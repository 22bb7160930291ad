/* SPDX-License-Identifier: Apache-2.0 */
#include "web/names.h"

/* Files of a web server without encryption. */
LEVADA_WEB_OPENER(http, "files of a web server", levada_web_locate_url, NULL);
