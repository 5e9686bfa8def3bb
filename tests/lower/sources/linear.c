/* contract: mul matmul add relu
   b0: f32[8192], b1: f32[8192], b2: f32[128], writes b3: f32[16384] */

static void k0_0(
    const f32 *restrict b0,
    const f32 *restrict b1,
    const f32 *restrict b2,
    f32 *restrict b3) {
  for (i64 i1 = 0; i1 < 16; i1++) {
    const i64 t2 = (i64)((u32)i1 % (u32)2);
    const i64 t3 = (i64)((u32)(i64)((u32)i1 / (u32)2) % (u32)8);
    const i64 m4 = t3 * 16;
    const i64 n5 = t2 * 64;
    f32 sums6[1024] __attribute__((aligned(64)));
    for (i64 i8_ = 0; i8_ < 4; i8_++) {
      const i64 n9 = n5 + (i8_ * 16);
      const i64 o10 = i8_ * 1024;
    }
    for (i64 i11 = 0; i11 < 4; i11++) {
      const i64 m12 = m4 + (i11 * 4);
      const i64 o13 = i11 * 256;
    }
    for (i64 i14 = 0; i14 < 4; i14++) {
      for (i64 i15 = 0; i15 < 4; i15++) {
        const i64 o16 = (m4 + (i15 * 4)) * 64;
        const i64 o17 = n5 + (i14 * 16);
        const i64 o26 = ((i15 * 4) * 64) + (i14 * 16);
        f32x8 c18 = rw_splat_f32_x8(0.0f);
        f32x8 c19 = rw_splat_f32_x8(0.0f);
        f32x8 c20 = rw_splat_f32_x8(0.0f);
        f32x8 c21 = rw_splat_f32_x8(0.0f);
        f32x8 c22 = rw_splat_f32_x8(0.0f);
        f32x8 c23 = rw_splat_f32_x8(0.0f);
        f32x8 c24 = rw_splat_f32_x8(0.0f);
        f32x8 c25 = rw_splat_f32_x8(0.0f);
        for (i64 i27 = 0; i27 < 64; i27++) {
          f32x8 b28 = *(const f32x8_u *)(b1 + (o17 + (i27 * 128))); RW_HOLD(b28);
          f32x8 b29 = *(const f32x8_u *)(b1 + ((o17 + (i27 * 128)) + 8)); RW_HOLD(b29);
          const f32x8 a30 = rw_splat_f32_x8(b0[o16 + i27]);
          c18 = rw_fma_f32_x8(a30, b28, c18);
          c19 = rw_fma_f32_x8(a30, b29, c19);
          const f32x8 a31 = rw_splat_f32_x8(b0[(o16 + i27) + 64]);
          c20 = rw_fma_f32_x8(a31, b28, c20);
          c21 = rw_fma_f32_x8(a31, b29, c21);
          const f32x8 a32 = rw_splat_f32_x8(b0[(o16 + i27) + 128]);
          c22 = rw_fma_f32_x8(a32, b28, c22);
          c23 = rw_fma_f32_x8(a32, b29, c23);
          const f32x8 a33 = rw_splat_f32_x8(b0[(o16 + i27) + 192]);
          c24 = rw_fma_f32_x8(a33, b28, c24);
          c25 = rw_fma_f32_x8(a33, b29, c25);
        }
        *(f32x8_u *)(sums6 + o26) = c18;
        *(f32x8_u *)(sums6 + (o26 + 8)) = c19;
        *(f32x8_u *)(sums6 + (o26 + 64)) = c20;
        *(f32x8_u *)(sums6 + (o26 + 72)) = c21;
        *(f32x8_u *)(sums6 + (o26 + 128)) = c22;
        *(f32x8_u *)(sums6 + (o26 + 136)) = c23;
        *(f32x8_u *)(sums6 + (o26 + 192)) = c24;
        *(f32x8_u *)(sums6 + (o26 + 200)) = c25;
      }
    }
    for (i64 i34 = 0; i34 < 16; i34++) {
      const i64 p35 = m4 + i34;
      const i64 o42 = p35 * 128;
      #pragma omp simd
      for (i64 i36 = 0; i36 < 64; i36++) {
        const i64 p37 = n5 + i36;
        const f32 r38 = sums6[(i34 * 64) + i36];
        const f32 v39 = b2[p37];
        const f32 v40 = r38 + v39;
        const f32 v41 = rw_max_f32(0.0f, v40) + 0.0f;
        const i64 v43 = o42 + p37;
        b3[v43] = v41;
      }
    }
  }
}

static void k0_0_span(void *const *rw_b, i64 rw_begin, i64 rw_end) {
  const f32 *b0 = rw_b[0];
  const f32 *b1 = rw_b[1];
  const f32 *b2 = rw_b[2];
  f32 *b3 = rw_b[3];
  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {
    k0_0(b0, b1, b2, b3);
  }
}

void k_k0(void *const *rw_b) {
  k0_0_span(rw_b, 0, 1);
}
