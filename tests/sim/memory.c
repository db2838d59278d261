/* SQLite's memory in schedules. Half of their time under AddressSanitizer would go into where SQLite, which is not sanitized
 * itself, has it from. */
#include "tests/sim/sim.h"

#include <sqlite3.h>

#if defined(__SANITIZE_ADDRESS__) && defined(__GLIBC__)

/* The C library's own, below the sanitizer. */
void *__libc_malloc(size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

#define HEAD 16 /* before each piece: its size */

static void *with_size(size_t *p, int size)
{
    if (p == NULL)
        return NULL;
    *p = (size_t)size;
    return (char *)p + HEAD;
}

static void *plain_malloc(int size)
{
    return with_size(__libc_malloc((size_t)size + HEAD), size);
}

static void *plain_realloc(void *p, int size)
{
    return with_size(__libc_realloc((char *)p - HEAD, (size_t)size + HEAD), size);
}

static void plain_free(void *p)
{
    __libc_free((char *)p - HEAD);
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

void sim_memory(bool watched)
{
    static const sqlite3_mem_methods plain = {plain_malloc, plain_free, plain_realloc, plain_size, plain_roundup, plain_init,
                                              plain_shutdown, NULL};
    static sqlite3_mem_methods usual;

    sqlite3_shutdown();
    if (usual.xMalloc == NULL)
        sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual);
    sqlite3_config(SQLITE_CONFIG_MALLOC, watched ? &usual : &plain);
}

#else

void sim_memory(bool watched)
{
}

#endif
