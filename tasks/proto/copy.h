/* Copies of large arrays that nobody reads again soon: they bypass the caches. */
#ifndef TASKS_PROTO_COPY_H
#define TASKS_PROTO_COPY_H
#include <stddef.h>

/* Does the same as memcpy(). From 256 KiB on, it uses non-temporal stores if the processor has AVX2. The target is then
 * not read into the cache only to be overwritten, and does not evict the cache's content. */
void copy_out(void *restrict to, const void *restrict from, size_t size);
#endif
