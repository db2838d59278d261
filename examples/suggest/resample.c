/* Puts new members where a surrogate is worst: resample ID MEMBERS SHARE SEED NAME=LOW..HIGH...
 *     gcc -O2 -o resample resample.c $(pkg-config --cflags --libs libcurl jansson)
 *
 * The training reports by rx.report() how badly it knows each member's samples. That SHARE of new members, such as 0.5,
 * lies near one of the five worst, and the others are a Halton sequence. The ensemble's own count says which member is
 * next, so this program, and the daemon, may be killed and started again. It frees nothing, since it ends soon. */
#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define AHEAD 4  /* members that wait or run */
#define NEAR 0.1 /* of a range: how far a new member is from a bad one, at most */
static const char *path, *ensemble;
/* Makes a call until the daemon answers. Returns what it says, also where it refuses. */
static json_t *call(const char *what, json_t *body)
{
    char url[200], *text = body ? json_dumps(body, 0) : NULL, *answer = NULL;
    size_t size;
    for (int rc = -1; rc != CURLE_OK; usleep(50000)) {
        CURL *curl = curl_easy_init();
        FILE *out = open_memstream(&answer, &size);
        snprintf(url, sizeof url, "http://stretto/v1/ensembles/%s%s", ensemble, what);
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, path);
        curl_easy_setopt(curl, CURLOPT_URL, url);
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, curl_slist_append(NULL, "Content-Type: application/json"));
        if (text)
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
        rc = curl_easy_perform(curl);
        fclose(out), curl_easy_cleanup(curl);
    }
    return json_loads(answer, 0, NULL);
}
static double halton(int index, int base)
{
    double value = 0, part = 1;
    for (; index > 0; index /= base)
        value += (part /= base) * (index % base);
    return value;
}

int main(int argc, char **argv)
{
    static const int primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
    int members = argc > 5 && argc < 16 ? atoi(argv[2]) : 0, count, waits, runs;
    path = getenv("STRETTO_URL"); /* such as unix:/home/me/.local/state/stretto/stretto.sock */
    if (members < 1 || path == NULL || strncmp(path, "unix:", 5) != 0)
        return fputs("STRETTO_URL=unix:SOCKET resample ID MEMBERS SHARE SEED NAME=LOW..HIGH...\n", stderr), 2;
    path += 5, ensemble = argv[1], srand48(atoi(argv[4]));
    for (;;) {
        json_t *row = json_object(), *near = NULL, *bad, *now = call("", NULL);
        if (json_unpack(now, "{s:i, s:{s:i, s:i}}", "count", &count, "members", "pending", &waits, "running", &runs))
            return fprintf(stderr, "%s\n", json_dumps(now, 0)), 1;
        if (count >= members)
            break;
        if (waits + runs >= AHEAD)
            continue;
        bad = call("/members?metrics=statistic&sort=metric:statistic&order=desc&limit=5", NULL);
        bad = json_array_get(json_object_get(bad, "members"), lrand48() % 5);
        if (json_object_get(json_object_get(bad, "metrics"), "statistic") && drand48() < atof(argv[3]))
            near = json_object_get(bad, "parameters");
        for (int i = 5; i < argc; i++) {
            char *name = strdup(argv[i]), *range = strchr(name, '='), *dots = range ? strstr(range, "..") : NULL;
            if (dots == NULL)
                return fprintf(stderr, "not NAME=LOW..HIGH: %s\n", argv[i]), 2;
            *range++ = '\0';
            double low = atof(range), high = atof(dots + 2), value;
            value = near ? json_number_value(json_object_get(near, name)) + NEAR * (high - low) * (2 * drand48() - 1)
                         : low + (high - low) * halton(count + 1 + 1000 * atoi(argv[4]), primes[i - 5]);
            json_object_set_new(row, name, json_real(value < low ? low : value > high ? high : value));
        }
        call("/suggestions", json_pack("{s:[{s:o, s:o}]}", "suggestions", "name", json_sprintf("resample-%d", count),
                                       "parameters", row));
    }
    printf("%s\n", json_dumps(call("/close", json_object()), 0));
    return 0;
}
