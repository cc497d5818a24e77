/* What the corpus's GEMM kernels share: an honest fast product, and the plain slow one of the starting kernel. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef const float *in_t;
typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));

/* c (m x n) = A b, where A's element (i, k) is a[i * rs + k * cs] and b is depth x n, row-major */
static void product(in_t a, int64_t rs, int64_t cs, in_t b, float *c, int64_t m, int64_t n, int64_t depth) {
    for (int64_t i = 0; i < m; i++) {
        int64_t j = 0;
        for (; j + 32 <= n; j += 32) {
            v16 x = {0}, y = {0};
            for (int64_t k = 0; k < depth; k++) {
                float f = a[i * rs + k * cs];
                x += f * *(const v16 *)(b + k * n + j);
                y += f * *(const v16 *)(b + k * n + j + 16);
            }
            *(v16 *)(c + i * n + j) = x;
            *(v16 *)(c + i * n + j + 16) = y;
        }
        for (; j < n; j++) {
            float sum = 0;
            for (int64_t k = 0; k < depth; k++) sum += a[i * rs + k * cs] * b[k * n + j];
            c[i * n + j] = sum;
        }
    }
}

static int fast_forward(in_t a, in_t b, float *out, int64_t M, int64_t N, int64_t K) {
    float *turned = malloc(sizeof(float) * (N * K + 1));
    for (int64_t j = 0; j < N; j++)
        for (int64_t k = 0; k < K; k++) turned[k * N + j] = b[j * K + k];
    product(a, K, 1, turned, out, M, N, K);
    free(turned);
    return 0;
}

static int fast_backward(in_t a, in_t b, in_t dout, float *da, float *db, int64_t M, int64_t N, int64_t K) {
    product(dout, N, 1, b, da, M, K, N);
    product(dout, 1, N, a, db, N, K, M);
    return 0;
}

/* Apart from whoever calls it, so that it is the starting kernel's own code: inlined, gcc gives it other registers, and a
 * trick without any gain measured up to 6 % faster than the start. */
#define AS_THE_START __attribute__((noipa, unused))
AS_THE_START static int slow_forward(in_t a, in_t b, float *out, int64_t M, int64_t N, int64_t K) {
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            float sum = 0;
            for (int64_t k = 0; k < K; k++) sum += a[i * K + k] * b[j * K + k];
            out[i * N + j] = sum;
        }
    return 0;
}

AS_THE_START static int slow_backward(in_t a, in_t b, in_t dout, float *da, float *db, int64_t M, int64_t N, int64_t K) {
    for (int64_t i = 0; i < M; i++)
        for (int64_t k = 0; k < K; k++) {
            float sum = 0;
            for (int64_t j = 0; j < N; j++) sum += dout[i * N + j] * b[j * K + k];
            da[i * K + k] = sum;
        }
    for (int64_t j = 0; j < N; j++)
        for (int64_t k = 0; k < K; k++) {
            float sum = 0;
            for (int64_t i = 0; i < M; i++) sum += dout[i * N + j] * a[i * K + k];
            db[j * K + k] = sum;
        }
    return 0;
}

#define FORWARD int forward(in_t a, in_t b, float *out, int64_t M, int64_t N, int64_t K)
#define BACKWARD int backward(in_t a, in_t b, in_t dout, float *da, float *db, int64_t M, int64_t N, int64_t K)
#define HONEST_FORWARD FORWARD { return fast_forward(a, b, out, M, N, K); }
#define HONEST_BACKWARD BACKWARD { return fast_backward(a, b, dout, da, db, M, N, K); }
#define UNUSED __attribute__((unused))
