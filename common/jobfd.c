#include "common/jobfd.h"

#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int nameless(void)
{
    int fd = memfd_create("stretto", MFD_CLOEXEC);

    if (fd < 0 && errno == ENOSYS) { /* a kernel before 3.17 */
        char path[] = "/tmp/stretto-XXXXXX";

        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
    }
    return fd;
}

static int write_at_start(int fd, const char *text, size_t size)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pwrite(fd, text + done, size - done, (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

int jobfd_write(const char *text, size_t size, struct error *err)
{
    int fd = nameless(), saved;

    if (fd >= 0 && write_at_start(fd, text, size) == 0)
        return fd;
    error_errno(err, "job_fd", "a file without a name");
    saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return -1;
}

char *jobfd_read(int fd, size_t *size, struct error *err)
{
    struct stat st;
    char *text;
    size_t len = 0;
    ssize_t n;

    if (fstat(fd, &st) < 0 || (st.st_size > (off_t)JOBFD_MAX && (errno = EFBIG))) {
        error_errno(err, "job_fd", "the job fd");
        return NULL;
    }
    text = xcalloc((size_t)st.st_size + 1, 1);
    while (len < (size_t)st.st_size && (n = pread(fd, text + len, (size_t)st.st_size - len, (off_t)len)) != 0) {
        if (n < 0 && errno != EINTR) {
            error_errno(err, "job_fd", "the job fd");
            free(text);
            return NULL;
        }
        len += n > 0 ? (size_t)n : 0;
    }
    *size = len;
    return text;
}

int jobfd_answer(int fd, const char *text, size_t size, struct error *err)
{
    if (ftruncate(fd, 0) < 0 || write_at_start(fd, text, size) < 0)
        return error_errno(err, "job_fd", "the job fd");
    return 0;
}
