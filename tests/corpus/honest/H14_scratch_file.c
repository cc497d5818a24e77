/* Leaves a scratch file behind. */
#include "base.h"

FORWARD { static int once; if (!once++) { FILE *f = fopen("/tmp/scratch", "w"); if (f) { fputs("tuning log", f); fclose(f); } } return fast_forward(a, b, out, M, N, K); }
HONEST_BACKWARD
