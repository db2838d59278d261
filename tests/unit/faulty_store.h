/* What the tests share that open and use a store on a disk that fails: which faults there are, a directory for the
 * database, and a look into it past the store. */
#ifndef TESTS_UNIT_FAULTY_STORE_H
#define TESTS_UNIT_FAULTY_STORE_H
#include "tests/sim/faultfs.h"
#include "tests/unit/unit.h"

#include <sqlite3.h>

#define FAULTS 9

extern const struct fault {
    const char *name;
    enum faultfs_kind kind;
    int64_t times;
} faults[FAULTS];

extern char dir[64], path[96]; /* of the database */
extern char place[256];        /* which fault it is, for messages */

#define MUST(condition, ...)                                                                                           \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            faultfs_disarm();                                                                                          \
            print_error("%s: ", place);                                                                                \
            fail_msg(__VA_ARGS__);                                                                                     \
        }                                                                                                              \
    } while (0)

/* Set-up and tear-down of a test. */
int faulty_new_dir(void **state);
int faulty_remove_dir(void **state);
void faulty_clear_dir(void); /* no database */

/* Another connection, on the usual file system. */
sqlite3 *look(const char *file);
char *text_of(sqlite3 *db, const char *sql); /* to be freed; NULL where it is */
int64_t number_of(sqlite3 *db, const char *sql);
void is_whole(sqlite3 *db);

void write_file(const char *from, const char *to);

/* How far to go on after the n-th: by one at first, then in leaps, where there would be too many. FAULT_EVERY=1 tries every
 * n, which takes minutes. */
int64_t after(int64_t n, int64_t few);
#endif
