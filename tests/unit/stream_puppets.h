/* Cases of test_stream_follow: ranks that a test plays, frame by frame. */
#ifndef TESTS_STREAM_PUPPETS_H
#define TESTS_STREAM_PUPPETS_H
#include "tests/unit/stream_fixture.h"
#include "tests/unit/unit.h"

enum { SMALL = 10, MEDIUM = 3000, LARGE = 1 << 15, STEPS = 6000, WINDOW = 1024 };

/* The ranks of one generation. */
struct crew {
    struct stretto_train *t[FIXTURE_RANKS_MAX];
    int ranks;
};

/* In test_stream_follow.c */
struct stretto *open_member(void);
void begin(struct fixture *fx, int ranks, int width, int with_n);
void draw(const struct fixture *fx, struct crew *crew);
int send_field(const struct fixture *fx, struct stretto *s, int64_t step, int field);
int fill_window(const struct fixture *fx, struct stretto *s, int from, int to, int *field);

/* Calls the library until `call` is over, and draws meanwhile. */
#define UNTIL_OVER(fx, s, crew, call)                                                                                  \
    do {                                                                                                               \
        int rc_;                                                                                                       \
        while ((rc_ = (call)) == STRETTO_AGAIN)                                                                        \
            draw(fx, crew);                                                                                            \
        if (rc_ < 0)                                                                                                   \
            fail_msg("%s", stretto_error(s));                                                                          \
    } while (0)

void only_what_was_not_acknowledged_is_dealt_to_the_new_ranks(void **state);
void frames_of_several_ranks_come_in_their_order(void **state);
void a_refusal_by_one_of_several_ranks_is_told(void **state);
#endif
