#include "tasks/proto/copy.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define STREAM_FROM ((size_t)256 << 10)
#define PAGE ((size_t)4096) /* a processor does not prefetch beyond a page by itself */
#define PAGES 4             /* copied in turns, so that it prefetches in several pages at once */
/* Bytes of a page in a turn. With a single line, loads seem to depend on the stores just before them where source and
 * target lie alike in their pages, which takes three times as long; see also tests/bench/run stream. */
#define RUN ((size_t)512)
#define LINE 64

__attribute__((target("avx2"))) static inline void stream_line(char *to, const char *from)
{
    __m256i a = _mm256_loadu_si256((const void *)from);
    __m256i b = _mm256_loadu_si256((const void *)(from + 32));

    _mm256_stream_si256((void *)to, a);
    _mm256_stream_si256((void *)(to + 32), b);
}

__attribute__((target("avx2"))) static inline void stream_run(char *to, const char *from)
{
    for (size_t at = 0; at < RUN; at += LINE)
        stream_line(to + at, from + at);
}

/* Copies a multiple of LINE; `to` is aligned to LINE. */
__attribute__((target("avx2"))) static void stream(char *to, const char *from, size_t size)
{
    size_t at = 0;

    for (; at + PAGES * PAGE <= size; at += PAGES * PAGE)
        for (size_t in_page = 0; in_page < PAGE; in_page += RUN)
            for (size_t page = 0; page < PAGES * PAGE; page += PAGE)
                stream_run(to + at + page + in_page, from + at + page + in_page);
    for (; at < size; at += LINE)
        stream_line(to + at, from + at);
    _mm_sfence();
}

void copy_out(void *restrict to, const void *restrict from, size_t size)
{
    size_t head = -(uintptr_t)to % 64, body;

    if (size < STREAM_FROM || !__builtin_cpu_supports("avx2")) {
        memcpy(to, from, size);
        return;
    }
    body = (size - head) / LINE * LINE;
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
