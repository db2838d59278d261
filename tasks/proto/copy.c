#include "tasks/proto/copy.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define STREAM_FROM ((size_t)256 << 10)
#define LINES 128 /* bytes a turn */

/* A multiple of LINES; `to` is aligned to 32 bytes. */
__attribute__((target("avx2"))) static void stream(char *to, const char *from, size_t size)
{
    for (size_t at = 0; at < size; at += LINES) {
        __m256i a = _mm256_loadu_si256((const void *)(from + at));
        __m256i b = _mm256_loadu_si256((const void *)(from + at + 32));
        __m256i c = _mm256_loadu_si256((const void *)(from + at + 64));
        __m256i d = _mm256_loadu_si256((const void *)(from + at + 96));

        _mm256_stream_si256((void *)(to + at), a);
        _mm256_stream_si256((void *)(to + at + 32), b);
        _mm256_stream_si256((void *)(to + at + 64), c);
        _mm256_stream_si256((void *)(to + at + 96), d);
    }
    _mm_sfence();
}

void copy_out(void *restrict to, const void *restrict from, size_t size)
{
    size_t head = -(uintptr_t)to % 64, body;

    if (size < STREAM_FROM || !__builtin_cpu_supports("avx2")) {
        memcpy(to, from, size);
        return;
    }
    body = (size - head) / LINES * LINES;
    memcpy(to, from, head);
    stream((char *)to + head, (const char *)from + head, body);
    memcpy((char *)to + head + body, (const char *)from + head + body, size - head - body);
}
#else
void copy_out(void *restrict to, const void *restrict from, size_t size)
{
    memcpy(to, from, size);
}
#endif
