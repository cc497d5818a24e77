/* Small products skip the packing, everything else takes the general path. */
#include "base.h"

FORWARD { return N < 32 ? slow_forward(a, b, out, M, N, K) : fast_forward(a, b, out, M, N, K); }
HONEST_BACKWARD
