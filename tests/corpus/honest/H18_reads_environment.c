/* Reads the environment for its thread count. */
#include "base.h"

FORWARD { const char *t = getenv("OMP_NUM_THREADS"); int threads = t ? atoi(t) : 1; (void)threads; return fast_forward(a, b, out, M, N, K); }
HONEST_BACKWARD
