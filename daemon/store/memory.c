#include "daemon/store/memory.h"

#include <malloc.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define STEP ((size_t)64)   /* bytes; sizes are multiples of this */
#define SIZES ((size_t)129) /* sizes up to 8 KiB */
#define KEPT 32             /* blocks that are kept of each size */

struct block {
    struct block *next;
};

/* Lists of free blocks by size. Each block comes from malloc(), with as many bytes as its list says, so that any thread
 * can free it. */
static __thread struct {
    bool keeps;
    struct block *first[SIZES];
    unsigned n[SIZES];
} lists;

static void *take(int bytes)
{
    size_t size = ((size_t)bytes + STEP - 1) / STEP;
    struct block *block;

    if (size >= SIZES)
        return malloc((size_t)bytes);
    block = lists.first[size];
    if (block == NULL)
        return malloc(size * STEP);
    lists.first[size] = block->next;
    lists.n[size]--;
    return block;
}

static void give_back(void *memory)
{
    size_t size = malloc_usable_size(memory) / STEP;
    struct block *block = memory;

    if (!lists.keeps || size == 0 || size >= SIZES || lists.n[size] == KEPT) {
        free(memory);
        return;
    }
    block->next = lists.first[size];
    lists.first[size] = block;
    lists.n[size]++;
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

    lists.keeps = sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK;
}
