/* column: sum
   b0: f32[262144], writes b1: f32[256] */

static void k0_0(const i64 i1, const f32 *restrict b0, f32 *restrict b1) {
  const i64 t2 = (i64)((u32)i1 % (u32)4);
  const i64 o3 = i1 * 64;
  f32 acc4[64] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i5 = 0; i5 < 64; i5++) {
    acc4[i5] = 0.0f;
  }
  for (i64 i6 = 0; i6 < 1024; i6 += 4) {
    #pragma omp simd
    for (i64 i7 = 0; i7 < 64; i7++) {
      const f32 a8 = acc4[i7];
      const i64 o10 = o3 + i7;
      const i64 v11 = o10 + (i6 * 256);
      const f32 v12 = b0[v11];
      const f32 a13 = a8 + v12;
      const i64 o15 = o3 + i7;
      const i64 v16 = o15 + ((i6 + 1) * 256);
      const f32 v17 = b0[v16];
      const f32 a18 = a13 + v17;
      const i64 o20 = o3 + i7;
      const i64 v21 = o20 + ((i6 + 2) * 256);
      const f32 v22 = b0[v21];
      const f32 a23 = a18 + v22;
      const i64 o25 = o3 + i7;
      const i64 v26 = o25 + ((i6 + 3) * 256);
      const f32 v27 = b0[v26];
      const f32 a28 = a23 + v27;
      acc4[i7] = a28;
    }
  }
  #pragma omp simd
  for (i64 i29 = 0; i29 < 64; i29++) {
    const f32 v30 = acc4[i29];
    const i64 v31 = o3 + i29;
    b1[v31] = v30;
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
  rw_pool(k0_0_span, rw_b, 4, 1);
}
