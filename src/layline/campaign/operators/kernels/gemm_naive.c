/* Linear layer in f32, the plainest correct way: out = a b^T, da = dout b, db = dout^T a.
 * a is M x K, b (the weight) is N x K, out and dout are M x N; all row-major. Returns 0 when done. */
#include <stdint.h>

int forward(const float *a, const float *b, float *out, int64_t M, int64_t N, int64_t K) {
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            float sum = 0;
            for (int64_t k = 0; k < K; k++) sum += a[i * K + k] * b[j * K + k];
            out[i * N + j] = sum;
        }
    return 0;
}

int backward(const float *a, const float *b, const float *dout, float *da, float *db, int64_t M, int64_t N, int64_t K) {
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
