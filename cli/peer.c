#include "cli/peer.h"

#include "cli/client.h"

#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

int peer_check(int fd, const char *path, struct error *err)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    const struct passwd *user;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return error_errno(err, CLIENT_STRANGER, "cannot tell who listens on unix:%s", path);
    if (peer.uid == geteuid() || peer.uid == 0)
        return 0;
    user = getpwuid(peer.uid);
    return error_set(err, CLIENT_STRANGER,
                     "the program that listens on unix:%s runs as another user, %s (uid %u), and not as you or root: "
                     "nothing was sent to it",
                     path, user != NULL ? user->pw_name : "who has no name here", (unsigned)peer.uid);
}
