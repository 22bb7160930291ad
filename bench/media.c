/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images and sounds: levada's decoders and stages, and the libraries that they use, alone and into
 * as many reused buffers as a block has. The data is made here: photographs of 500 x 375 pixels as
 * JPEG of quality 90 and as PNG, and 60 seconds of sound, also as WAV and FLAC of 16 bits. Counts
 * images, and samples of sounds; bytes are those encoded.
 */
#include "harness.h"

#include <levada/levada.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <FLAC/stream_decoder.h>
#include <FLAC/stream_encoder.h>
#include <kiss_fftr.h>
#include <png.h>
#include <soxr.h>

enum {
    MEDIA_IMAGES = 16,
    MEDIA_BLOCK = 8, /* images of that size in a block */
    MEDIA_WIDTH = 500,
    MEDIA_HEIGHT = 375,
    MEDIA_ROW = 3 * MEDIA_WIDTH,
    MEDIA_PIXELS = MEDIA_ROW * MEDIA_HEIGHT,
    MEDIA_RATE = 44100,
    MEDIA_FRAMES = 60 * MEDIA_RATE,
    MEDIA_STEP = 16, /* samples that a loop takes at a time: compilers vectorize these */
    MEDIA_FFT = 400, /* of log_mel, and the step of its frames */
    MEDIA_HOP = 160
};

typedef struct media_state {
    void            *encoded[MEDIA_IMAGES];
    size_t           size[MEDIA_IMAGES];
    int              n, block;
    int64_t          counts; /* records of a string */
    int              crops;
    levada_decoding *decoding;
    levada_dataset  *dataset;
    uint8_t         *pixels;
    float           *samples, *resampled;
    size_t           at; /* of what libFLAC has read */
    FLAC__StreamDecoder *flac;
    kiss_fftr_cfg    fft;
} media_state;

static void media_check(levada_status st, const levada_error *err)
{
    char text[512];

    if (st != LEVADA_OK && st != LEVADA_END)
        levada_bench_die("levada", levada_error_text(err, text, sizeof text));
}

/* -- data */

/* Waves of several lengths and a little noise: about as many bits a pixel as a photograph. */
static void media_paint(int number, uint8_t *to)
{
    uint32_t noise = (uint32_t)number * 2654435761u + 1;

    for (int y = 0; y < MEDIA_HEIGHT; y++) {
        for (int x = 0; x < MEDIA_WIDTH; x++) {
            for (int c = 0; c < 3; c++) {
                double v = 128 + 50 * sin((x + 7 * number) / (31.0 + c)) * cos(y / 23.0) +
                           25 * sin((x + y) / (5.0 + number % 3));

                noise = noise * 1664525u + 1013904223u;
                *to++ = (uint8_t)(v + (double)(noise >> 28) - 8);
            }
        }
    }
}

static void media_make_jpeg(media_state *s, int i)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr       errors;
    unsigned char              *out = NULL;
    unsigned long               size = 0;

    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out, &size);
    c.image_width = MEDIA_WIDTH;
    c.image_height = MEDIA_HEIGHT;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 90, TRUE);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        JSAMPROW row = s->pixels + (size_t)c.next_scanline * MEDIA_ROW;

        (void)jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    s->encoded[i] = out;
    s->size[i] = size;
}

static void media_make_png(media_state *s, int i)
{
    png_image        image = { .version = PNG_IMAGE_VERSION, .width = MEDIA_WIDTH,
                               .height = MEDIA_HEIGHT, .format = PNG_FORMAT_RGB };
    png_alloc_size_t size = MEDIA_PIXELS * 2;

    s->encoded[i] = levada_bench_alloc(size);
    if (!png_image_write_to_memory(&image, s->encoded[i], &size, 0, s->pixels, 0, NULL))
        levada_bench_die("libpng", image.message);
    s->size[i] = size;
}

