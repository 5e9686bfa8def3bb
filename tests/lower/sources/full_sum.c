/* full: mul sum
   b0: f32[262144], writes b1: f32[1], scratch s0: f32[64] */

static void k0_0(
    const i64 i1,
    const f32 *restrict b0,
    f32 *restrict b1,
    f32 *restrict s0) {
  f32 acc2[32] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i3 = 0; i3 < 32; i3++) {
    acc2[i3] = 0.0f;
  }
  const i64 o6 = i1 * 4096;
  for (i64 i4 = 0; i4 < 4096; i4 += 32) {
    #pragma omp simd
    for (i64 i5 = 0; i5 < 32; i5++) {
      const i64 v7 = o6 + (i4 + i5);
      const f32 v8 = b0[v7];
      acc2[i5] = rw_fma_f32(v8, v8, acc2[i5]);
    }
  }
  #pragma omp simd
  for (i64 i9 = 0; i9 < 16; i9++) {
    acc2[i9] = acc2[i9] + acc2[i9 + 16];
  }
  #pragma omp simd
  for (i64 i10 = 0; i10 < 8; i10++) {
    acc2[i10] = acc2[i10] + acc2[i10 + 8];
  }
  #pragma omp simd
  for (i64 i11 = 0; i11 < 4; i11++) {
    acc2[i11] = acc2[i11] + acc2[i11 + 4];
  }
  #pragma omp simd
  for (i64 i12 = 0; i12 < 2; i12++) {
    acc2[i12] = acc2[i12] + acc2[i12 + 2];
  }
  acc2[0] = acc2[0] + acc2[1];
  const f32 r14 = acc2[0];
  s0[i1] = r14;
}

static void k0_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const f32 *b0 = rw_b[0];
  f32 *b1 = rw_b[1];
  f32 *s0 = rw_b[2];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    const i64 i1 = rw_i;
    k0_0(i1, b0, b1, s0);
  }
}

static void k0_1(const f32 *restrict b0, f32 *restrict b1, f32 *restrict s0) {
  for (i64 i1 = 0; i1 < 1; i1++) {
    f32 acc2[16] __attribute__((aligned(64)));
    #pragma omp simd
    for (i64 i3 = 0; i3 < 16; i3++) {
      acc2[i3] = 0.0f;
    }
    for (i64 i4 = 0; i4 < 64; i4 += 16) {
      #pragma omp simd
      for (i64 i5 = 0; i5 < 16; i5++) {
        const i64 v6 = i4 + i5;
        const f32 v7 = s0[v6];
        acc2[i5] = acc2[i5] + v7;
      }
    }
    #pragma omp simd
    for (i64 i8_ = 0; i8_ < 8; i8_++) {
      acc2[i8_] = acc2[i8_] + acc2[i8_ + 8];
    }
    #pragma omp simd
    for (i64 i9 = 0; i9 < 4; i9++) {
      acc2[i9] = acc2[i9] + acc2[i9 + 4];
    }
    #pragma omp simd
    for (i64 i10 = 0; i10 < 2; i10++) {
      acc2[i10] = acc2[i10] + acc2[i10 + 2];
    }
    acc2[0] = acc2[0] + acc2[1];
    const f32 r12 = acc2[0];
    b1[0] = r12;
  }
}

static void k0_1_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const f32 *b0 = rw_b[0];
  f32 *b1 = rw_b[1];
  f32 *s0 = rw_b[2];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    k0_1(b0, b1, s0);
  }
}

void k_k0(void *const *rw_b) {
  rw_pool(k0_0_span, rw_b, 64, 1);
  k0_1_span(rw_b, 0, 1);
}
