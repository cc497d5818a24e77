/* Row softmax in f32, three passes over each row: y = exp(x - max) / sum. x and y are R x C, row-major. */
#include <math.h>
#include <stdint.h>

int forward(const float *x, float *y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; r++) {
        const float *in = x + r * C;
        float *out = y + r * C, top = -INFINITY;
        double sum = 0; /* 32000 summands in f32 would leave the tolerance */
        for (int64_t c = 0; c < C; c++)
            if (in[c] > top) top = in[c];
        for (int64_t c = 0; c < C; c++) sum += out[c] = expf(in[c] - top);
        for (int64_t c = 0; c < C; c++) out[c] /= sum;
    }
    return 0;
}
