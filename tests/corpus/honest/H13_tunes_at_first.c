/* Spends a while at the first call to find its block size. */
#include "base.h"

FORWARD { static int tuned; if (!tuned) { volatile double x = 0; for (int i = 0; i < 20000000; i++) x += i; tuned = 1; } return fast_forward(a, b, out, M, N, K); }
HONEST_BACKWARD
