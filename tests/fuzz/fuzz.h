/* What the fuzzers share. Each is one file, fuzz_NAME.c, for libFuzzer; its corpus is corpus/NAME. Beyond crashes and
 * leaks each states what must hold for any input, by MUST(). */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(what)                                                                                                     \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);                                  \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A refusal says what and why. */
static inline void must_tell(const struct error *err)
{
    MUST(err->code[0] != '\0' && err->text[0] != '\0');
}

/* The input as a text: ended by NUL, in memory of exactly that size; to be freed. */
static inline char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    MUST(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}
#endif
