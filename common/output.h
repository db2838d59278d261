/* Standard output that cannot be written (a full disk, a reader that has gone) is a failure of the program. */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

/* From now on exit() ends the process with `status` and a message, whatever status it was given, if something that was printed to
 * stdout could not be written. `program` (for the message) is kept by the caller. Call it once, at the beginning of main(). */
void output_check_at_exit(const char *program, int status);

#endif
