/* control-say ENDPOINT TEXT...: sends each text to the daemon's control socket, as anyone who can open it could. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

int main(int argc, char **argv)
{
    void *context = zmq_ctx_new(), *push = zmq_socket(context, ZMQ_PUSH);

    zmq_setsockopt(push, ZMQ_LINGER, &(int){10000}, sizeof(int));
    zmq_setsockopt(push, ZMQ_SNDTIMEO, &(int){10000}, sizeof(int));
    if (argc < 3 || zmq_connect(push, argv[1]) < 0) {
        fprintf(stderr, "usage: control-say ENDPOINT TEXT...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        if (zmq_send(push, argv[i], strlen(argv[i]), 0) < 0) {
            fprintf(stderr, "not sent: %s\n", zmq_strerror(zmq_errno()));
            return 1;
        }
    }
    zmq_close(push);
    zmq_ctx_term(context);
    return 0;
}
