/* row: select max sub exp sum recip mul
   b0: bool[131072], b1: f32[131072], writes b2: f32[131072] */

static void k0_0(
    const i64 i1,
    const u8 *restrict b0,
    const f32 *restrict b1,
    f32 *restrict b2) {
  f32 acc2[32] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i3 = 0; i3 < 32; i3++) {
    acc2[i3] = -__builtin_inff();
  }
  const i64 o6 = i1 * 256;
  for (i64 i4 = 0; i4 < 256; i4 += 32) {
    u16 half1[32] __attribute__((aligned(64)));
    *(u16x16_u *)(half1 + 0) = __builtin_convertvector(*(const u8x16_u *)(b0 + (o6 + i4)), u16x16);
    *(u16x16_u *)(half1 + 16) = __builtin_convertvector(*(const u8x16_u *)(b0 + ((o6 + i4) + 16)), u16x16);
    i32 wide1[32] __attribute__((aligned(64)));
    *(i32x16_u *)(wide1 + 0) = __builtin_convertvector(*(const u16x16_u *)(half1 + 0), i32x16);
    *(i32x16_u *)(wide1 + 16) = __builtin_convertvector(*(const u16x16_u *)(half1 + 16), i32x16);
    #pragma omp simd
    for (i64 i5 = 0; i5 < 32; i5++) {
      const i64 v7 = o6 + (i4 + i5);
      const bool v8 = wide1[i5] != 0;
      const f32 v9 = b1[v7];
      const f32 v10 = v8 ? v9 : (-1e+30f);
      acc2[i5] = rw_max_f32(acc2[i5], v10);
    }
  }
  #pragma omp simd
  for (i64 i11 = 0; i11 < 16; i11++) {
    acc2[i11] = rw_max_f32(acc2[i11], acc2[i11 + 16]);
  }
  #pragma omp simd
  for (i64 i12 = 0; i12 < 8; i12++) {
    acc2[i12] = rw_max_f32(acc2[i12], acc2[i12 + 8]);
  }
  #pragma omp simd
  for (i64 i13 = 0; i13 < 4; i13++) {
    acc2[i13] = rw_max_f32(acc2[i13], acc2[i13 + 4]);
  }
  #pragma omp simd
  for (i64 i14 = 0; i14 < 2; i14++) {
    acc2[i14] = rw_max_f32(acc2[i14], acc2[i14 + 2]);
  }
  acc2[0] = rw_max_f32(acc2[0], acc2[1]);
  const f32 r16 = acc2[0];
  f32 row17[256] __attribute__((aligned(64)));
  f32 acc18[32] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i19 = 0; i19 < 32; i19++) {
    acc18[i19] = 0.0f;
  }
  const i64 o22 = i1 * 256;
  for (i64 i20 = 0; i20 < 256; i20 += 32) {
    u16 half2[32] __attribute__((aligned(64)));
    *(u16x16_u *)(half2 + 0) = __builtin_convertvector(*(const u8x16_u *)(b0 + (o22 + i20)), u16x16);
    *(u16x16_u *)(half2 + 16) = __builtin_convertvector(*(const u8x16_u *)(b0 + ((o22 + i20) + 16)), u16x16);
    i32 wide2[32] __attribute__((aligned(64)));
    *(i32x16_u *)(wide2 + 0) = __builtin_convertvector(*(const u16x16_u *)(half2 + 0), i32x16);
    *(i32x16_u *)(wide2 + 16) = __builtin_convertvector(*(const u16x16_u *)(half2 + 16), i32x16);
    #pragma omp simd
    for (i64 i21 = 0; i21 < 32; i21++) {
      const i64 v23 = o22 + (i20 + i21);
      const bool v24 = wide2[i21] != 0;
      const f32 v25 = b1[v23];
      const f32 v26 = v24 ? v25 : (-1e+30f);
      const f32 v27 = v26 - r16;
      const f32 v28 = rw_exp_f32(v27);
      acc18[i21] = acc18[i21] + v28;
      const i64 v29 = i20 + i21;
      row17[v29] = v28;
    }
  }
  #pragma omp simd
  for (i64 i30 = 0; i30 < 16; i30++) {
    acc18[i30] = acc18[i30] + acc18[i30 + 16];
  }
  #pragma omp simd
  for (i64 i31 = 0; i31 < 8; i31++) {
    acc18[i31] = acc18[i31] + acc18[i31 + 8];
  }
  #pragma omp simd
  for (i64 i32_ = 0; i32_ < 4; i32_++) {
    acc18[i32_] = acc18[i32_] + acc18[i32_ + 4];
  }
  #pragma omp simd
  for (i64 i33 = 0; i33 < 2; i33++) {
    acc18[i33] = acc18[i33] + acc18[i33 + 2];
  }
  acc18[0] = acc18[0] + acc18[1];
  const f32 r35 = acc18[0];
  const f32 v37 = 1 / r35;
  const i64 o40 = i1 * 256;
  #pragma omp simd
  for (i64 i36 = 0; i36 < 256; i36++) {
    const f32 v38 = row17[i36];
    const f32 v39 = v38 * v37;
    const i64 v41 = o40 + i36;
    b2[v41] = v39;
  }
}

static void k0_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const u8 *b0 = rw_b[0];
  const f32 *b1 = rw_b[1];
  f32 *b2 = rw_b[2];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    const i64 i1 = rw_i;
    k0_0(i1, b0, b1, b2);
  }
}

void k_k0(void *const *rw_b) {
  rw_pool(k0_0_span, rw_b, 512, 2);
}
