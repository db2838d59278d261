/* SQLite's memory, for tests that would take twice as long if all of it were watched by a sanitizer. */
#ifndef TESTS_SIM_MEMORY_H
#define TESTS_SIM_MEMORY_H
#include <stdbool.h>

/* Sets the source of SQLite's memory until the next call: watched by the sanitizer, or not, which is quicker. No
 * database may be open. Ends the program where memory that was not watched has not been given back. False if nothing
 * is sanitized: then it changes nothing. */
bool sim_memory(bool watched);
#endif
