/* map: mul
   b0: f32[131072], writes b1: f32[131072] */

static void k0_0(const i64 i1, const f32 *restrict b0, f32 *restrict b1) {
  const i64 o3 = i1 * 512;
  #pragma omp simd
  for (i64 i2 = 0; i2 < 512; i2++) {
    const i64 v4 = o3 + i2;
    const f32 v5 = b0[v4];
    const f32 v6 = v5 * 2.0f;
    const i64 v7 = i1 + (i2 * 256);
    b1[v7] = v6;
  }
}

static void k0_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const f32 *b0 = rw_b[0];
  f32 *b1 = rw_b[1];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    const i64 i1 = rw_i;
    k0_0(i1, b0, b1);
  }
}

void k_k0(void *const *rw_b) {
  rw_pool(k0_0_span, rw_b, 256, 3);
}
