/* contract: mul matmul mul
   b0: f32[32768], b1: f32[32768], writes b2: f32[65536] */

static void k0_0(
    const i64 i1,
    const f32 *restrict b0,
    const f32 *restrict b1,
    f32 *restrict b2) {
  const i64 t2 = (i64)((u32)i1 % (u32)4);
  const i64 p3 = (i64)((u32)i1 / (u32)4);
  const i64 m4 = t2 * 32;
  static _Thread_local f32 right5[8192] __attribute__((aligned(64)));
  f32 sums6[4096] __attribute__((aligned(64)));
  const i64 o14 = p3 * 8192;
  const i64 v22 = p3 * 8192;
  for (i64 i8_ = 0; i8_ < 8; i8_++) {
    const i64 n9 = i8_ * 16;
    const i64 o10 = i8_ * 1024;
    for (i64 i11 = 0; i11 < 16; i11++) {
      #pragma omp simd
      for (i64 i12 = 0; i12 < 64; i12++) {
        const i64 p13 = n9 + i11;
        const i64 v15 = (o14 + (p13 * 64)) + i12;
        const f32 v16 = b1[v15];
        right5[(o10 + (i12 * 16)) + i11] = v16;
      }
    }
  }
  for (i64 i17 = 0; i17 < 8; i17++) {
    const i64 m18 = m4 + (i17 * 4);
    const i64 o19 = i17 * 256;
  }
  for (i64 i20 = 0; i20 < 8; i20++) {
    for (i64 i21 = 0; i21 < 8; i21++) {
      const i64 o23 = v22 + ((m4 + (i21 * 4)) * 64);
      const i64 o24 = (i20 * 16) * 64;
      const i64 o33 = ((i21 * 4) * 128) + (i20 * 16);
      f32x8 c25 = rw_splat_f32_x8(0.0f);
      f32x8 c26 = rw_splat_f32_x8(0.0f);
      f32x8 c27 = rw_splat_f32_x8(0.0f);
      f32x8 c28 = rw_splat_f32_x8(0.0f);
      f32x8 c29 = rw_splat_f32_x8(0.0f);
      f32x8 c30 = rw_splat_f32_x8(0.0f);
      f32x8 c31 = rw_splat_f32_x8(0.0f);
      f32x8 c32 = rw_splat_f32_x8(0.0f);
      for (i64 i34 = 0; i34 < 64; i34++) {
        const f32x8 b35 = *(const f32x8_u *)(right5 + (o24 + (i34 * 16)));
        const f32x8 b36 = *(const f32x8_u *)(right5 + ((o24 + (i34 * 16)) + 8));
        const f32x8 a37 = rw_splat_f32_x8(b0[o23 + i34]);
        c25 = rw_fma_f32_x8(a37, b35, c25);
        c26 = rw_fma_f32_x8(a37, b36, c26);
        const f32x8 a38 = rw_splat_f32_x8(b0[(o23 + i34) + 64]);
        c27 = rw_fma_f32_x8(a38, b35, c27);
        c28 = rw_fma_f32_x8(a38, b36, c28);
        const f32x8 a39 = rw_splat_f32_x8(b0[(o23 + i34) + 128]);
        c29 = rw_fma_f32_x8(a39, b35, c29);
        c30 = rw_fma_f32_x8(a39, b36, c30);
        const f32x8 a40 = rw_splat_f32_x8(b0[(o23 + i34) + 192]);
        c31 = rw_fma_f32_x8(a40, b35, c31);
        c32 = rw_fma_f32_x8(a40, b36, c32);
      }
      *(f32x8_u *)(sums6 + o33) = c25;
      *(f32x8_u *)(sums6 + (o33 + 8)) = c26;
      *(f32x8_u *)(sums6 + (o33 + 128)) = c27;
      *(f32x8_u *)(sums6 + (o33 + 136)) = c28;
      *(f32x8_u *)(sums6 + (o33 + 256)) = c29;
      *(f32x8_u *)(sums6 + (o33 + 264)) = c30;
      *(f32x8_u *)(sums6 + (o33 + 384)) = c31;
      *(f32x8_u *)(sums6 + (o33 + 392)) = c32;
    }
  }
  const i64 o46 = p3 * 16384;
  for (i64 i41 = 0; i41 < 32; i41++) {
    const i64 p42 = m4 + i41;
    const i64 o47 = o46 + (p42 * 128);
    #pragma omp simd
    for (i64 i43 = 0; i43 < 128; i43++) {
      const f32 r44 = sums6[(i41 * 128) + i43];
      const f32 v45 = r44 * 0.125f;
      const i64 v48 = o47 + i43;
      b2[v48] = v45;
    }
  }
}

static void k0_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const f32 *b0 = rw_b[0];
  const f32 *b1 = rw_b[1];
  f32 *b2 = rw_b[2];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    const i64 i1 = rw_i;
    k0_0(i1, b0, b1, b2);
  }
}

void k_k0(void *const *rw_b) {
  rw_pool(k0_0_span, rw_b, 16, 1);
}

/* row: max sub exp sum recip mul
   b0: f32[65536], writes b1: f32[65536] */

