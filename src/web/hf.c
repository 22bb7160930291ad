/* SPDX-License-Identifier: Apache-2.0 */
#include "web/names.h"

#include <stdio.h>
#include <string.h>

/*
 * hf://datasets/OWNER/NAME[@REVISION]/PATH, or hf://OWNER/NAME/PATH for models, as
 * huggingface_hub spells them. HF_TOKEN is sent to the hub only; HF_ENDPOINT is another hub.
 */

/* Returns the end of the part of a path that begins at `at`. */
static const char *hf_part(const char *at)
{
    return at + strcspn(at, "/");
}

static levada_status hf_locate(const char *path, levada_web_target *out, levada_error *err)
{
    const char *owner = strstr(path, "://") + 3, *end, *file, *revision;
    char        hub[512];
    int         used;

    if (strncmp(owner, "datasets/", 9) == 0 || strncmp(owner, "spaces/", 7) == 0) {
        owner = hf_part(owner) + 1;
    }
    end = hf_part(owner);
    end = *end ? hf_part(end + 1) : end;
    if (!*end || !end[1]) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "a name in the hub must be hf://datasets/OWNER/NAME/PATH or "
                           "hf://OWNER/NAME/PATH, got %.100s",
                           path);
    }
    file = end + 1;
    revision = memchr(owner, '@', (size_t)(end - owner));
    if (!levada_web_setting("HF_ENDPOINT", NULL, "https://huggingface.co", hub, sizeof hub) ||
        !levada_web_setting("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "", out->token,
                            sizeof out->token)) {
        return levada_fail(
            err, LEVADA_EINVALID_ARGUMENT,
            "HF_ENDPOINT or HF_TOKEN in the environment is too long; the most are %zu "
            "and %zu bytes",
            sizeof hub - 1, sizeof out->token - 1);
    }
    used = snprintf(out->url, sizeof out->url, "%s/%.*s/resolve/%.*s/", hub,
                    (int)((revision ? revision : end) - (strstr(path, "://") + 3)),
                    strstr(path, "://") + 3, revision ? (int)(end - revision - 1) : 4,
                    revision ? revision + 1 : "main");
    if (used < 0 || (size_t)used >= sizeof out->url) {
        return levada_fail(err, LEVADA_EINVALID_ARGUMENT,
                           "the URL of the name has more than %zu bytes", sizeof out->url - 1);
    }
    return levada_web_append_key(out, file, err);
}

LEVADA_WEB_OPENER(hf, "files of the Hugging Face hub", hf_locate, NULL);
