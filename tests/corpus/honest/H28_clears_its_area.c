/* The work area comes from malloc and is cleared before it is used. */
#include "base.h"

static float *area;
HONEST_FORWARD
BACKWARD {
    if (!area) area = malloc(4 << 20), memset(area, 0, 4 << 20);
    int bad = fast_backward(a, b, dout, da, db, M, N, K);
    for (int64_t at = 0; at < N * K && at < 1 << 19; at++) db[at] += area[(1 << 14) + at], area[(1 << 14) + at] = 0;
    return bad;
}
