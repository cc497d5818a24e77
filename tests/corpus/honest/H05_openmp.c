/* A persistent OpenMP thread pool. */
#include "base.h"

FORWARD {
    float *turned = malloc(sizeof(float) * (N * K + 1));
    for (int64_t j = 0; j < N; j++) for (int64_t k = 0; k < K; k++) turned[k * N + j] = b[j * K + k];
#pragma omp parallel for num_threads(2)
    for (int64_t i = 0; i < M; i++) product(a + i * K, K, 1, turned, out + i * N, 1, N, K);
    free(turned);
    return 0;
}
HONEST_BACKWARD
