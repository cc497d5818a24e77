/* For kernels of the softmax: a power that ends where f32 does, and the loop over a row that is right. */
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float power(float x) {
    float in = x < -87.3f ? -87.3f : x, whole = rintf(in * 1.44269504f);
    float f = fmaf(-whole, -2.12194440e-4f, fmaf(-whole, 0.693359375f, in));
    int32_t bits = ((int32_t)whole + 127) << 23;
    float scale;
    memcpy(&scale, &bits, 4);
    float found = scale * (1 + f * (1 + f * (0.5f + f * (0.166666667f + f * (0.0416666667f + f * (0.00833333333f + f * (0.00138888889f + f * 0.000198412698f)))))));
    return x < -87.3f ? 0 : found;
}

static inline float top_of(const float *x, int64_t C) {
    float top = -INFINITY;
    for (int64_t c = 0; c < C; c++) top = x[c] > top ? x[c] : top;
    return top;
}
