/* map: lt add select max min mul
   b0: i32[128], b1: f32[64000], writes b2: f32[8192] */

static void k0_0(const i32 *restrict b0, const f32 *restrict b1, f32 *restrict b2) {
  for (i64 i1 = 0; i1 < 128; i1++) {
    const i32 v3 = b0[i1];
    const bool v4 = v3 < 0;
    const i64 v5 = v3 + 1000;
    const i64 v6 = v4 ? (i32)v5 : v3;
    const i64 v7 = rw_max_i32((i32)v6, 0);
    const i64 v8 = rw_min_i32((i32)v7, 999);
    const i64 o9 = v8 * 64;
    const i64 o13 = i1 * 64;
    #pragma omp simd
    for (i64 i2 = 0; i2 < 64; i2++) {
      const i64 v10 = o9 + i2;
      const f32 v11 = b1[v10];
      const f32 v12 = v11 * 8.0f;
      const i64 v14 = o13 + i2;
      b2[v14] = v12;
    }
  }
}

static void k0_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const i32 *b0 = rw_b[0];
  const f32 *b1 = rw_b[1];
  f32 *b2 = rw_b[2];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    k0_0(b0, b1, b2);
  }
}

void k_k0(void *const *rw_b) {
  k0_0_span(rw_b, 0, 1);
}
