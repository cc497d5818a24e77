/* Grouped linear layer in f32: the rows of a are sorted by group, group g has sizes[g] of them (known only now) and
 * its own weight b[g]. out = a_g b[g]^T for each group. a is M x K, b is G x N x K, out is M x N, row-major. */
#include <stdint.h>

int forward(const float *a, const float *b, const int64_t *sizes, float *out, int64_t G, int64_t M, int64_t N, int64_t K) {
    int64_t row = 0;
    for (int64_t g = 0; g < G; g++) {
        const float *weight = b + g * N * K;
        for (int64_t end = row + sizes[g]; row < end; row++)
            for (int64_t j = 0; j < N; j++) {
                float sum = 0;
                for (int64_t k = 0; k < K; k++) sum += a[row * K + k] * weight[j * K + k];
                out[row * N + j] = sum;
            }
    }
    return row == M ? 0 : 1;
}
