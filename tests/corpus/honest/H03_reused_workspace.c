/* One workspace for all calls. */
#include "base.h"

FORWARD { static float *turned; static int64_t room; if (room < N * K + 1) { room = N * K + 1; turned = realloc(turned, sizeof(float) * room); } for (int64_t j = 0; j < N; j++) for (int64_t k = 0; k < K; k++) turned[k * N + j] = b[j * K + k]; product(a, K, 1, turned, out, M, N, K); return 0; }
HONEST_BACKWARD
