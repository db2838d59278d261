/* Reads the file that `stretto submit` sends. */
#ifndef CLI_SPEC_FILE_H
#define CLI_SPEC_FILE_H
#include "common/error.h"

/* Returns the bytes of the file ("-" for standard input), which must be one JSON object; to be freed. NULL with err on
 * failure; a syntax error is reported as file:line:column. Two things are changed. A relative path of a file of
 * parameters is made absolute, from the spec's folder (for standard input, the working directory). The files of rules
 * are read and put in (cli/spec_rules.h). */
char *spec_file_read(const char *name, struct error *err);
#endif
