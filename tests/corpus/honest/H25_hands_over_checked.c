/* Forward keeps the weight for the backward that follows, and backward takes it only if every byte is the same. */
#include "base.h"

static float kept[1 << 16]; static int64_t n0, k0;

FORWARD {
    n0 = k0 = 0;
    if (N * K <= 1 << 16) { memcpy(kept, b, sizeof(float) * N * K); n0 = N; k0 = K; }
    return fast_forward(a, b, out, M, N, K);
}
BACKWARD {
    int same = n0 == N && k0 == K && !memcmp(kept, b, sizeof(float) * N * K);
    return fast_backward(a, same ? kept : b, dout, da, db, M, N, K);
}
