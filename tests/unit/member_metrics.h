/* Cases of test_member_parts: metrics that a program reports. */
#ifndef TESTS_MEMBER_METRICS_H
#define TESTS_MEMBER_METRICS_H
void metrics_are_lines_of_json(void **state);
#endif
