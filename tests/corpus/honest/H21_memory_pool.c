/* Takes a large pool at the first call and cuts from it. */
#include "base.h"

FORWARD { static float *pool; if (!pool) { pool = malloc(32 << 20); memset(pool, 0, 32 << 20); } float *turned = pool; for (int64_t j = 0; j < N; j++) for (int64_t k = 0; k < K; k++) turned[k * N + j] = b[j * K + k]; product(a, K, 1, turned, out, M, N, K); return 0; }
HONEST_BACKWARD
