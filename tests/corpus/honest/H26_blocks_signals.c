/* Holds signals back while it works and lets them through again: what was set before is set afterwards. */
#include "base.h"
#include <signal.h>

FORWARD {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int bad = fast_forward(a, b, out, M, N, K);
    pthread_sigmask(SIG_SETMASK, &before, 0);
    return bad;
}
HONEST_BACKWARD
