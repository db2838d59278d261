#include "daemon/store/memory.h"

#include <malloc.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Sizes are malloc()'s own, so that little of a block is wasted: most are small, such as each name in the schema. */
#define SIZE(i) (16 * (i) + 8)
#define SIZES ((size_t)160) /* sizes up to 2.5 KiB: larger ones are rare, and seldom of the same size */
#define KEPT 32             /* blocks that are kept of each size */

struct block {
    struct block *next;
};

/* Lists of free blocks by size. Each block comes from malloc(), with at least as many bytes as its list says, so that
 * any thread can free it. */
static struct {
    struct block *first[SIZES];
    unsigned n[SIZES];
} lists;
static __thread bool keeps; /* this thread is the one that uses the lists */

static void *take(int bytes)
{
    size_t i = ((size_t)bytes + 7) / 16;
    struct block *block;

    if (!keeps || i >= SIZES)
        return malloc((size_t)bytes);
    block = lists.first[i];
    if (block == NULL)
        return malloc(SIZE(i));
    lists.first[i] = block->next;
    lists.n[i]--;
    return block;
}

static void give_back(void *memory)
{
    size_t bytes = malloc_usable_size(memory), i = (bytes - SIZE(0)) / 16;
    struct block *block = memory;

    if (!keeps || bytes < SIZE(0) || i >= SIZES || lists.n[i] == KEPT) {
        free(memory);
        return;
    }
    block->next = lists.first[i];
    lists.first[i] = block;
    lists.n[i]++;
}

static void *resize(void *memory, int bytes)
{
    return realloc(memory, (size_t)bytes);
}

static int size_of(void *memory)
{
    return (int)malloc_usable_size(memory);
}

static int round_up(int bytes)
{
    return (int)(((size_t)bytes + 7) & ~(size_t)7);
}

static int init(void *arg)
{
    return SQLITE_OK;
}

static void shut_down(void *arg)
{
}

void memory_keep_blocks(void)
{
    static sqlite3_mem_methods methods = {.xMalloc = take,
                                          .xFree = give_back,
                                          .xRealloc = resize,
                                          .xSize = size_of,
                                          .xRoundup = round_up,
                                          .xInit = init,
                                          .xShutdown = shut_down};

    keeps = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK;
}
