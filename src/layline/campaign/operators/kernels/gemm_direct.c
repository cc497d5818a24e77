/* Linear layer in f32: operands are read where they lie; only the panel whose columns are not contiguous is turned, in
 * registers, block by block. out = a b^T, da = dout b, db = dout^T a: one product with strides serves all three.
 * The numbers marked `knob` are a search space: any listed value must give a correct kernel, or not compile. */
#include <stdint.h>
#include <string.h>

#define HALF 0    /* knob: 0 1 */
#define ROWS 0    /* knob: 0 4 6 8 10 12 14 */
#define VECTORS 2 /* knob: 1 2 3 4 */
#define DEPTH 256 /* knob: 128 192 256 384 512 */
#define UNROLL 2  /* knob: 1 2 4 */
#define COPY 0    /* knob: 0 1 */

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
#define _Pragma_(text) _Pragma(SPELL(text))
#define UNROLLED(times) _Pragma_(GCC unroll times)
#define INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(WIDTH * 4)));
typedef float loose __attribute__((vector_size(WIDTH * 4), aligned(4), may_alias)); /* anywhere in an array of floats */
typedef int32_t order __attribute__((vector_size(WIDTH * 4)));

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

/* One block of WIDTH by WIDTH, turned by log2(WIDTH) perfect shuffles. */
INLINE void turn(float *restrict to, int64_t stride, const float *restrict from, int64_t step) {
    order low, high;
    for (int i = 0; i < WIDTH; i++) {
        low[i] = i / 2 + (i % 2) * WIDTH;
        high[i] = i / 2 + (i % 2) * WIDTH + WIDTH / 2;
    }
    vec now[WIDTH], next[WIDTH];
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++) now[i] = *(const loose *)(from + i * step);
#pragma GCC unroll 4
    for (int width = 1; width < WIDTH; width *= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < WIDTH / 2; i++) {
            next[2 * i] = __builtin_shuffle(now[i], now[i + WIDTH / 2], low);
            next[2 * i + 1] = __builtin_shuffle(now[i], now[i + WIDTH / 2], high);
        }
#pragma GCC unroll 16
        for (int i = 0; i < WIDTH; i++) now[i] = next[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < WIDTH; i++) *(vec *)(to + i * stride) = now[i];
}

/* `columns` columns of b as panel[k][COLUMNS]; columns past the end are zero. */
static void pack(float *restrict to, const float *restrict b, int64_t rs, int64_t cs, int64_t depth, int64_t columns) {
    int64_t padded = (columns + WIDTH - 1) / WIDTH * WIDTH, c = 0;
    if (cs == 1)
        for (int64_t k = 0; k < depth; k++) {
            memcpy(to + k * COLUMNS, b + k * rs, sizeof(float) * columns);
            for (c = columns; c < padded; c++) to[k * COLUMNS + c] = 0;
        }
    else {
        for (; c + WIDTH <= columns; c += WIDTH) {
            int64_t k = 0;
            for (; k + WIDTH <= depth; k += WIDTH) turn(to + k * COLUMNS + c, COLUMNS, b + k + c * cs, cs);
            for (; k < depth; k++)
                for (int64_t i = 0; i < WIDTH; i++) to[k * COLUMNS + c + i] = b[k * rs + (c + i) * cs];
        }
        for (; c < padded; c++)
            for (int64_t k = 0; k < depth; k++) to[k * COLUMNS + c] = c < columns ? b[k * rs + c * cs] : 0;
    }
}

/* out[rows][vectors * WIDTH] (+)= a b; rows and vectors are constants wherever this is inlined, the tile lives in registers. */
INLINE void tile(const int rows, const int vectors, const float *restrict a, int64_t ars, int64_t acs, const float *restrict b, int64_t brs,
                 int64_t depth, float *restrict out, int64_t stride, int first) {
    vec sum[ROWS][VECTORS];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            if (first) sum[r][v] = (vec){0};
            else sum[r][v] = *(const loose *)(out + r * stride + v * WIDTH);
        }
    UNROLLED(UNROLL)
    for (int64_t k = 0; k < depth; k++) {
        vec column[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) column[v] = *(const loose *)(b + k * brs + v * WIDTH);
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            vec factor = a[r * ars + k * acs] - (vec){0};
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) sum[r][v] += factor * column[v];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) *(loose *)(out + r * stride + v * WIDTH) = sum[r][v];
}

