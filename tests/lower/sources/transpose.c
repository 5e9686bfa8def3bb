/* transpose: mul
   b0: f32[131072], writes b1: f32[131072] */

static void k0_0(const i64 i1, const f32 *restrict b0, f32 *restrict b1) {
  const i64 t2 = (i64)((u32)i1 % (u32)4);
  const i64 t3 = (i64)((u32)(i64)((u32)i1 / (u32)4) % (u32)8);
  const i64 o4 = t3 * 64;
  const i64 o5 = t2 * 64;
  static _Thread_local f32 tile6[4352] __attribute__((aligned(64)));
  for (i64 i7 = 0; i7 < 64; i7++) {
    const i64 p8 = o5 + i7;
    #pragma omp simd
    for (i64 i9 = 0; i9 < 64; i9++) {
      const i64 v10 = (p8 * 512) + (o4 + i9);
      const f32 v11 = b0[v10];
      tile6[(i7 * 68) + i9] = v11;
    }
  }
  for (i64 i12 = 0; i12 < 64; i12++) {
    const i64 p13 = o4 + i12;
    #pragma omp simd
    for (i64 i14 = 0; i14 < 64; i14++) {
      const i64 v15 = (i14 * 68) + i12;
      const f32 v16 = tile6[v15];
      const f32 v17 = v16 * 2.0f;
      const i64 v18 = (p13 * 256) + (o5 + i14);
      b1[v18] = v17;
    }
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
  rw_pool(k0_0_span, rw_b, 32, 1);
}