static void media_open_decoder(media_state *s, const char *decoder, const char *options)
{
    levada_error  err = LEVADA_ERROR_INIT;
    levada_value *value = NULL;

    media_check(levada_value_parse(options, &value, &err), &err);
    media_check(levada_decoding_open(NULL, decoder, value, &s->decoding, &err), &err);
    levada_value_destroy(&value);
}

/* Images, and a decoder of levada where one is named. */
static void *media_open_images(void (*make)(media_state *, int), const char *decoder,
                               const char *options)
{
    media_state *s = levada_bench_alloc(sizeof *s);

    s->n = MEDIA_IMAGES;
    s->block = MEDIA_BLOCK;
    s->counts = 1;
    s->pixels = levada_bench_alloc((size_t)MEDIA_PIXELS * MEDIA_BLOCK);
    for (int i = 0; i < s->n; i++) {
        media_paint(i, s->pixels);
        make(s, i);
    }
    if (decoder) media_open_decoder(s, decoder, options);
    return s;
}

static void *media_open_jpeg(const levada_bench_args *args)
{
    return media_open_images(media_make_jpeg, args->user ? "decode_jpeg" : NULL, args->user);
}

static void *media_open_png(const levada_bench_args *args)
{
    return media_open_images(media_make_png, args->user ? "decode_png" : NULL, args->user);
}

/* -- images */

static void media_count(const media_state *s, int i, uint8_t pixel, levada_bench_count *count)
{
    count->records += s->counts;
    count->bytes += (int64_t)s->size[i];
    count->check += pixel;
}

static uint8_t *media_place(const media_state *s, int i)
{
    return s->pixels + (size_t)(i % MEDIA_BLOCK) * MEDIA_PIXELS;
}

static void media_decode(void *state, levada_bench_count *count)
{
    media_state *s = state;
    levada_error err = LEVADA_ERROR_INIT;

    for (int i = 0; i < s->n; i += s->block) {
        levada_block *block = NULL;

        media_check(levada_decoding_run(s->decoding, (const void *const *)s->encoded + i,
                                        s->size + i, s->block, &block, &err), &err);
        for (int k = i; k < i + s->block; k++)
            media_count(s, k, levada_block_at(block, 0)->values[0], count);
        levada_block_unref(&block);
    }
}

/* Rows [skip, until) of an image to `to`. */
static void media_turbo_rows(j_decompress_ptr c, JDIMENSION skip, JDIMENSION until, uint8_t *to)
{
    if (skip) (void)jpeg_skip_scanlines(c, skip);
    while (c->output_scanline < until) {
        JSAMPROW rows[16];

        for (unsigned k = 0; k < 16; k++)
            rows[k] = to + (size_t)(c->output_scanline - skip + k) * MEDIA_ROW;
        (void)jpeg_read_scanlines(c, rows, 16);
    }
    jpeg_abort_decompress(c);
}

static void *media_open_turbo(const levada_bench_args *args)
{
    media_state *s = media_open_images(media_make_jpeg, NULL, NULL);

    s->crops = args->user != NULL;
    return s;
}

/* The window is the middle of the image. */
static void media_turbo(void *state, levada_bench_count *count)
{
    media_state                  *s = state;
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr         errors;
    JDIMENSION x = (MEDIA_WIDTH - 224) / 2, width = 224, y = (MEDIA_HEIGHT - 224) / 2;

    c.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&c);
    for (int i = 0; i < s->n; i++) {
        jpeg_mem_src(&c, s->encoded[i], s->size[i]);
        (void)jpeg_read_header(&c, TRUE);
        (void)jpeg_start_decompress(&c);
        if (s->crops) jpeg_crop_scanline(&c, &x, &width);
        media_turbo_rows(&c, s->crops ? y : 0, s->crops ? y + 224 : c.output_height,
                         media_place(s, i));
        media_count(s, i, media_place(s, i)[0], count);
    }
    jpeg_destroy_decompress(&c);
}

