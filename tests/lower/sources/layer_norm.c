/* row: sum mul sub mul sum mul add sqrt recip mul mul add
   b0: f32[131072], b1: f32[256], b2: f32[256], writes b3: f32[131072] */

static void k0_0(
    const i64 i1,
    const f32 *restrict b0,
    const f32 *restrict b1,
    const f32 *restrict b2,
    f32 *restrict b3) {
  f32 acc2[32] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i3 = 0; i3 < 32; i3++) {
    acc2[i3] = 0.0f;
  }
  const i64 o6 = i1 * 256;
  for (i64 i4 = 0; i4 < 256; i4 += 32) {
    #pragma omp simd
    for (i64 i5 = 0; i5 < 32; i5++) {
      const i64 v7 = o6 + (i4 + i5);
      const f32 v8 = b0[v7];
      acc2[i5] = acc2[i5] + v8;
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
  f32 acc15[32] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i16_ = 0; i16_ < 32; i16_++) {
    acc15[i16_] = 0.0f;
  }
  const i64 o19 = i1 * 256;
  const f32 v22 = r14 * 0.00390625f;
  for (i64 i17 = 0; i17 < 256; i17 += 32) {
    #pragma omp simd
    for (i64 i18 = 0; i18 < 32; i18++) {
      const i64 v20 = o19 + (i17 + i18);
      const f32 v21 = b0[v20];
      const f32 v23 = v21 - v22;
      acc15[i18] = rw_fma_f32(v23, v23, acc15[i18]);
    }
  }
  #pragma omp simd
  for (i64 i24 = 0; i24 < 16; i24++) {
    acc15[i24] = acc15[i24] + acc15[i24 + 16];
  }
  #pragma omp simd
  for (i64 i25 = 0; i25 < 8; i25++) {
    acc15[i25] = acc15[i25] + acc15[i25 + 8];
  }
  #pragma omp simd
  for (i64 i26 = 0; i26 < 4; i26++) {
    acc15[i26] = acc15[i26] + acc15[i26 + 4];
  }
  #pragma omp simd
  for (i64 i27 = 0; i27 < 2; i27++) {
    acc15[i27] = acc15[i27] + acc15[i27 + 2];
  }
  acc15[0] = acc15[0] + acc15[1];
  const f32 r29 = acc15[0];
  const i64 o31 = i1 * 256;
  const f32 v35 = r29 * 0.00390625f;
  const f32 v36 = v35 + 1e-05f;
  const f32 v37 = rw_sqrt_f32(v36);
  const f32 v38 = 1 / v37;
  #pragma omp simd
  for (i64 i30 = 0; i30 < 256; i30++) {
    const i64 v32 = o31 + i30;
    const f32 v33 = b0[v32];
    const f32 v34 = v33 - v22;
    const f32 v39 = v34 * v38;
    const f32 v40 = b1[i30];
    const f32 v41 = v39 * v40;
    const f32 v42 = b2[i30];
    const f32 v43 = v41 + v42;
    b3[v32] = v43;
  }
}

static void k0_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const f32 *b0 = rw_b[0];
  const f32 *b1 = rw_b[1];
  const f32 *b2 = rw_b[2];
  f32 *b3 = rw_b[3];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    const i64 i1 = rw_i;
    k0_0(i1, b0, b1, b2, b3);
  }
}

void k_k0(void *const *rw_b) {
  rw_pool(k0_0_span, rw_b, 512, 2);
}
