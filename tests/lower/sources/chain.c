/* map: add gelu
   b0: f32[262144], b1: f32[64], writes b2: f32[262144] */

static void k0_0(
    const i64 i1,
    const f32 *restrict b0,
    const f32 *restrict b1,
    f32 *restrict b2) {
  const i64 o3 = i1 * 64;
  #pragma omp simd
  for (i64 i2 = 0; i2 < 64; i2++) {
    const i64 v4 = o3 + i2;
    const f32 v5 = b0[v4];
    const i64 v6 = i2;
    const f32 v7 = b1[v6];
    const f32 v8 = v5 + v7;
    const f32 v9 = (0.5f * v8) * (1.0f + rw_erf_f32((v8 * 0.70710677f)));
    b2[v4] = v9;
  }
}

static void k0_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const f32 *b0 = rw_b[0];
  const f32 *b1 = rw_b[1];
  f32 *b2 = rw_b[2];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    const i64 i1 = rw_i;
    k0_0(i1, b0, b1, b2);
  }
}

void k_k0(void *const *rw_b) {
  rw_pool(k0_0_span, rw_b, 4096, 16);
}
