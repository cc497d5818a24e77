/* The operator is defined in place: input and output are one buffer. */
#include <math.h>
#include <stdint.h>

int forward(float *x, int64_t R, int64_t C) {
    for (int64_t r = 0; r < R; r++) {
        float *row = x + r * C, top = row[0]; double sum = 0;
        for (int64_t c = 1; c < C; c++) top = row[c] > top ? row[c] : top;
        for (int64_t c = 0; c < C; c++) sum += row[c] = expf(row[c] - top);
        for (int64_t c = 0; c < C; c++) row[c] /= sum;
    }
    return 0;
}
