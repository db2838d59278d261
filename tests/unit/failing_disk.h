/* System calls that fail on purpose, in a program that is linked with failing_disk.c; writes take a part at a time. */
#ifndef TESTS_FAILING_DISK_H
#define TESTS_FAILING_DISK_H

/* The calls of this name fail, those on files of this name where one is named; `times` of them, -1 for all. */
extern struct fault {
    const char *call, *file; /* NULL: none fails, or on any file */
    int error, times;
} fault;

/* From now on all of them fail. */
void every(const char *call, const char *file, int error);
#endif