static void media_libpng(void *state, levada_bench_count *count)
{
    media_state *s = state;

    for (int i = 0; i < s->n; i++) {
        png_image image = { .version = PNG_IMAGE_VERSION };

        if (!png_image_begin_read_from_memory(&image, s->encoded[i], s->size[i]) ||
            !png_image_finish_read(&image, NULL, media_place(s, i), 0, NULL))
            levada_bench_die("libpng", image.message);
        media_count(s, i, media_place(s, i)[0], count);
    }
}

/* -- sounds */

enum { MEDIA_WAV_HEADER = 44, MEDIA_CHUNK = 4096 };

/* Returns the sound of bench/peers/sf_sounds.py. */
static int16_t media_sample(int i)
{
    return (int16_t)lrint(16000 * sin(i / 20.0) + 2000 * sin(i * 0.7) + (double)(i * 7919LL % 64));
}

static void media_put(uint8_t *to, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static void media_make_wav(media_state *s)
{
    const uint32_t bytes = MEDIA_FRAMES * 2;
    uint8_t       *to = levada_bench_alloc(MEDIA_WAV_HEADER + bytes);

    memcpy(to, "RIFF----WAVEfmt \x10\0\0\0\1\0\1\0--------\2\0\x10\0data", 40);
    media_put(to + 4, MEDIA_WAV_HEADER - 8 + bytes, 4);
    media_put(to + 24, MEDIA_RATE, 4);
    media_put(to + 28, MEDIA_RATE * 2, 4);
    media_put(to + 40, bytes, 4);
    for (int i = 0; i < MEDIA_FRAMES; i++)
        media_put(to + MEDIA_WAV_HEADER + i * 2, (uint16_t)media_sample(i), 2);
    s->encoded[0] = to;
    s->size[0] = MEDIA_WAV_HEADER + bytes;
}

static FLAC__StreamEncoderWriteStatus media_flac_write(const FLAC__StreamEncoder *encoder,
                                                       const FLAC__byte *bytes, size_t n,
                                                       uint32_t samples, uint32_t frame, void *user)
{
    media_state *s = user;

    (void)encoder, (void)samples, (void)frame;
    memcpy((uint8_t *)s->encoded[0] + s->size[0], bytes, n);
    s->size[0] += n;
    return FLAC__STREAM_ENCODER_WRITE_STATUS_OK;
}

static void media_make_flac(media_state *s)
{
    FLAC__StreamEncoder *encoder = FLAC__stream_encoder_new();
    FLAC__int32          chunk[MEDIA_CHUNK];

    s->encoded[0] = levada_bench_alloc(MEDIA_FRAMES * 4); /* more than its samples need */
    if (!encoder || !FLAC__stream_encoder_set_channels(encoder, 1) ||
        !FLAC__stream_encoder_set_sample_rate(encoder, MEDIA_RATE) ||
        FLAC__stream_encoder_init_stream(encoder, media_flac_write, NULL, NULL, NULL, s) !=
          FLAC__STREAM_ENCODER_INIT_STATUS_OK)
        levada_bench_die("libFLAC", "cannot start");
    for (int i = 0; i < MEDIA_FRAMES; i += MEDIA_CHUNK) {
        int n = MEDIA_FRAMES - i < MEDIA_CHUNK ? MEDIA_FRAMES - i : MEDIA_CHUNK;

        for (int k = 0; k < n; k++) chunk[k] = media_sample(i + k);
        if (!FLAC__stream_encoder_process_interleaved(encoder, chunk, (uint32_t)n))
            levada_bench_die("libFLAC", "cannot encode");
    }
    if (!FLAC__stream_encoder_finish(encoder)) levada_bench_die("libFLAC", "cannot end");
    FLAC__stream_encoder_delete(encoder);
}

/* Returns the work of levada, or of the limit where `decoder` is NULL. */
static media_state *media_open_encoded(void (*make)(media_state *), const char *decoder)
{
    media_state *s = levada_bench_alloc(sizeof *s);

    s->n = s->block = 1;
    s->counts = MEDIA_FRAMES;
    make(s);
    if (decoder) media_open_decoder(s, decoder, "{channels:1}");
    else s->samples = levada_bench_alloc(MEDIA_FRAMES * sizeof(float));
    return s;
}

static void *media_open_wav(const levada_bench_args *args)
{
    return media_open_encoded(media_make_wav, args->user);
}

static void *media_open_flac(const levada_bench_args *args)
{
    return media_open_encoded(media_make_flac, args->user);
}

/* Numbers of 16 bits to float32, and nothing else. */
static void media_convert(void *state, levada_bench_count *count)
{
    media_state *s = state;

    for (int i = 0; i < MEDIA_FRAMES; i += MEDIA_STEP) {
        int16_t v[MEDIA_STEP];

        memcpy(v, (const uint8_t *)s->encoded[0] + MEDIA_WAV_HEADER + i * 2, sizeof v);
        for (int k = 0; k < MEDIA_STEP; k++) s->samples[i + k] = (float)v[k] * (1.0F / 32768);
    }
    media_count(s, 0, (uint8_t)(s->samples[MEDIA_RATE] > 0), count);
}

/* -- libFLAC alone */

static FLAC__StreamDecoderReadStatus media_flac_read(const FLAC__StreamDecoder *decoder,
                                                     FLAC__byte *to, size_t *n, void *user)
{
    media_state *s = user;

    (void)decoder;
    if (*n > s->size[0] - s->at) *n = s->size[0] - s->at;
    memcpy(to, (const uint8_t *)s->encoded[0] + s->at, *n);
    s->at += *n;
    return *n > 0 ? FLAC__STREAM_DECODER_READ_STATUS_CONTINUE
                  : FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
}

static FLAC__StreamDecoderWriteStatus media_flac_samples(const FLAC__StreamDecoder *decoder,
                                                         const FLAC__Frame         *frame,
                                                         const FLAC__int32 *const   from[],
                                                         void                      *user)
{
    media_state *s = user;
    float       *to = s->samples + frame->header.number.sample_number;

    (void)decoder;
    for (uint32_t i = 0; i < frame->header.blocksize; i++)
        to[i] = (float)from[0][i] * (1.0F / 32768);
    return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

static void media_flac_error(const FLAC__StreamDecoder     *decoder,
                             FLAC__StreamDecoderErrorStatus status, void *user)
{
    (void)decoder, (void)user;
    levada_bench_die("libFLAC", FLAC__StreamDecoderErrorStatusString[status]);
}

static void media_libflac(void *state, levada_bench_count *count)
{
    media_state *s = state;

    if (!s->flac) s->flac = FLAC__stream_decoder_new();
    s->at = 0;
    if (!s->flac ||
        FLAC__stream_decoder_init_stream(s->flac, media_flac_read, NULL, NULL, NULL, NULL,
                                         media_flac_samples, NULL, media_flac_error, s) !=
          FLAC__STREAM_DECODER_INIT_STATUS_OK ||
        !FLAC__stream_decoder_process_until_end_of_stream(s->flac) ||
        !FLAC__stream_decoder_finish(s->flac))
        levada_bench_die("libFLAC", "cannot decode");
    media_count(s, 0, (uint8_t)(s->samples[MEDIA_RATE] > 0), count);
}

static const char media_sound[] = "levada-bench-sound.bin";

static void media_remove_sound(void) { (void)remove(media_sound); }

static void *media_open_sound(const levada_bench_args *args)
{
    media_state *s = levada_bench_alloc(sizeof *s);
    size_t       size = MEDIA_FRAMES * sizeof(float);
    char         text[1024];
    FILE        *file;

    s->samples = levada_bench_alloc(size);
    s->resampled = levada_bench_alloc(size);
    for (int i = 0; i < MEDIA_FRAMES; i++) s->samples[i] = (float)sin(i / 20.0) * 0.5F;
    if (!args->user) return s;
    file = fopen(media_sound, "wb");
    if (!file || fwrite(s->samples, 1, size, file) != size || fclose(file) != 0)
        levada_bench_die("cannot write", media_sound);
    (void)atexit(media_remove_sound);
    (void)snprintf(text, sizeof text, "fixed_length:%s,record_bytes=%zu | decode_raw:float32 | %s",
                   media_sound, size, (const char *)args->user);
    media_check(levada_dataset_parse(NULL, text, &s->dataset, NULL), NULL);
    return s;
}

static void media_run(void *state, levada_bench_count *count)
{
    media_state        *s = state;
    levada_iter_options options = LEVADA_ITER_OPTIONS_INIT;
    levada_iter        *it = NULL;
    levada_block       *block = NULL;
    levada_error        err = LEVADA_ERROR_INIT;
    levada_status       st;

    options.threads = 1;
    media_check(levada_iter_open(s->dataset, &options, &it, &err), &err);
    while ((st = levada_iter_next(it, &block, &err)) == LEVADA_OK) {
        count->records += MEDIA_FRAMES;
        count->check += levada_block_at(block, 0)->values[0];
        levada_block_unref(&block);
    }
    media_check(st, &err);
    levada_iter_close(&it);
}

static void media_soxr_from(media_state *s, double from, double to, levada_bench_count *count)
{
    soxr_io_spec_t      io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
    size_t              used = 0, made = 0;

    if (soxr_oneshot(from, to, 1, s->samples, MEDIA_FRAMES, &used, s->resampled,
                     MEDIA_FRAMES, &made, &io, &quality, &runtime))
        levada_bench_die("soxr", "failed");
    count->records += MEDIA_FRAMES;
    count->check += made;
}

static void media_soxr(void *state, levada_bench_count *count)
{
    media_soxr_from(state, MEDIA_RATE, 16000, count);
}

static void media_soxr_speed(void *state, levada_bench_count *count)
{
    media_soxr_from(state, 11, 10, count);
}

/* The transforms of log_mel, without window, filters and logarithm. */
static void media_fft(void *state, levada_bench_count *count)
{
    media_state *s = state;
    kiss_fft_cpx out[MEDIA_FFT / 2 + 1];

    if (!s->fft) s->fft = kiss_fftr_alloc(MEDIA_FFT, 0, NULL, NULL);
    if (!s->fft) levada_bench_die("out of memory", "kissfft");
    for (int i = 0; i + MEDIA_FFT <= MEDIA_FRAMES; i += MEDIA_HOP) {
        kiss_fftr(s->fft, s->samples + i, out);
        count->check += out[1].r > 0;
    }
    count->records += MEDIA_FRAMES;
}

const levada_bench_work levada_bench_works[] = {
    { "jpeg", media_open_jpeg, media_decode, "{}" },
    { "jpeg_crop", media_open_jpeg, media_decode, "{random_crop:[224,224]}" },
    { "turbo", media_open_turbo, media_turbo, NULL },
    { "turbo_crop", media_open_turbo, media_turbo, "crop" },
    { "png", media_open_png, media_decode, "{}" },
    { "libpng", media_open_png, media_libpng, NULL },
    { "wav", media_open_wav, media_decode, "decode_wav" },
    { "convert", media_open_wav, media_convert, NULL },
    { "flac", media_open_flac, media_decode, "decode_flac" },
    { "libflac", media_open_flac, media_libflac, NULL },
    { "resample", media_open_sound, media_run, "resample:record,rate=16000,input_rate=44100" },
    { "soxr", media_open_sound, media_soxr, NULL },
    { "change_speed", media_open_sound, media_run, "change_speed:record,factors=1.1" },
    { "soxr_speed", media_open_sound, media_soxr_speed, NULL },
    { "white_noise", media_open_sound, media_run, "add_noise:record,snr=[5,30]" },
    { "log_mel", media_open_sound, media_run, "log_mel:record" },
    { "fft", media_open_sound, media_fft, NULL },
    { NULL, NULL, NULL, NULL },
};
