/* ask DIR SOCKET METHOD PATH [BODY | @FILE]: one request to a daemon, for api() of lib.sh, which makes thousands of
 * them: curl takes ten times as long to start. The body of the answer goes to standard output and to DIR/api.body, its
 * status to DIR/api.status, which is 000 if there is no whole answer; then the exit status is 1. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define LIMIT_S 100

struct text {
    char *data;
    size_t n, size;
};

static void fail(const char *what)
{
    fprintf(stderr, "ask: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void add(struct text *text, const void *data, size_t n)
{
    if (text->n + n + 1 > text->size) {
        text->size = 2 * (text->n + n + 1);
        text->data = realloc(text->data, text->size);
        if (text->data == NULL)
            fail("memory");
    }
    memcpy(text->data + text->n, data, n);
    text->n += n;
    text->data[text->n] = '\0';
}

static void add_string(struct text *text, const char *string)
{
    add(text, string, strlen(string));
}

/* Until its end; 0 if that was reached. */
static int add_from(struct text *text, int fd)
{
    char piece[65536];
    ssize_t n;

    while ((n = TEMP_FAILURE_RETRY(read(fd, piece, sizeof piece))) > 0)
        add(text, piece, (size_t)n);
    return n < 0 ? -1 : 0;
}

static int put(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t written = TEMP_FAILURE_RETRY(write(fd, data, n));

        if (written < 0)
            return -1;
        data += written;
        n -= (size_t)written;
    }
    return 0;
}

static void save(const char *dir, const char *name, const char *data, size_t n)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || put(fd, data, n) < 0)
        fail(path);
    close(fd);
}

static int dial(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = LIMIT_S}, sizeof(struct timeval));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = LIMIT_S}, sizeof(struct timeval));
    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        fail(path);
    return fd;
}

/* HTTP/1.0: the answer's end is the connection's, and it comes in one piece. A length says whether that is all of
 * it. */
static void make_request(struct text *request, const char *method, const char *path, const char *body)
{
    struct text content = {0};
    char length[64];

    if (body != NULL && body[0] == '@') {
        int fd = open(body + 1, O_RDONLY | O_CLOEXEC);

        if (fd < 0 || add_from(&content, fd) < 0)
            fail(body + 1);
        close(fd);
    } else if (body != NULL) {
        add_string(&content, body);
    }
    add_string(request, method);
    add_string(request, " ");
    add_string(request, path);
    snprintf(length, sizeof length, "Content-Length: %zu\r\n\r\n", content.n);
    add_string(request, " HTTP/1.0\r\nHost: stretto\r\nAccept: */*\r\n");
    if (body != NULL)
        add_string(request, "Content-Type: application/json\r\n");
    add_string(request, body != NULL ? length : "\r\n");
    if (content.n > 0)
        add(request, content.data, content.n);
    free(content.data);
}

int main(int argc, char **argv)
{
    struct text request = {0}, answer = {0};
    char *body, *length, status[4] = "000";
    int fd;

    if (argc < 5 || argc > 6)
        return 2;
    signal(SIGPIPE, SIG_IGN); /* a daemon that refuses need not read all first */
    save(argv[1], "api.status", status, 3);
    make_request(&request, argv[3], argv[4], argv[5]);
    fd = dial(argv[2]);
    put(fd, request.data, request.n);
    add_string(&answer, "");
    if (add_from(&answer, fd) < 0 && answer.n == 0)
        fail("the answer");
    body = strstr(answer.data, "\r\n\r\n");
    if (sscanf(answer.data, "HTTP/1.%*[01] %3[0-9]", status) != 1 || body == NULL) {
        fprintf(stderr, "ask: no answer\n");
        return 1;
    }
    *body = '\0';
    body += 4;
    answer.n -= (size_t)(body - answer.data);
    length = strcasestr(answer.data, "\r\nContent-Length:");
    if (length != NULL && strtoull(length + 17, NULL, 10) != answer.n && strcmp(argv[3], "HEAD") != 0) {
        fprintf(stderr, "ask: %zu bytes of %s\n", answer.n, length + 17);
        return 1;
    }
    save(argv[1], "api.body", body, answer.n);
    save(argv[1], "api.status", status, 3);
    put(STDOUT_FILENO, body, answer.n);
    return 0;
}
