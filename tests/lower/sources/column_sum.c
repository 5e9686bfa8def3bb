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
  f64 total6[64] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i7 = 0; i7 < 64; i7++) {
    total6[i7] = 0.0;
  }
  for (i64 i8_ = 0; i8_ < 1024; i8_ += 64) {
    for (i64 i9 = 0; i9 < 64; i9 += 4) {
      const i64 r10 = i8_ + i9;
      #pragma omp simd
      for (i64 i11 = 0; i11 < 64; i11++) {
        const f32 a12 = acc4[i11];
        const i64 o14 = o3 + i11;
        const i64 v15 = o14 + (r10 * 256);
        const f32 v16 = b0[v15];
        const f32 a17 = a12 + v16;
        const i64 o19 = o3 + i11;
        const i64 v20 = o19 + ((r10 + 1) * 256);
        const f32 v21 = b0[v20];
        const f32 a22 = a17 + v21;
        const i64 o24 = o3 + i11;
        const i64 v25 = o24 + ((r10 + 2) * 256);
        const f32 v26 = b0[v25];
        const f32 a27 = a22 + v26;
        const i64 o29 = o3 + i11;
        const i64 v30 = o29 + ((r10 + 3) * 256);
        const f32 v31 = b0[v30];
        const f32 a32 = a27 + v31;
        acc4[i11] = a32;
      }
    }
    #pragma omp simd
    for (i64 i33 = 0; i33 < 64; i33++) {
      total6[i33] = total6[i33] + (f64)acc4[i33];
      acc4[i33] = 0.0f;
    }
  }
  #pragma omp simd
  for (i64 i34 = 0; i34 < 64; i34++) {
    total6[i34] = total6[i34] + (f64)acc4[i34];
    acc4[i34] = 0.0f;
  }
  #pragma omp simd
  for (i64 i35 = 0; i35 < 64; i35++) {
    acc4[i35] = (f32)total6[i35];
  }
  #pragma omp simd
  for (i64 i36 = 0; i36 < 64; i36++) {
    const f32 v37 = acc4[i36];
    const i64 v38 = o3 + i36;
    b1[v38] = v37;
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
