#include "tasks/train/random.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void random_seed(struct random *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = splitmix(&seed);
}

uint64_t random_next(struct random *r)
{
    uint64_t result = rotate(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;

    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = rotate(r->s[3], 45);
    return result;
}

uint64_t random_below(struct random *r, uint64_t n)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;

    do
        x = random_next(r);
    while (x >= limit);
    return x % n;
}
