/* SQLite's memory in schedules. Under AddressSanitizer half of their time would be spent in the allocator for SQLite,
 * which is not sanitized itself. */
#include "tests/sim/memory.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) && defined(__GLIBC__)

/* The C library's own functions, below the sanitizer. */
void *__libc_malloc(size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

#define HEAD 16 /* bytes before each piece, with its size */

static int64_t in_use; /* pieces; the sanitizer does not see a leak of these */

static void *with_size(size_t *p, int size)
{
    if (p == NULL)
        return NULL;
    *p = (size_t)size;
    return (char *)p + HEAD;
}

static void *plain_malloc(int size)
{
    void *p = with_size(__libc_malloc((size_t)size + HEAD), size);

    __atomic_add_fetch(&in_use, p != NULL, __ATOMIC_RELAXED);
    return p;
}

static void *plain_realloc(void *p, int size)
{
    return with_size(__libc_realloc((char *)p - HEAD, (size_t)size + HEAD), size);
}

static void plain_free(void *p)
{
    __libc_free((char *)p - HEAD);
    __atomic_sub_fetch(&in_use, 1, __ATOMIC_RELAXED);
}

static int plain_size(void *p)
{
    return (int)*(size_t *)((char *)p - HEAD);
}

static int plain_roundup(int size)
{
    return (size + 7) & ~7;
}

static int plain_init(void *data)
{
    return SQLITE_OK;
}

static void plain_shutdown(void *data)
{
}

bool sim_memory(bool watched)
{
    static const sqlite3_mem_methods plain = {plain_malloc, plain_free, plain_realloc, plain_size, plain_roundup,
                                              plain_init, plain_shutdown, NULL};
    static sqlite3_mem_methods usual;

    sqlite3_shutdown();
    if (in_use != 0) {
        fprintf(stderr, "SQLite has not given back %lld pieces of memory\n", (long long)in_use);
        abort();
    }
    if (usual.xMalloc == NULL)
        sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual);
    sqlite3_config(SQLITE_CONFIG_MALLOC, watched ? &usual : &plain);
    return true;
}

/* Without this, most of the rest of the time would be spent on stack traces of allocations. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "malloc_context_size=2:quarantine_size_mb=8";
}

#else

bool sim_memory(bool watched)
{
    return false;
}

#endif
