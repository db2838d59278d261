/* Shared by tests that open and use a store on a disk that fails: the list of faults, a directory for the database, and
 * ways to look into the database without the store. */
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

extern char dir[64], path[96]; /* the directory and the path of the database */
extern char place[256];        /* names the present fault in messages */

#define MUST(condition, ...)                                                                                           \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            faultfs_disarm();                                                                                          \
            print_error("%s: ", place);                                                                                \
            fail_msg(__VA_ARGS__);                                                                                     \
        }                                                                                                              \
    } while (0)

/* Set up and tear down a test. */
int faulty_new_dir(void **state);
int faulty_remove_dir(void **state);
void faulty_clear_dir(void); /* leaves no database in it */

/* Opens another connection, on the usual file system. */
sqlite3 *look(const char *file);
char *text_of(sqlite3 *db, const char *sql); /* to be freed; NULL if the value is NULL */
int64_t number_of(sqlite3 *db, const char *sql);
void is_whole(sqlite3 *db);

void write_file(const char *from, const char *to);

/* Returns the call that fails next, after the n-th. The steps are 1 at first and greater later, since there would be
 * too many calls. FAULT_EVERY=1 tries every call, which takes minutes. */
int64_t after(int64_t n, int64_t few);
#endif
