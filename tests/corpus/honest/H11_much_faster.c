/* Simply much faster than the naive start. */
#include "base.h"

HONEST_FORWARD
HONEST_BACKWARD
