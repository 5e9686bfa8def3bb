/* row: max sub exp sum recip mul
   b0: f32[131072], writes b1: f32[131072] */

static void k0_0(const i64 i1, const f32 *restrict b0, f32 *restrict b1) {
  f32 acc2[32] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i3 = 0; i3 < 32; i3++) {
    acc2[i3] = -__builtin_inff();
  }
  const i64 o6 = i1 * 256;
  for (i64 i4 = 0; i4 < 256; i4 += 32) {
    #pragma omp simd
    for (i64 i5 = 0; i5 < 32; i5++) {
      const i64 v7 = o6 + (i4 + i5);
      const f32 v8 = b0[v7];
      acc2[i5] = rw_max_f32(acc2[i5], v8);
    }
  }
  #pragma omp simd
  for (i64 i9 = 0; i9 < 16; i9++) {
    acc2[i9] = rw_max_f32(acc2[i9], acc2[i9 + 16]);
  }
  #pragma omp simd
  for (i64 i10 = 0; i10 < 8; i10++) {
    acc2[i10] = rw_max_f32(acc2[i10], acc2[i10 + 8]);
  }
  #pragma omp simd
  for (i64 i11 = 0; i11 < 4; i11++) {
    acc2[i11] = rw_max_f32(acc2[i11], acc2[i11 + 4]);
  }
  #pragma omp simd
  for (i64 i12 = 0; i12 < 2; i12++) {
    acc2[i12] = rw_max_f32(acc2[i12], acc2[i12 + 2]);
  }
  acc2[0] = rw_max_f32(acc2[0], acc2[1]);
  const f32 r14 = acc2[0];
  f32 row15[256] __attribute__((aligned(64)));
  f32 acc16[32] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i17 = 0; i17 < 32; i17++) {
    acc16[i17] = 0.0f;
  }
  const i64 o20 = i1 * 256;
  for (i64 i18 = 0; i18 < 256; i18 += 32) {
    #pragma omp simd
    for (i64 i19 = 0; i19 < 32; i19++) {
      const i64 v21 = o20 + (i18 + i19);
      const f32 v22 = b0[v21];
      const f32 v23 = v22 - r14;
      const f32 v24 = rw_exp_f32(v23);
      acc16[i19] = acc16[i19] + v24;
      const i64 v25 = i18 + i19;
      row15[v25] = v24;
    }
  }
  #pragma omp simd
  for (i64 i26 = 0; i26 < 16; i26++) {
    acc16[i26] = acc16[i26] + acc16[i26 + 16];
  }
  #pragma omp simd
  for (i64 i27 = 0; i27 < 8; i27++) {
    acc16[i27] = acc16[i27] + acc16[i27 + 8];
  }
  #pragma omp simd
  for (i64 i28 = 0; i28 < 4; i28++) {
    acc16[i28] = acc16[i28] + acc16[i28 + 4];
  }
  #pragma omp simd
  for (i64 i29 = 0; i29 < 2; i29++) {
    acc16[i29] = acc16[i29] + acc16[i29 + 2];
  }
  acc16[0] = acc16[0] + acc16[1];
  const f32 r31 = acc16[0];
  const f32 v33 = 1 / r31;
  const i64 o36 = i1 * 256;
  #pragma omp simd
  for (i64 i32_ = 0; i32_ < 256; i32_++) {
    const f32 v34 = row15[i32_];
    const f32 v35 = v34 * v33;
    const i64 v37 = o36 + i32_;
    b1[v37] = v35;
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
  rw_pool(k0_0_span, rw_b, 512, 3);
}
