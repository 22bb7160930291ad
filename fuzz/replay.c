/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over files instead of libFuzzer: each argument is a file or a folder of files.
 * Exits 77 (skipped) when there was none.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static long replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t size = 0, capacity = 0;

    if (!file) {
        perror(path);
        exit(1);
    }
    do {
        capacity = capacity ? 2 * capacity : 4096;
        uint8_t *more = realloc(data, capacity);
        if (!more) exit(1);
        data = more;
        size += fread(data + size, 1, capacity - size, file);
    } while (size == capacity);
    fclose(file);

    /* An exact allocation, so that a sanitizer sees the first byte after the end. */
    uint8_t *exact = realloc(data, size ? size : 1);
    LLVMFuzzerTestOneInput(exact ? exact : data, size);
    free(exact ? exact : data);
    return 1;
}

static long replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    long files = 0;

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        if (snprintf(name, sizeof name, "%s/%s", path, entry->d_name) >= (int)sizeof name) exit(1);
        files += replay_file(name);
    }
    if (folder) closedir(folder);
    return files;
}

int main(int argc, char **argv)
{
    long files = 0;

    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) != 0) continue;
        files += S_ISDIR(info.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
    }
    printf("%ld files\n", files);
    return files > 0 ? 0 : 77;
}
