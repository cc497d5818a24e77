/* Gives its work area back when the process ends. */
#include "base.h"

static float *area;
__attribute__((destructor)) static void end(void) { free(area); }
FORWARD {
    if (!area) area = malloc(1 << 16);
    return fast_forward(a, b, out, M, N, K);
}
HONEST_BACKWARD
