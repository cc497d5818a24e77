/* A work area for every thread, which is given back when the thread ends. */
#include "base.h"

static pthread_key_t key;
__attribute__((constructor)) static void begin(void) { pthread_key_create(&key, free); }
FORWARD {
    char *area = pthread_getspecific(key);
    if (!area) {
        area = malloc(1 << 20);
        memset(area, 1, 1 << 20);
        pthread_setspecific(key, area);
    }
    return fast_forward(a, b, out, M, N, K);
}
HONEST_BACKWARD
