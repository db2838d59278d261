/* Makes a program fail if its standard output cannot be written, for example to a full disk or to a reader that has
 * gone. */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

/* From now on exit() ends the process with `status` and a message, whatever status it was given, if something that was
 * printed to stdout could not be written. `program` (for the message) is kept by the caller. Call it once, at the
 * beginning of main(). */
void output_check_at_exit(const char *program, int status);

#endif
