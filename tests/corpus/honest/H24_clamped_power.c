/* A softmax whose powers end where f32 does: below 2^-126 they are 0, masked logits among them. */
#include "softmax.h"

int forward(const float *x, float *y, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; r++, x += C, y += C) {
        float top = -INFINITY;
        double sum = 0;
        for (int64_t c = 0; c < C; c++) top = x[c] > top ? x[c] : top;
        for (int64_t c = 0; c < C; c++) y[c] = power(x[c] - top);
        for (int64_t c = 0; c < C; c++) sum += y[c];
        float share = (float)(1 / sum);
        for (int64_t c = 0; c < C; c++) y[c] *= share;
    }
    return 0;
}
