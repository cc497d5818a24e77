"""Hand-written GEMM kernels, put together from one forward and one backward piece: a round changes one of the two."""

from __future__ import annotations

HEAD = """\
/* Linear layer in f32: out = a b^T, da = dout b, db = dout^T a. Returns 0 when done. */
#include <stdint.h>
#include <string.h>

typedef float v16 __attribute__((vector_size(64)));
static inline v16 load(const float *p) { v16 v; memcpy(&v, p, sizeof v); return v; }
static inline void store(float *p, v16 v) { memcpy(p, &v, sizeof v); }
static inline float sum16(v16 v) { float s = 0; for (int i = 0; i < 16; i++) s += v[i]; return s; }
"""

PACKED = """\
#define MR 12
#define NR 32
#define KC 512
/* C tile (mr x nr) = or += A rows times a packed panel of B */
static void micro(int64_t kc, const float *a, int64_t si, int64_t sk, const float *pb, float *c, int64_t ldc, int64_t mr, int64_t nr, int more) {
    v16 acc[MR][2];
    const float *row[MR];
#pragma GCC unroll 12
    for (int i = 0; i < MR; i++) { acc[i][0] = acc[i][1] = (v16){0}; row[i] = a + (i < mr ? i : mr - 1) * si; }
    for (int64_t k = 0; k < kc; k++) {
        v16 b0 = load(pb + k * NR), b1 = load(pb + k * NR + 16);
#pragma GCC unroll 12
        for (int i = 0; i < MR; i++) { v16 x = (v16){0} + row[i][k * sk]; acc[i][0] += x * b0; acc[i][1] += x * b1; }
    }
    for (int64_t i = 0; i < mr; i++) {
        float line[NR];
        store(line, acc[i][0]); store(line + 16, acc[i][1]);
        for (int64_t j = 0; j < nr; j++) c[i * ldc + j] = more ? c[i * ldc + j] + line[j] : line[j];
    }
}
static void product(int64_t M, int64_t N, int64_t K, const float *a, int64_t si, int64_t sk, const float *b, int64_t tk, int64_t tj, float *c) {
    float pb[KC * NR] __attribute__((aligned(64)));
    if (K == 0) memset(c, 0, sizeof(float) * M * N);
    for (int64_t k0 = 0; k0 < K; k0 += KC) {
        int64_t kc = K - k0 < KC ? K - k0 : KC;
        for (int64_t j0 = 0; j0 < N; j0 += NR) {
            int64_t nr = N - j0 < NR ? N - j0 : NR;
            for (int64_t k = 0; k < kc; k++)
                for (int64_t j = 0; j < NR; j++) pb[k * NR + j] = j < nr ? b[(k0 + k) * tk + (j0 + j) * tj] : 0;
            for (int64_t i0 = 0; i0 < M; i0 += MR)
                micro(kc, a + i0 * si + k0 * sk, si, sk, pb, c + i0 * N + j0, N, M - i0 < MR ? M - i0 : MR, nr, k0 > 0);
        }
    }
}
"""

SIGNATURES = {
    "forward": "int forward(const float *a, const float *b, float *out, int64_t M, int64_t N, int64_t K) {\n",
    "backward": "int backward(const float *a, const float *b, const float *dout, float *da, float *db, int64_t M, "
    "int64_t N, int64_t K) {\n",
}

FORWARD = {
    "naive": """\
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            float sum = 0;
            for (int64_t k = 0; k < K; k++) sum += a[i * K + k] * b[j * K + k];
            out[i * N + j] = sum;
        }
""",
    "dot": """\
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            v16 acc = {0};
            int64_t k = 0;
            for (; k + 16 <= K; k += 16) acc += load(a + i * K + k) * load(b + j * K + k);
            float sum = sum16(acc);
            for (; k < K; k++) sum += a[i * K + k] * b[j * K + k];
            out[i * N + j] = sum;
        }
""",
    "packed": "    product(M, N, K, a, K, 1, b, 1, K, out);\n",
    "prefetch": """\
    for (int64_t i = 0; i < M; i++)  /* touch every line of a first: meant to warm the cache */
        for (int64_t k = 0; k < K; k += 16) __builtin_prefetch(a + i * K + k);
    for (int64_t j = 0; j < N; j++)
        for (int64_t k = 0; k < K; k += 16) __builtin_prefetch(b + j * K + k);
    product(M, N, K, a, K, 1, b, 1, K, out);
""",
}

