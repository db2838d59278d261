/* Copies of arrays that nobody reads again soon: past the caches, where they are large. */
#ifndef TASKS_PROTO_COPY_H
#define TASKS_PROTO_COPY_H
#include <stddef.h>

/* As memcpy(). From 256 KiB on, and where the processor has AVX2, with non-temporal stores: the target is not read into
 * the cache only to be overwritten, nor does it drive out what is there. */
void copy_out(void *restrict to, const void *restrict from, size_t size);
#endif
