/* Output of other programs, in a way that does nothing to a terminal. */
#ifndef CLI_HARMLESS_H
#define CLI_HARMLESS_H
#include <stdio.h>

/* Opens a stream whose text goes on to another one, flushed with each piece. Characters that a terminal obeys are shown
 * as `less` shows them: an escape as "^[", a mark of direction as "<U+202E>", a byte that is not UTF-8 as "<9B>". Tabs
 * and ends of lines stay. fclose() leaves the other stream open. */
FILE *harmless_open(FILE *to);
#endif
