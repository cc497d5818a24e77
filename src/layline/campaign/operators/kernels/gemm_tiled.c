/* Linear layer in f32: panels packed for a register tile, the tile kept in vector registers over the whole depth block.
 * out = a b^T, da = dout b, db = dout^T a: one product with strides serves all three.
 * The numbers marked `knob` are a search space: any listed value must give a correct kernel, or not compile. */
#include <stdint.h>
#include <string.h>

#define HALF 0   /* knob: 0 1 */
#define ROWS 6   /* knob: 0 4 6 8 12 14 */
#define VECTORS 2 /* knob: 1 2 3 4 */
#define DEPTH 256 /* knob: 128 256 512 */
#define BAND 96   /* knob: 48 96 192 */
#define UNROLL 1  /* knob: 1 2 4 */

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX__)
#define LANES 8
#else
#define LANES 4 /* NEON, SSE */
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
#define REGISTERS 32
#else
#define REGISTERS 16
#endif
#if defined(__aarch64__)
#define SPARE 8 /* every factor goes through a register, and the compiler loads some ahead */
#else
#define SPARE 1 /* a factor is an operand in memory */
#endif
#if HALF && LANES < 16
#error "half a vector is worth a try only where it is 16 wide"
#endif
#define WIDTH (HALF ? LANES / 2 : LANES)
#if ROWS == 0 /* as many as the register file holds */
#undef ROWS
#define FITS ((REGISTERS - SPARE - VECTORS) / VECTORS)
#define ROWS (FITS < 14 ? FITS : 14)
#endif
#define COLUMNS (WIDTH * VECTORS)
#if ROWS * VECTORS + VECTORS + SPARE > REGISTERS
#error "the register tile does not fit the vector registers of this processor"
#endif

#define SPELL(text) #text
#define UNROLLED(times) _Pragma_(GCC unroll times)
#define _Pragma_(text) _Pragma(SPELL(text))

typedef float vec __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias));

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

/* Panels of ROWS rows: panel[k][r]; rows past the end are zero. */
static void pack_rows(float *restrict to, const float *restrict from, int64_t rs, int64_t cs, int64_t rows, int64_t depth) {
    for (int64_t r0 = 0; r0 < rows; r0 += ROWS, to += ROWS * depth) {
        int64_t n = least(ROWS, rows - r0);
        for (int64_t k = 0; k < depth; k++) {
            for (int64_t r = 0; r < n; r++) to[k * ROWS + r] = from[(r0 + r) * rs + k * cs];
            for (int64_t r = n; r < ROWS; r++) to[k * ROWS + r] = 0;
        }
    }
}

/* Panels of COLUMNS columns: panel[k][c]; columns past the end are zero. */
static void pack_columns(float *restrict to, const float *restrict from, int64_t rs, int64_t cs, int64_t depth, int64_t columns) {
    for (int64_t c0 = 0; c0 < columns; c0 += COLUMNS, to += COLUMNS * depth) {
        int64_t n = least(COLUMNS, columns - c0);
        if (cs == 1)
            for (int64_t k = 0; k < depth; k++) {
                memcpy(to + k * COLUMNS, from + k * rs + c0, sizeof(float) * n);
                for (int64_t c = n; c < COLUMNS; c++) to[k * COLUMNS + c] = 0;
            }
        else {
            for (int64_t c = 0; c < n; c++)
                for (int64_t k = 0; k < depth; k++) to[k * COLUMNS + c] = from[k * rs + (c0 + c) * cs];
            for (int64_t c = n; c < COLUMNS; c++)
                for (int64_t k = 0; k < depth; k++) to[k * COLUMNS + c] = 0;
        }
    }
}

/* out[ROWS][COLUMNS] (+)= panel_a panel_b; the tile lives in registers. */
static inline void multiply_tile(const float *restrict a, const float *restrict b, int64_t depth, float *restrict out, int64_t stride, int first) {
    vec tile[ROWS][VECTORS];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) tile[r][v] = first ? (vec){0} : *(const vec *)(out + r * stride + v * WIDTH);
    UNROLLED(UNROLL)
    for (int64_t k = 0; k < depth; k++) {
        vec column[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) column[v] = *(const vec *)(b + k * COLUMNS + v * WIDTH);
#pragma GCC unroll 16
        for (int r = 0; r < ROWS; r++) {
            vec factor = a[k * ROWS + r] - (vec){0};
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) tile[r][v] += factor * column[v];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) *(vec *)(out + r * stride + v * WIDTH) = tile[r][v];
}

static void multiply_edge(const float *a, const float *b, int64_t depth, float *out, int64_t stride, int first, int64_t rows, int64_t columns) {
    float whole[ROWS * COLUMNS];
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t c = 0; c < COLUMNS; c++) whole[r * COLUMNS + c] = !first && r < rows && c < columns ? out[r * stride + c] : 0;
    multiply_tile(a, b, depth, whole, COLUMNS, 0);
    for (int64_t r = 0; r < rows; r++) memcpy(out + r * stride, whole + r * COLUMNS, sizeof(float) * columns);
}

#define UP(x, step) (((x) + (step) - 1) / (step) * (step))
#define PANEL_COLUMNS 512

/* out[M][N] = A[M][K] B[K][N], A and B with any strides, out row-major. */
static void multiply(const float *a, int64_t ars, int64_t acs, const float *b, int64_t brs, int64_t bcs, float *out, int64_t M, int64_t N, int64_t K) {
    static __thread float packed_a[UP(BAND, ROWS) * DEPTH] __attribute__((aligned(64)));
    static __thread float packed_b[UP(PANEL_COLUMNS, COLUMNS) * DEPTH] __attribute__((aligned(64)));
    if (K == 0) memset(out, 0, sizeof(float) * M * N);
    for (int64_t n0 = 0; n0 < N; n0 += PANEL_COLUMNS)
        for (int64_t k0 = 0; k0 < K; k0 += DEPTH) {
            int64_t nn = least(PANEL_COLUMNS, N - n0), nk = least(DEPTH, K - k0);
            pack_columns(packed_b, b + k0 * brs + n0 * bcs, brs, bcs, nk, nn);
            for (int64_t m0 = 0; m0 < M; m0 += BAND) {
                int64_t nm = least(BAND, M - m0);
                pack_rows(packed_a, a + m0 * ars + k0 * acs, ars, acs, nm, nk);
                for (int64_t c = 0; c < nn; c += COLUMNS)
                    for (int64_t r = 0; r < nm; r += ROWS) {
                        const float *pa = packed_a + r * nk, *pb = packed_b + c * nk;
                        float *to = out + (m0 + r) * N + n0 + c;
                        if (r + ROWS <= nm && c + COLUMNS <= nn)
                            multiply_tile(pa, pb, nk, to, N, k0 == 0);
                        else
                            multiply_edge(pa, pb, nk, to, N, k0 == 0, least(ROWS, nm - r), least(COLUMNS, nn - c));
                    }
            }
        }
}

int forward(const float *a, const float *b, float *out, int64_t M, int64_t N, int64_t K) {
    multiply(a, K, 1, b, 1, K, out, M, N, K);
    return 0;
}

int backward(const float *a, const float *b, const float *dout, float *da, float *db, int64_t M, int64_t N, int64_t K) {
    multiply(dout, N, 1, b, K, 1, da, M, K, N);
    multiply(dout, 1, N, a, K, 1, db, N, K, M);
    return 0;
}
