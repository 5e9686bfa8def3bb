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
  for (i64 i6 = 0; i6 < 1024; i6++) {
    const i64 o8 = i6 * 256;
    #pragma omp simd
    for (i64 i7 = 0; i7 < 64; i7++) {
      const i64 v9 = o8 + (o3 + i7);
      const f32 v10 = b0[v9];
      acc4[i7] = acc4[i7] + v10;
    }
  }
  #pragma omp simd
  for (i64 i11 = 0; i11 < 64; i11++) {
    const f32 v12 = acc4[i11];
    const i64 v13 = o3 + i11;
    b1[v13] = v12;
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
