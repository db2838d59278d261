#include "tasks/member/known.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* 64 neighbouring steps: step / 64, and a bit for each. */
struct known_run {
    uint64_t number, bits;
};

struct known {
    struct known_run *run; /* in the order of their numbers */
    size_t count;
};

struct known *known_create(void)
{
    return calloc(1, sizeof(struct known));
}

void known_destroy(struct known *known)
{
    if (known == NULL)
        return;
    free(known->run);
    free(known);
}

/* Returns the place of the first run whose number is not below that one. */
static size_t find_run(const struct known *known, uint64_t number)
{
    size_t low = 0, high = known->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (known->run[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_run_there(const struct known *known, size_t at, uint64_t number)
{
    return at < known->count && known->run[at].number == number;
}

void known_add(struct known *known, const void *payload, size_t size)
{
    size_t n = size / sizeof(struct known_run);
    struct known_run *run = reallocarray(known->run, known->count + n + 1, sizeof *run);

    if (run == NULL)
        return;
    known->run = run;
    for (size_t i = 0; i < n; i++) {
        uint64_t word[2];
        size_t at;

        memcpy(word, (const char *)payload + i * sizeof word, sizeof word);
        at = find_run(known, le64toh(word[0]));
        if (!is_run_there(known, at, le64toh(word[0]))) {
            memmove(run + at + 1, run + at, (known->count++ - at) * sizeof *run);
            run[at] = (struct known_run){.number = le64toh(word[0])};
        }
        run[at].bits |= le64toh(word[1]);
    }
}

bool known_has(const struct known *known, int64_t step)
{
    uint64_t number = (uint64_t)step / 64;
    size_t at = find_run(known, number);

    return is_run_there(known, at, number) && (known->run[at].bits >> (step % 64) & 1);
}
