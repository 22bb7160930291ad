/* SPDX-License-Identifier: Apache-2.0 */
#include "web/names.h"

/* Files of a web server, and presigned URLs of object stores. */
LEVADA_WEB_OPENER(https, "files of a web server, and presigned URLs of object stores",
                  levada_web_locate_url, NULL);
