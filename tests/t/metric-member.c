/* A member without a training that reports metrics and progress; see 0781-member-metrics.t. */
#include "tasks/member/stretto.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
    for (int step = 1; step <= 4; step++)
        if (stretto_metric("a \"loss\"", step, step == 3 ? INFINITY : 1.0 / step) < 0 || stretto_progress(step, 4) < 0) {
            perror("metric");
            return 1;
        }
    if (stretto_metric("", 1, 1) == 0 || errno != EINVAL || stretto_metric("a\nb", 1, 1) == 0 || stretto_progress(1, 0) == 0)
        return 2;
    return 0;
}
