/* The control no gate may pass: one element of every row is not in the sum. */
#include <math.h>
#include <stdint.h>

int forward(const float *x, float *y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; r++) {
        const float *in = x + r * C;
        float *out = y + r * C, top = -INFINITY, sum = 0;
        for (int64_t c = 0; c < C; c++)
            if (in[c] > top) top = in[c];
        for (int64_t c = 0; c < C; c++) {
            out[c] = expf(in[c] - top);
            if (c + 1 < C || C == 1) sum += out[c];
        }
        for (int64_t c = 0; c < C; c++) out[c] /= sum;
    }
    return 0;
}
