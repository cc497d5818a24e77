/* A recorded plan (which functions, in which order) is replayed on live data. */
#include "base.h"

typedef int (*step_t)(in_t, in_t, float *, int64_t, int64_t, int64_t);
FORWARD { static step_t plan[1]; static int steps; if (!steps) plan[steps++] = fast_forward; int bad = 0; for (int i = 0; i < steps; i++) bad |= plan[i](a, b, out, M, N, K); return bad; }
HONEST_BACKWARD
