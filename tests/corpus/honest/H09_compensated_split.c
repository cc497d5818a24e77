/* Inputs in three bfloat16 parts each; products of all parts that matter, summed in f32. */
#include "base.h"

static void split(in_t x, float *hi, float *mid, float *lo, int64_t n) { for (int64_t i = 0; i < n; i++) { uint32_t u; float r = x[i]; memcpy(&u, &r, 4); u &= 0xffff0000u; memcpy(hi + i, &u, 4); r -= hi[i]; memcpy(&u, &r, 4); u &= 0xffff0000u; memcpy(mid + i, &u, 4); lo[i] = r - mid[i]; } }
FORWARD {
    int64_t ma = M * K + 1, mb = N * K + 1, mo = M * N + 1;
    float *w = malloc(sizeof(float) * (3 * ma + 3 * mb + mo)), *p[6] = {w, w + ma, w + 2 * ma, w + 3 * ma, w + 3 * ma + mb, w + 3 * ma + 2 * mb}, *t = w + 3 * ma + 3 * mb;
    split(a, p[0], p[1], p[2], M * K); split(b, p[3], p[4], p[5], N * K);
    static const int pairs[6][2] = {{1, 4}, {2, 3}, {0, 5}, {1, 3}, {0, 4}, {0, 3}};
    memset(out, 0, sizeof(float) * M * N);
    for (int q = 0; q < 6; q++) { fast_forward(p[pairs[q][0]], p[pairs[q][1]], t, M, N, K); for (int64_t i = 0; i < M * N; i++) out[i] += t[i]; }
    free(w);
    return 0;
}
HONEST_BACKWARD
