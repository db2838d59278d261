/* A text as one word of sh. */
#ifndef COMMON_SHELL_WORD_H
#define COMMON_SHELL_WORD_H

/* Returns the text in single quotes; the caller frees it. */
char *shell_word(const char *text);
#endif
