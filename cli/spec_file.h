/* The file that `stretto submit` sends. */
#ifndef CLI_SPEC_FILE_H
#define CLI_SPEC_FILE_H
#include "common/error.h"

/* The bytes of the file ("-": standard input), known to be one JSON object; to be freed. NULL with err otherwise; a
 * syntax error is told as file:line:column. Only a relative file of parameters is changed: it is made absolute, against
 * the spec's folder (standard input: the working directory). */
char *spec_file_read(const char *name, struct error *err);
#endif
