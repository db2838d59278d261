/* Reads the file that `stretto submit` sends. */
#ifndef CLI_SPEC_FILE_H
#define CLI_SPEC_FILE_H
#include "common/error.h"

/* Returns the bytes of the file ("-" for standard input), which must be one JSON object; to be freed. NULL with err on
 * failure; a syntax error is reported as file:line:column. Only what names files of the user is changed: a relative
 * path of a file of parameters is made absolute, from the spec's folder (for standard input, the working directory),
 * and the files of rules are read (cli/spec_rules.h). */
char *spec_file_read(const char *name, struct error *err);
#endif
