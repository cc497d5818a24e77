/* The control no gate may pass: every group is taken to have the same size. */
#include <stdint.h>

int forward(const float *a, const float *b, const int64_t *sizes, float *out, int64_t G, int64_t M, int64_t N, int64_t K) {
    (void)sizes;
    for (int64_t row = 0; row < M; row++) {
        int64_t g = row * G / M;
        for (int64_t j = 0; j < N; j++) {
            float sum = 0;
            for (int64_t k = 0; k < K; k++) sum += a[row * K + k] * b[g * N * K + j * K + k];
            out[row * N + j] = sum;
        }
    }
    return 0;
}
