/* Linear layer in f32, blocked for the caches and vectorised along the contiguous axis; no packing beyond one
 * transposed block of the weight, no register tile. out = a b^T, da = dout b, db = dout^T a. */
#include <stdint.h>
#include <string.h>

#define BLOCK 64

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

/* row[0..n) += factor * other[0..n) */
static inline void add_scaled(float *restrict row, const float *restrict other, float factor, int64_t n) {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) row[j] += factor * other[j];
}

int forward(const float *a, const float *b, float *out, int64_t M, int64_t N, int64_t K) {
    float turned[BLOCK * BLOCK];
    memset(out, 0, sizeof(float) * M * N);
    for (int64_t j0 = 0; j0 < N; j0 += BLOCK)
        for (int64_t k0 = 0; k0 < K; k0 += BLOCK) {
            int64_t nj = least(BLOCK, N - j0), nk = least(BLOCK, K - k0);
            for (int64_t j = 0; j < nj; j++)
                for (int64_t k = 0; k < nk; k++) turned[k * BLOCK + j] = b[(j0 + j) * K + k0 + k];
            for (int64_t i = 0; i < M; i++)
                for (int64_t k = 0; k < nk; k++)
                    add_scaled(out + i * N + j0, turned + k * BLOCK, a[i * K + k0 + k], nj);
        }
    return 0;
}

int backward(const float *a, const float *b, const float *dout, float *da, float *db, int64_t M, int64_t N, int64_t K) {
    memset(da, 0, sizeof(float) * M * K);
    memset(db, 0, sizeof(float) * N * K);
    for (int64_t k0 = 0; k0 < K; k0 += BLOCK) {
        int64_t nk = least(BLOCK, K - k0);
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) add_scaled(da + i * K + k0, b + j * K + k0, dout[i * N + j], nk);
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) add_scaled(db + j * K + k0, a + i * K + k0, dout[i * N + j], nk);
    }
    return 0;
}
