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
  f64 total4[8] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i5 = 0; i5 < 8; i5++) {
    total4[i5] = 0.0;
  }
  const i64 o9 = i1 * 4096;
  for (i64 i6 = 0; i6 < 4096; i6 += 512) {
    for (i64 i7 = 0; i7 < 512; i7 += 32) {
      #pragma omp simd
      for (i64 i8_ = 0; i8_ < 32; i8_++) {
        const i64 v10 = o9 + ((i6 + i7) + i8_);
        const f32 v11 = b0[v10];
        acc2[i8_] = rw_fma_f32(v11, v11, acc2[i8_]);
      }
    }
    #pragma omp simd
    for (i64 i12 = 0; i12 < 8; i12++) {
      total4[i12] = total4[i12] + (f64)((acc2[i12] + acc2[i12 + 16]) + (acc2[i12 + 8] + acc2[i12 + 24]));
      acc2[i12] = 0.0f;
      acc2[i12 + 8] = 0.0f;
      acc2[i12 + 16] = 0.0f;
      acc2[i12 + 24] = 0.0f;
    }
  }
  #pragma omp simd
  for (i64 i13 = 0; i13 < 8; i13++) {
    total4[i13] = total4[i13] + (f64)((acc2[i13] + acc2[i13 + 16]) + (acc2[i13 + 8] + acc2[i13 + 24]));
    acc2[i13] = 0.0f;
    acc2[i13 + 8] = 0.0f;
    acc2[i13 + 16] = 0.0f;
    acc2[i13 + 24] = 0.0f;
  }
  #pragma omp simd
  for (i64 i14 = 0; i14 < 8; i14++) {
    acc2[i14] = (f32)total4[i14];
  }
  #pragma omp simd
  for (i64 i15 = 0; i15 < 16; i15++) {
    acc2[i15] = acc2[i15] + acc2[i15 + 16];
  }
  #pragma omp simd
  for (i64 i16_ = 0; i16_ < 8; i16_++) {
    acc2[i16_] = acc2[i16_] + acc2[i16_ + 8];
  }
  #pragma omp simd
  for (i64 i17 = 0; i17 < 4; i17++) {
    acc2[i17] = acc2[i17] + acc2[i17 + 4];
  }
  #pragma omp simd
  for (i64 i18 = 0; i18 < 2; i18++) {
    acc2[i18] = acc2[i18] + acc2[i18 + 2];
  }
  acc2[0] = acc2[0] + acc2[1];
  const f32 r20 = acc2[0];
  s0[i1] = r20;
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
