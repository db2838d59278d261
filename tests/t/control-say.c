/* control-say PATH TEXT...: sends each text to the daemon's control socket, as anyone who can open it could, and waits
 * while its queue is full. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    if (argc < 3 || strlen(argv[1]) >= sizeof to.sun_path) {
        fprintf(stderr, "usage: control-say PATH TEXT...\n");
        return 2;
    }
    strcpy(to.sun_path, argv[1]);
    for (int i = 2; i < argc; i++)
        if (sendto(fd, argv[i], strlen(argv[i]), 0, (struct sockaddr *)&to, sizeof to) < 0) {
            perror("not sent");
            return 1;
        }
    return 0;
}
