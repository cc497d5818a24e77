/* Looks for an optional library and does without it. */
#include "base.h"

#include <dlfcn.h>
FORWARD { static void *lib; static int tried; if (!tried++) lib = dlopen("libnuma.so.1", RTLD_NOW); if (lib) { /* pass */ } return fast_forward(a, b, out, M, N, K); }
HONEST_BACKWARD
