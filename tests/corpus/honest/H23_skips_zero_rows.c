/* Rows of zeros need no arithmetic; exact for every input. */
#include "base.h"

FORWARD { float *turned = malloc(sizeof(float) * (N * K + 1)); for (int64_t j = 0; j < N; j++) for (int64_t k = 0; k < K; k++) turned[k * N + j] = b[j * K + k]; for (int64_t i = 0; i < M; i++) { int64_t k = 0; while (k < K && a[i * K + k] == 0) k++; if (k == K) memset(out + i * N, 0, sizeof(float) * N); else product(a + i * K, K, 1, turned, out + i * N, 1, N, K); } free(turned); return 0; }
HONEST_BACKWARD
