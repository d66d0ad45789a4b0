// The peer of machine/bandwidth.py: read a buffer far larger than the caches, again and again, one or more threads.
// cc -O3 -march=native -pthread read_loop.c -o read_loop; ./read_loop THREADS BYTES SECONDS  →  best GB/s of the passes
// Same terms for both sides: as many seconds of passes, and huge pages asked for, as numpy does for its arrays.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static uint64_t *data;
static size_t words, parts;
static volatile uint64_t sink;

static void *read_part(void *argument) {
    size_t part = (size_t)argument, each = words / parts;
    const uint64_t *from = data + part * each;
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i + 4 <= each; i += 4) { a ^= from[i]; b ^= from[i + 1]; c ^= from[i + 2]; d ^= from[i + 3]; }
    sink ^= a ^ b ^ c ^ d;
    return NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int count, char **argument) {
    if (count != 4) return 2;
    parts = strtoul(argument[1], NULL, 10);
    words = strtoul(argument[2], NULL, 10) / 8;
    double seconds = atof(argument[3]);
    data = aligned_alloc(2 << 20, words * 8);  // words * 8: a multiple of 2 MiB
    if (!data || words * 8 % (2 << 20) || parts < 1 || parts > 64) return 1;
    madvise(data, words * 8, MADV_HUGEPAGE);
    for (size_t i = 0; i < words; i++) data[i] = i;
    double best = 0, until = now() + seconds;
    while (now() < until) {
        pthread_t threads[64];
        double began = now();
        for (size_t p = 0; p < parts; p++) pthread_create(&threads[p], NULL, read_part, (void *)p);
        for (size_t p = 0; p < parts; p++) pthread_join(threads[p], NULL);
        double rate = words * 8 / (now() - began) / 1e9;
        if (rate > best) best = rate;
    }
    printf("%.3f\n", best);
    return 0;
}