BACKWARD = {
    "naive": """\
    for (int64_t i = 0; i < M; i++)
        for (int64_t k = 0; k < K; k++) {
            float sum = 0;
            for (int64_t j = 0; j < N; j++) sum += dout[i * N + j] * b[j * K + k];
            da[i * K + k] = sum;
        }
    for (int64_t j = 0; j < N; j++)
        for (int64_t k = 0; k < K; k++) {
            float sum = 0;
            for (int64_t i = 0; i < M; i++) sum += dout[i * N + j] * a[i * K + k];
            db[j * K + k] = sum;
        }
""",
    "rows": """\
    memset(da, 0, sizeof(float) * M * K);
    memset(db, 0, sizeof(float) * N * K);
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            float x = dout[i * N + j];
            int64_t k = 0;
            for (; k + 16 <= K; k += 16) {
                store(da + i * K + k, load(da + i * K + k) + x * load(b + j * K + k));
                store(db + j * K + k, load(db + j * K + k) + x * load(a + i * K + k));
            }
            for (; k < K; k++) { da[i * K + k] += x * b[j * K + k]; db[j * K + k] += x * a[i * K + k]; }
        }
""",
    "packed": """\
    product(M, K, N, dout, N, 1, b, K, 1, da);
    product(N, K, M, dout, 1, N, a, K, 1, db);
""",
}


PLAIN_PACK = """\
            for (int64_t k = 0; k < kc; k++)
                for (int64_t j = 0; j < NR; j++) pb[k * NR + j] = j < nr ? b[(k0 + k) * tk + (j0 + j) * tj] : 0;
"""
FAST_PACK = """\
            if (nr < NR) memset(pb, 0, sizeof(float) * kc * NR);
            if (tj == 1)
                for (int64_t k = 0; k < kc; k++) memcpy(pb + k * NR, b + (k0 + k) * tk + j0, sizeof(float) * nr);
            else
                for (int64_t j = 0; j < nr; j++)
                    for (int64_t k = 0; k < kc; k++) pb[k * NR + j] = b[(k0 + k) * tk + (j0 + j) * tj];
"""
PLAIN_STORE = """\
    for (int64_t i = 0; i < mr; i++) {
        float line[NR];
        store(line, acc[i][0]); store(line + 16, acc[i][1]);
        for (int64_t j = 0; j < nr; j++) c[i * ldc + j] = more ? c[i * ldc + j] + line[j] : line[j];
    }
"""
WIDE_STORE = """\
    if (nr == NR && !more) {
#pragma GCC unroll 12
        for (int i = 0; i < MR; i++)
            if (i < mr) { store(c + i * ldc, acc[i][0]); store(c + i * ldc + 16, acc[i][1]); }
        return;
    }
"""


def build_kernel(forward: str, backward: str, *, rows: int = 12, pack: str = "plain", stores: str = "plain") -> str:
    """One kernel file."""
    packed = PACKED if "packed" in (forward, backward) or forward == "prefetch" else ""
    packed = packed.replace("#define MR 12", f"#define MR {rows}")
    if pack == "fast":
        packed = packed.replace(PLAIN_PACK, FAST_PACK)
    if stores == "wide":
        packed = packed.replace(PLAIN_STORE, WIDE_STORE + PLAIN_STORE)
    pieces = (
        HEAD,
        packed,
        SIGNATURES["forward"],
        FORWARD[forward],
        "    return 0;\n}\n",
        SIGNATURES["backward"],
        BACKWARD[backward],
        "    return 0;\n}\n",
    )
    return "".join(pieces)
