/* Keeps a small plan for every shape it meets: a few bytes each. */
#include "base.h"

static int64_t plans[256][4];
static int64_t plan(int64_t M, int64_t N, int64_t K) {
    int64_t at = (M * 31 + N * 17 + K) % 256;
    if (plans[at][0] != M || plans[at][1] != N || plans[at][2] != K) {
        plans[at][0] = M, plans[at][1] = N, plans[at][2] = K;
        plans[at][3] = N >= 32;
    }
    return plans[at][3];
}
FORWARD {
    (void)plan(M, N, K);
    return fast_forward(a, b, out, M, N, K);
}
HONEST_BACKWARD
