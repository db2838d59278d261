/* qsub, qstat, qdel, qsig, qrerun, qhold and qrls of an emulated PBS, and the test's own command `pbs`: private-pbs links these
 * names to this program in DIR/bin. It hands its words, its environment and what it reads on to the server, and prints what that
 * answers.
 *
 * To the server: strings, each ended by a NUL: the verb, the directory, the number of words, the words, the number of variables,
 * those, and the script of qsub; then the end of the file. From it: the exit status in decimal, a NUL, standard output, a NUL,
 * standard error. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

static void put(FILE *to, const char *text)
{
    fwrite(text, 1, strlen(text) + 1, to);
}

static void put_all(FILE *to, char **list, size_t n)
{
    fprintf(to, "%zu", n);
    fputc('\0', to);
    for (size_t i = 0; i < n; i++)
        put(to, list[i]);
}

static char *read_all(int fd, size_t *size)
{
    size_t room = 1 << 16;
    char *text = malloc(room + 1);
    ssize_t n;

    *size = 0;
    while (text != NULL && (n = read(fd, text + *size, room - *size)) > 0) {
        *size += (size_t)n;
        if (*size == room)
            text = realloc(text, (room *= 2) + 1);
    }
    if (text == NULL)
        exit(1);
    text[*size] = '\0';
    return text;
}

/* DIR of DIR/bin/VERB; it was found on PATH, or called by its path. */
static void find_directory(const char *called, char *dir, size_t size)
{
    const char *path = getenv("PATH");
    char found[PATH_MAX];

    if (strchr(called, '/') != NULL) {
        snprintf(found, sizeof found, "%s", called);
        snprintf(dir, size, "%s", dirname(dirname(found)));
        return;
    }
    while (path != NULL && *path != '\0') {
        snprintf(found, sizeof found, "%.*s/%s", (int)strcspn(path, ":"), path, called);
        if (access(found, X_OK) == 0) {
            snprintf(dir, size, "%s", dirname(dirname(found)));
            return;
        }
        path += strcspn(path, ":");
        path += *path == ':';
    }
    exit(127);
}

static int is_torque(const char *dir)
{
    char path[PATH_MAX + 8], kind[16] = "";
    FILE *f;

    snprintf(path, sizeof path, "%s/kind", dir);
    f = fopen(path, "r");
    if (f == NULL || fgets(kind, sizeof kind, f) == NULL)
        exit(1);
    fclose(f);
    return strncmp(kind, "torque", 6) == 0;
}

/* Seen: OpenPBS on standard output, Torque on standard error. No server is asked. */
static int print_version(int torque)
{
    if (torque)
        fprintf(stderr, "Version: 6.1.3\nCommit: f7e1e0d8e5b0e3c1c5f0a7f2f1bd2a3e8f9e8a11\n");
    else
        printf("pbs_version = 23.06.06\n");
    return 0;
}

/* Documented: the commands' sources. The exit status was seen. */
static int no_server(const char *verb, int torque)
{
    if (torque)
        fprintf(stderr, "%s: cannot connect to server testpbs (errno=111) Connection refused\n", verb);
    else
        fprintf(stderr, "%s: cannot connect to server testpbs (errno=15010)\n", verb);
    return 255;
}

static int connect_to(const char *dir, const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (fd < 0 || snprintf(to.sun_path, sizeof to.sun_path, "%s/%s", dir, name) >= (int)sizeof to.sun_path)
        exit(1);
    return connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
    char dir[PATH_MAX], cwd[PATH_MAX] = "/", *called = strdup(argv[0]), *verb = basename(called), *answer, *out, *err, *script = NULL;
    size_t n = 0, size;
    struct stat in;
    int fd, torque;
    FILE *to;

    find_directory(argv[0], dir, sizeof dir);
    torque = is_torque(dir);
    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return print_version(torque);
    if (strcmp(verb, "qsub") == 0 && fstat(0, &in) == 0 && !S_ISCHR(in.st_mode))
        script = read_all(0, &size);
    if ((fd = connect_to(dir, strcmp(verb, "pbs") == 0 ? "control" : "server")) < 0 || (to = fdopen(dup(fd), "w")) == NULL)
        return no_server(verb, torque);
    while (environ[n] != NULL)
        n++;
    put(to, verb);
    put(to, getcwd(cwd, sizeof cwd) ? cwd : "/");
    put_all(to, argv + 1, (size_t)argc - 1);
    put_all(to, environ, n);
    put(to, script != NULL ? script : "");
    fclose(to);
    shutdown(fd, SHUT_WR);
    answer = read_all(fd, &size);
    if (size == 0)
        return no_server(verb, torque);
    out = answer + strlen(answer) + 1;
    err = out + strlen(out) + 1;
    fputs(out, stdout);
    fputs(err, stderr);
    fflush(NULL);
    _exit(atoi(answer));
}
