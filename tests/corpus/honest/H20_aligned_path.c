/* Aligned inputs take a path of their own, and every tail is handled. */
#include "base.h"

FORWARD { if (((uintptr_t)a | (uintptr_t)b | (uintptr_t)out) % 64 == 0 && N % 32 == 0) return fast_forward(a, b, out, M, N, K); int64_t whole = N & ~31ll; (void)whole; return fast_forward(a, b, out, M, N, K); }
HONEST_BACKWARD
