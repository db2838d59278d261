/* metrics_bench member SECONDS: reports a point of a metric every so many seconds, for ever, each member at a time of its own.
 * metrics_bench sqlite FILE ROWS COMMITS: writes rows like points into a database of its own, ROWS a second in a transaction, COMMITS times,
 * and prints how many microseconds of CPU time one took. */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static void wait_s(double s)
{
    struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

    nanosleep(&t, NULL);
}

static int member(double period)
{
    const char *path = getenv("STRETTO_METRICS"), *index = getenv("STRETTO_MEMBER");

    if (path == NULL || index == NULL)
        return 1;
    wait_s(period * (double)(atol(index) * 7919 % 1000) / 1000);
    for (long step = 0;; step++) {
        FILE *f = fopen(path, "a");

        if (f == NULL)
            return 1;
        fprintf(f, "{\"step\": %ld, \"loss\": %.6f}\n", step, 1.0 / (double)(step + 1));
        if (fclose(f) != 0)
            return 1;
        wait_s(period);
    }
}

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return;
    fprintf(stderr, "metrics_bench: %s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
}

static double cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int sqlite(const char *path, int64_t rows, int64_t commits)
{
    sqlite3_stmt *insert;
    double began;
    sqlite3 *db;

    if (sqlite3_open(path, &db) != SQLITE_OK)
        return 1;
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE point (series INTEGER, step INTEGER, "
            "time INTEGER, value REAL, PRIMARY KEY (series, step)) WITHOUT ROWID");
    if (sqlite3_prepare_v2(db, "INSERT INTO point VALUES (?1, ?2, ?3, ?4)", -1, &insert, NULL) != SQLITE_OK)
        return 1;
    began = cpu_us();
    for (int64_t i = 0; i < commits; i++) {
        run(db, "BEGIN");
        for (int64_t j = 0; j < rows; j++) {
            sqlite3_bind_int64(insert, 1, (i * rows + j) * 7919 % 1000); /* another series each time */
            sqlite3_bind_int64(insert, 2, i);
            sqlite3_bind_int64(insert, 3, INT64_C(1700000000000) + i);
            sqlite3_bind_double(insert, 4, 1.0 / (double)(i + 1));
            if (sqlite3_step(insert) != SQLITE_DONE)
                return 1;
            sqlite3_reset(insert);
        }
        run(db, "COMMIT");
        wait_s(1);
    }
    printf("%.2f\n", (cpu_us() - began) / (double)(rows * commits));
    sqlite3_finalize(insert);
    return sqlite3_close(db) != SQLITE_OK;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "member") == 0)
        return member(atof(argv[2]));
    if (argc == 5 && strcmp(argv[1], "sqlite") == 0)
        return sqlite(argv[2], atoll(argv[3]), atoll(argv[4]));
    return 2;
}