static void k1_0(const i64 i1, const f32 *b0, f32 *b1) {
  f32 acc2[32] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i3 = 0; i3 < 32; i3++) {
    acc2[i3] = -__builtin_inff();
  }
  const i64 o6 = i1 * 128;
  for (i64 i4 = 0; i4 < 128; i4 += 32) {
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
  f32 row15[128] __attribute__((aligned(64)));
  f32 acc16[32] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i17 = 0; i17 < 32; i17++) {
    acc16[i17] = 0.0f;
  }
  const i64 o20 = i1 * 128;
  for (i64 i18 = 0; i18 < 128; i18 += 32) {
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
  const i64 o36 = i1 * 128;
  #pragma omp simd
  for (i64 i32_ = 0; i32_ < 128; i32_++) {
    const f32 v34 = row15[i32_];
    const f32 v35 = v34 * v33;
    const i64 v37 = o36 + i32_;
    b1[v37] = v35;
  }
}

static void k1_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const f32 *b0 = rw_b[0];
  f32 *b1 = rw_b[1];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    const i64 i1 = rw_i;
    k1_0(i1, b0, b1);
  }
}

void k_k1(void *const *rw_b) {
  rw_pool(k1_0_span, rw_b, 512, 4);
}

/* contract: mul matmul
   b0: f32[65536], b1: f32[32768], writes b2: f32[32768] */

static void k2_0(
    const i64 i1,
    const f32 *restrict b0,
    const f32 *restrict b1,
    f32 *restrict b2) {
  const i64 t2 = (i64)((u32)i1 % (u32)4);
  const i64 p3 = (i64)((u32)i1 / (u32)4);
  const i64 m4 = t2 * 32;
  f32 sums5[2048] __attribute__((aligned(64)));
  const i64 v15 = p3 * 16384;
  const i64 v17 = p3 * 8192;
  for (i64 i7 = 0; i7 < 4; i7++) {
    const i64 n8 = i7 * 16;
    const i64 o9 = i7 * 2048;
  }
  for (i64 i10 = 0; i10 < 8; i10++) {
    const i64 m11 = m4 + (i10 * 4);
    const i64 o12 = i10 * 512;
  }
  for (i64 i13 = 0; i13 < 4; i13++) {
    for (i64 i14 = 0; i14 < 8; i14++) {
      const i64 o16 = v15 + ((m4 + (i14 * 4)) * 128);
      const i64 o18 = v17 + (i13 * 16);
      const i64 o27 = ((i14 * 4) * 64) + (i13 * 16);
      f32x8 c19 = rw_splat_f32_x8(0.0f);
      f32x8 c20 = rw_splat_f32_x8(0.0f);
      f32x8 c21 = rw_splat_f32_x8(0.0f);
      f32x8 c22 = rw_splat_f32_x8(0.0f);
      f32x8 c23 = rw_splat_f32_x8(0.0f);
      f32x8 c24 = rw_splat_f32_x8(0.0f);
      f32x8 c25 = rw_splat_f32_x8(0.0f);
      f32x8 c26 = rw_splat_f32_x8(0.0f);
      for (i64 i28 = 0; i28 < 128; i28++) {
        const f32x8 b29 = *(const f32x8_u *)(b1 + (o18 + (i28 * 64)));
        const f32x8 b30 = *(const f32x8_u *)(b1 + ((o18 + (i28 * 64)) + 8));
        const f32x8 a31 = rw_splat_f32_x8(b0[o16 + i28]);
        c19 = rw_fma_f32_x8(a31, b29, c19);
        c20 = rw_fma_f32_x8(a31, b30, c20);
        const f32x8 a32 = rw_splat_f32_x8(b0[(o16 + i28) + 128]);
        c21 = rw_fma_f32_x8(a32, b29, c21);
        c22 = rw_fma_f32_x8(a32, b30, c22);
        const f32x8 a33 = rw_splat_f32_x8(b0[(o16 + i28) + 256]);
        c23 = rw_fma_f32_x8(a33, b29, c23);
        c24 = rw_fma_f32_x8(a33, b30, c24);
        const f32x8 a34 = rw_splat_f32_x8(b0[(o16 + i28) + 384]);
        c25 = rw_fma_f32_x8(a34, b29, c25);
        c26 = rw_fma_f32_x8(a34, b30, c26);
      }
      *(f32x8_u *)(sums5 + o27) = c19;
      *(f32x8_u *)(sums5 + (o27 + 8)) = c20;
      *(f32x8_u *)(sums5 + (o27 + 64)) = c21;
      *(f32x8_u *)(sums5 + (o27 + 72)) = c22;
      *(f32x8_u *)(sums5 + (o27 + 128)) = c23;
      *(f32x8_u *)(sums5 + (o27 + 136)) = c24;
      *(f32x8_u *)(sums5 + (o27 + 192)) = c25;
      *(f32x8_u *)(sums5 + (o27 + 200)) = c26;
    }
  }
  const i64 o39 = p3 * 8192;
  for (i64 i35 = 0; i35 < 32; i35++) {
    const i64 p36 = m4 + i35;
    const i64 o40 = o39 + (p36 * 64);
    #pragma omp simd
    for (i64 i37 = 0; i37 < 64; i37++) {
      const f32 r38 = sums5[(i35 * 64) + i37];
      const i64 v41 = o40 + i37;
      b2[v41] = r38;
    }
  }
}

static void k2_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const f32 *b0 = rw_b[0];
  const f32 *b1 = rw_b[1];
  f32 *b2 = rw_b[2];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    const i64 i1 = rw_i;
    k2_0(i1, b0, b1, b2);
  }
}

void k_k2(void *const *rw_b) {
  rw_pool(k2_0_span, rw_b, 16, 1);
}
