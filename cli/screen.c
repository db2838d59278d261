#include "cli/screen.h"

#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static bool has_keys;
static volatile sig_atomic_t ending, stopping;

static void on_end(int sig)
{
    ending = sig;
}

static void on_stop(int sig)
{
    stopping = 1;
}

static void on_resize(int sig)
{
    /* nothing to do, since the signal interrupts poll() */
}

static void enter(void)
{
    struct termios raw;

    has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    if (has_keys) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    fputs("\033[?1049h\033[?25l", stdout);
    fflush(stdout);
}

static void leave(void)
{
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (has_keys)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

static void handle(int sig, void (*handler)(int sig))
{
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    sigaction(sig, &action, NULL);
}

void screen_begin(void)
{
    handle(SIGTERM, on_end);
    handle(SIGHUP, on_end);
    handle(SIGTSTP, on_stop);
    handle(SIGWINCH, on_resize);
    enter();
}

void screen_end(void)
{
    leave();
    if (ending != 0) { /* end by the signal, as without a handler */
        handle(ending, SIG_DFL);
        raise(ending);
    }
}

void screen_draw(const char *text)
{
    int lines = terminal_height();

    fputs("\033[H\033[?7l", stdout);
    for (int n = 0; *text && n < lines; n++) {
        int length = (int)strcspn(text, "\n");

        printf("%s%.*s\033[K", n > 0 ? "\r\n" : "", length, text);
        text += length + (text[length] == '\n');
    }
    fputs("\033[J\033[?7h", stdout);
    fflush(stdout);
}

bool screen_wait(int64_t ms)
{
    struct pollfd keys = {.fd = has_keys ? STDIN_FILENO : -1, .events = POLLIN};
    char key = 0;
    int n = ending || stopping ? 0 : poll(&keys, 1, (int)ms);

    if (stopping) { /* on Ctrl-Z the shell gets its terminal as it was before */
        stopping = 0;
        leave();
        raise(SIGSTOP);
        enter();
    }
    if (n > 0 && read(STDIN_FILENO, &key, 1) <= 0)
        return true; /* the terminal is gone */
    return ending || key == 'q' || key == 'Q';
}
