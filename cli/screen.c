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
static bool has_keys, is_entered;
static volatile sig_atomic_t ending, stopping, continued;
static sigset_t ours;    /* signals that are taken only while screen_wait() waits */
static sigset_t waiting; /* those that are blocked meanwhile, as before screen_begin() */

static void on_end(int sig)
{
    ending = sig;
}

static void on_stop(int sig)
{
    stopping = 1;
}

static void on_continue(int sig)
{
    continued = 1;
}

static void on_resize(int sig)
{
    /* nothing to do, since the signal interrupts ppoll() */
}

/* Notes the terminal's modes as the shell left them. In the background this stops the program until it has the
 * terminal. */
static void note_modes(void)
{
    while (!ending && tcdrain(STDIN_FILENO) < 0 && errno == EINTR)
        ;
    has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
}

static void enter_screen(void)
{
    struct termios raw;

    if (has_keys) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    fputs("\033[?1049h\033[?25l", stdout);
    fflush(stdout);
    is_entered = true;
}

static void leave_screen(void)
{
    if (!is_entered)
        return;
    is_entered = false;
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

/* Ctrl-Z stops the program, after the shell has got its terminal as it was. If no shell could continue the program,
 * the kernel does not stop it. */
static void stop_program(void)
{
    leave_screen();
    handle(SIGTSTP, SIG_DFL);
    raise(SIGTSTP);
    sigprocmask(SIG_SETMASK, &waiting, NULL); /* here it stops */
    if (!ending) {
        note_modes();
        enter_screen();
    }
    sigprocmask(SIG_BLOCK, &ours, NULL);
    handle(SIGTSTP, on_stop);
    stopping = continued = 0;
}

void screen_begin(void)
{
    static const struct {
        int sig;
        void (*handler)(int sig);
    } taken[] = {
        {SIGTERM, on_end}, {SIGHUP, on_end}, {SIGTSTP, on_stop}, {SIGCONT, on_continue}, {SIGWINCH, on_resize},
    };

    note_modes();
    sigemptyset(&ours);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigaddset(&ours, taken[i].sig);
    sigprocmask(SIG_BLOCK, &ours, &waiting);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        handle(taken[i].sig, taken[i].handler);
    enter_screen();
}

void screen_end(void)
{
    leave_screen();
    if (ending != 0) { /* end by the signal, as without a handler */
        handle(ending, SIG_DFL);
        raise(ending);
    }
    sigprocmask(SIG_SETMASK, &waiting, NULL);
}

void screen_draw(const char *text)
{
    int lines = terminal_height(), n;

    /* lines are erased before they are written: behind a full one the cursor stays on its last character */
    fputs("\033[H\033[?7l", stdout);
    for (n = 0; *text && n < lines; n++) {
        int length = (int)strcspn(text, "\n");

        printf("%s\033[K%.*s", n > 0 ? "\r\n" : "", length, text);
        text += length + (text[length] == '\n');
    }
    fputs(n < lines ? "\r\n\033[J\033[?7h" : "\033[?7h", stdout);
    fflush(stdout);
}

bool screen_wait(int64_t ms)
{
    struct pollfd keys = {.fd = has_keys ? STDIN_FILENO : -1, .events = POLLIN};
    struct timespec limit = {ms / 1000, ms % 1000 * 1000000};
    char key = 0;
    int n = ppoll(&keys, 1, &limit, &waiting);

    if (stopping) {
        stop_program();
    } else if (continued) { /* who stopped us did not ask, and a shell may have had the terminal meanwhile */
        continued = 0;
        enter_screen();
    }
    if (n > 0 && read(STDIN_FILENO, &key, 1) <= 0)
        return true; /* the terminal is gone */
    return ending || key == 'q' || key == 'Q';
}
