/* SPDX-License-Identifier: Apache-2.0 */
/* What this build has: src/meson.build defines LEVADA_CONFIG_*, versions as "", where missing. */
#include "base/assert.h"
#include "base/cpu.h"
#include "base/kernels.h"
#include "base/text.h"
#include "registry/env_priv.h"

#include <string.h>

static void config_put_version(levada_text *text, const char *key, const char *version)
{
    levada_text_format(text, ",\"%s\":", key);
    if (version[0]) levada_text_json(text, version, strlen(version));
    else levada_text_put(text, "null");
}

static void config_put_bool(levada_text *text, const char *key, int value)
{
    levada_text_format(text, ",\"%s\":%s", key, value ? "true" : "false");
}

levada_status levada_config_describe(levada_env *env, char **out, levada_error *err)
{
    LEVADA_TRY(levada_require(out != NULL, "out", err));
    LEVADA_TRY(levada_env_have(env, err));
    levada_env  *own = levada_env_ref(env);
    levada_text  text = {0};
    const char  *level = levada_cpu_name(levada_env_kernels(own)->level);

    levada_text_format(&text, "{\"version\":\"%s\",\"cpu\":\"%s\",\"cpu_detected\":\"%s\"",
                       levada_version(), level, levada_cpu_name(levada_cpu_detect()));
    config_put_bool(&text, "simd", LEVADA_CONFIG_SIMD);
    config_put_bool(&text, "futex", LEVADA_CONFIG_FUTEX);
    config_put_bool(&text, "debug", LEVADA_DEBUG);
    config_put_version(&text, "curl", LEVADA_CONFIG_CURL);
    config_put_version(&text, "flac", LEVADA_CONFIG_FLAC);
    config_put_version(&text, "isal", LEVADA_CONFIG_ISAL);
    config_put_version(&text, "jpeg", LEVADA_CONFIG_JPEG);
    config_put_version(&text, "kissfft", LEVADA_CONFIG_KISSFFT);
    config_put_version(&text, "png", LEVADA_CONFIG_PNG);
    config_put_version(&text, "simdjson", LEVADA_CONFIG_SIMDJSON);
    config_put_version(&text, "soxr", LEVADA_CONFIG_SOXR);
    config_put_version(&text, "zlib", LEVADA_CONFIG_ZLIB);
    config_put_version(&text, "zstd", LEVADA_CONFIG_ZSTD);
    levada_text_put(&text, "}");
    levada_env_unref(&own);
    return levada_text_steal(&text, out, err);
}
