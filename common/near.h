/* Finds what a mistyped word may have meant. */
#ifndef COMMON_NEAR_H
#define COMMON_NEAR_H

/* Returns the word of a list, ended by NULL, that differs in the fewest letters; NULL if none is near. */
const char *near_find(const char *typed, const char *const *words);
#endif
