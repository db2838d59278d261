/* append_member FILE: a member that does nothing but leave its number in a file, in one write, so that it can be seen how often each
 * member ran. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *number = getenv("STRETTO_MEMBER");
    uint32_t index;
    int fd;

    if (argc != 2 || number == NULL)
        return 2;
    index = (uint32_t)strtoul(number, NULL, 10);
    fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return fd < 0 || write(fd, &index, sizeof index) != (ssize_t)sizeof index;
}
