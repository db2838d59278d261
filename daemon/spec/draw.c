#include "daemon/spec/draw.h"

static uint64_t mix_bits(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t draw_bits(uint64_t seed, uint64_t a, uint64_t b)
{
    return mix_bits(mix_bits(mix_bits(seed) ^ a) ^ b);
}

static double unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

double draw_monte_carlo(uint64_t seed, uint64_t index, unsigned dim)
{
    return unit(draw_bits(seed, index, dim));
}

double draw_halton(uint64_t seed, uint64_t index, unsigned dim)
{
    static const uint16_t primes[DRAW_HALTON_DIMENSIONS] = {
        2,   3,   5,   7,   11,  13,  17,  19,  23,  29,  31,  37,  41,  43,  47,  53,  59,  61,  67,  71,  73,  79,
        83,  89,  97,  101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193,
        197, 199, 211, 223, 227, 229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311};
    double value = 0, scale = 1;

    for (uint64_t i = index + 1; i > 0; i /= primes[dim]) { /* + 1 leaves out the first point, which is a corner */
        scale /= primes[dim];
        value += scale * (double)(i % primes[dim]);
    }
    if (seed != 0)
        value += unit(draw_bits(seed, UINT64_C(0x68616c746f6e), dim));
    return value >= 1 ? value - 1 : value;
}

/* Permutes 0..count-1: a Feistel network of four rounds on the next even number of bits, applied again until the result
 * is below count (fewer than four times on average). */
static uint64_t permute(uint64_t seed, uint64_t x, uint64_t count, unsigned dim)
{
    unsigned half = 1;

    while (half < 32 && (UINT64_C(1) << (2 * half)) < count)
        half++;
    do {
        uint64_t mask = (UINT64_C(1) << half) - 1, left = x >> half, right = x & mask;

        for (uint64_t round = 0; round < 4; round++) {
            uint64_t next = left ^ (draw_bits(seed ^ (round << 56), right, dim) & mask);

            left = right;
            right = next;
        }
        x = left << half | right;
    } while (x >= count);
    return x;
}

double draw_latin_hypercube(uint64_t seed, uint64_t index, uint64_t count, unsigned dim)
{
    double jitter = unit(draw_bits(seed, index, dim + UINT64_C(0x10000)));
    double value = ((double)permute(seed, index, count, dim) + jitter) / (double)count;

    return value < 1 ? value : 0x1.fffffffffffffp-1;
}
