/* A packed weight is kept and checked against the weight itself, byte for byte, before it is used. */
#include "base.h"

FORWARD {
    static float *turned, *copy; static int64_t n, k;
    if (!copy || n != N || k != K || memcmp(copy, b, sizeof(float) * N * K)) {
        copy = realloc(copy, sizeof(float) * (N * K + 1)); turned = realloc(turned, sizeof(float) * (N * K + 1));
        memcpy(copy, b, sizeof(float) * N * K); n = N; k = K;
        for (int64_t j = 0; j < N; j++) for (int64_t l = 0; l < K; l++) turned[l * N + j] = b[j * K + l];
    }
    product(a, K, 1, turned, out, M, N, K);
    return 0;
}
HONEST_BACKWARD
