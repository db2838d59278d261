/* Consecutive steps go to the ranks in turn, as cards are dealt. With distances of 2, 10 or 100 between steps, some
 * ranks would then never get one. So each round of the dealing, of as many steps as there are ranks, begins with
 * another rank. A digit of the round's number chooses it: the last digit that is not 0, in a base that is a prime.
 * Numbers of rounds at equal distances have each digit equally often (unless the distance is a multiple of the base).
 * Each rank has equally many digits. */
#include "tasks/proto/dealing.h"

#include "common/stretto_assert.h"

#include <stdbool.h>
#include <stdlib.h>

#define BASE_MIN 400 /* so that no usual distance is a multiple of the base */

struct dealing {
    uint64_t ranks, base;
    uint32_t first[]; /* for each digit: the rank with which its rounds begin */
};

static bool is_prime(uint64_t n)
{
    for (uint64_t i = 2; i * i <= n; i++)
        if (n % i == 0)
            return false;
    return true;
}

/* Scrambles a number, as the generator SplitMix64 does. */
static uint64_t number_scramble(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

struct dealing *dealing_create(int ranks)
{
    uint64_t base = 1;
    struct dealing *d;

    do
        base += (uint64_t)ranks;
    while (base < BASE_MIN || !is_prime(base));
    d = calloc(1, sizeof *d + base * sizeof *d->first);
    if (d == NULL)
        return NULL;
    d->ranks = (uint64_t)ranks;
    d->base = base;
    for (uint64_t i = 1; i < base; i++)
        d->first[i] = (uint32_t)(i % d->ranks);
    for (uint64_t i = base - 1; i > 1; i--) { /* the digits from 1 on are shuffled */
        uint64_t other = 1 + number_scramble(i) % i;
        uint32_t rank = d->first[i];

        d->first[i] = d->first[other];
        d->first[other] = rank;
    }
    return d;
}

void dealing_destroy(struct dealing *dealing)
{
    free(dealing);
}

int dealing_rank(const struct dealing *d, uint64_t member, int64_t step)
{
    uint64_t round, digit;

    if (d->ranks == 1)
        return 0;
    round = (uint64_t)step / d->ranks;
    while (round > 0 && round % d->base == 0)
        round /= d->base;
    stretto_assert(round == 0 || round % d->base != 0);
    /* each group of as many members as there are ranks has the digits in another order */
    digit = round % d->base * (1 + member / d->ranks % (d->base - 1)) % d->base;
    return (int)(((uint64_t)step + member + d->first[digit]) % d->ranks);
}