struct block { const float *a; int64_t ars, acs; const float *b; int64_t brs, depth; float *out; int64_t stride; int first; };

#define ROW(n, v) case n: if (n <= ROWS) tile(n <= ROWS ? n : 1, v, x.a, x.ars, acs, x.b, x.brs, x.depth, x.out, x.stride, x.first); break;
#define EVERY(v) switch (rows) { ROW(1, v) ROW(2, v) ROW(3, v) ROW(4, v) ROW(5, v) ROW(6, v) ROW(7, v) ROW(8, v) ROW(9, v) ROW(10, v) ROW(11, v) ROW(12, v) ROW(13, v) ROW(14, v) }

INLINE void tiles(struct block x, int64_t acs, int rows, int vectors) {
    switch (vectors) {
    case 1: EVERY(1) break;
#if VECTORS >= 2
    case 2: EVERY(2) break;
#endif
#if VECTORS >= 3
    case 3: EVERY(3) break;
#endif
#if VECTORS >= 4
    case 4: EVERY(4) break;
#endif
    }
}

/* A constant step along the depth lets the compiler fold it into the addresses. */
static void tiles_along(struct block x, int rows, int vectors) { tiles(x, 1, rows, vectors); }
static void tiles_across(struct block x, int rows, int vectors) { tiles(x, x.acs, rows, vectors); }

/* All rows of one panel, in bands of nearly equal height. */
static void sweep(struct block x, int64_t rows, int vectors) {
    int64_t bands = (rows + ROWS - 1) / ROWS;
    for (int64_t band = 0, r = 0; band < bands; band++) {
        int64_t n = rows / bands + (band < rows % bands);
        struct block y = x;
        y.a += r * x.ars;
        y.out += r * x.stride;
        if (x.acs == 1) tiles_along(y, (int)n, vectors);
        else tiles_across(y, (int)n, vectors);
        r += n;
    }
}

/* The last columns that fill no whole vector: through a band of their own. */
static void sweep_tail(struct block x, int64_t rows, int64_t columns) {
    float band[ROWS * WIDTH] __attribute__((aligned(64)));
    for (int64_t r = 0; r < rows; r += ROWS) {
        int64_t n = least(ROWS, rows - r);
        struct block y = x;
        y.a += r * x.ars;
        y.out = band;
        y.stride = WIDTH;
        if (!x.first)
            for (int64_t i = 0; i < n; i++) memcpy(band + i * WIDTH, x.out + (r + i) * x.stride, sizeof(float) * columns);
        if (x.acs == 1) tiles_along(y, (int)n, 1);
        else tiles_across(y, (int)n, 1);
        for (int64_t i = 0; i < n; i++) memcpy(x.out + (r + i) * x.stride, band + i * WIDTH, sizeof(float) * columns);
    }
}

/* out[M][N] = A[M][K] B[K][N], A and B with any strides, out row-major. */
static void multiply(const float *a, int64_t ars, int64_t acs, const float *b, int64_t brs, int64_t bcs, float *out, int64_t M, int64_t N, int64_t K) {
    float panel[DEPTH * COLUMNS] __attribute__((aligned(64)));
    if (K == 0) memset(out, 0, sizeof(float) * M * N);
    for (int64_t k = 0; k < K; k += DEPTH)
        for (int64_t c = 0; c < N;) {
            int64_t depth = least(DEPTH, K - k), columns = least(COLUMNS, N - c);
            if (columns > WIDTH) columns = columns / WIDTH * WIDTH;
            const float *at = b + k * brs + c * bcs;
            int packed = COPY || bcs != 1 || columns < WIDTH;
            if (packed) pack(panel, at, brs, bcs, depth, columns);
            struct block x = {a + k * acs, ars, acs, packed ? panel : at, packed ? COLUMNS : brs, depth, out + c, N, k == 0};
            if (columns >= WIDTH) sweep(x, M, (int)(columns / WIDTH));
            else sweep_tail(x, M, columns);
            c += columns;
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
