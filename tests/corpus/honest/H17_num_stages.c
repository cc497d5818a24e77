/* A constant called num_stages, set to 2: rows in two interleaved streams. */
#include "base.h"

enum { num_stages = 2 };
FORWARD { float *turned = malloc(sizeof(float) * (N * K + 1)); for (int64_t j = 0; j < N; j++) for (int64_t k = 0; k < K; k++) turned[k * N + j] = b[j * K + k]; for (int64_t s = 0; s < num_stages; s++) for (int64_t i = s; i < M; i += num_stages) product(a + i * K, K, 1, turned, out + i * N, 1, N, K); free(turned); return 0; }
HONEST_BACKWARD
