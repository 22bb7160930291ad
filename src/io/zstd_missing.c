/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces zstd in builds that did not find it: the name remains, and its errors say why. */
#include <levada/filter.h>

typedef struct zstd_missing_state {
    char unused;
} zstd_missing_state;

static int32_t zstd_missing_probe(const uint8_t *data, size_t size)
{
    if (size < 4) return 0;
    return data[0] == 0x28 && data[1] == 0xb5 && data[2] == 0x2f && data[3] == 0xfd ? 32 : 0;
}

static levada_status zstd_missing_open(void *state, levada_error *err)
{
    (void)state;
    return levada_fail(err, LEVADA_EUNIMPLEMENTED,
                       "zstd: levada was built without libzstd (on Debian: apt install "
                       "libzstd-dev)");
}

static void zstd_missing_close(void *state) { (void)state; }

static levada_status zstd_missing_decode(void *state, levada_filter_step *step, levada_error *err)
{
    (void)step;
    return zstd_missing_open(state, err);
}

static levada_status zstd_missing_open_encoder(void *state, int32_t level, int32_t threads,
                                               levada_error *err)
{
    (void)level, (void)threads;
    return zstd_missing_open(state, err);
}

const levada_filter_def levada_filter_zstd = {
    .struct_size = sizeof(levada_filter_def),
    .name = "zstd",
    .doc = "zstd (not in this build)",
    .suffix = ".zst",
    .state_size = sizeof(zstd_missing_state),
    .probe = zstd_missing_probe,
    .open = zstd_missing_open,
    .close = zstd_missing_close,
    .reset = zstd_missing_open,
    .decode = zstd_missing_decode,
    .open_encoder = zstd_missing_open_encoder,
    .encode = zstd_missing_decode,
    .close_encoder = zstd_missing_close,
};
