/* fold: mul matmul mul max mul sub exp sum recip mul mul matmul
   b0: f32[32768], b1: f32[32768], b2: f32[32768], writes b3: f32[32768] */

static void k0_0(
    const i64 i1,
    const f32 *restrict b0,
    const f32 *restrict b1,
    const f32 *restrict b2,
    f32 *restrict b3) {
  const i32 t2 = (i32)((u32)(i32)i1 % (u32)4);
  const i64 p3 = (i64)((u32)i1 / (u32)4);
  const i32 m4 = (i32)((u32)t2 * (u32)36);
  f32 state5[36] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i6 = 0; i6 < 36; i6++) {
    state5[i6] = -__builtin_inff();
  }
  f32 state7[36] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i8_ = 0; i8_ < 36; i8_++) {
    state7[i8_] = 0.0f;
  }
  f32 sums9[2304] __attribute__((aligned(64)));
  #pragma omp simd
  for (i64 i10 = 0; i10 < 2304; i10++) {
    sums9[i10] = 0.0f;
  }
  f32 left11[2304] __attribute__((aligned(64)));
  static _Thread_local f32 right12[8192] __attribute__((aligned(64)));
  static _Thread_local f32 left13[4608] __attribute__((aligned(64)));
  static _Thread_local f32 tile14[4608] __attribute__((aligned(64)));
  const i64 o23 = p3 * 8192;
  const i64 o33 = p3 * 8192;
  const i64 o39 = p3 * 8192;
  const i64 v106 = p3 * 8192;
  for (i64 i17 = 0; i17 < 8; i17++) {
    const i64 n18 = i17 * 16;
    const i64 o19 = i17 * 1024;
    for (i64 i20 = 0; i20 < 16; i20++) {
      const i64 p22 = n18 + i20;
      #pragma omp simd
      for (i64 i21 = 0; i21 < 64; i21++) {
        const i64 v24 = (o23 + (p22 * 64)) + i21;
        const f32 v25 = b1[v24];
        right12[(o19 + (i21 * 16)) + i20] = v25;
      }
    }
  }
  for (i64 i26 = 0; i26 < 6; i26++) {
    const i32 m27 = (i32)((u32)m4 + (u32)(i32)((u32)(i32)i26 * (u32)6));
    const i64 o28 = i26 * 384;
    const bool w29 = (i32)((u32)m27 + (u32)6) <= 128;
    if (w29) {
      for (i64 i30 = 0; i30 < 6; i30++) {
        const i64 p32 = m27 + i30;
        #pragma omp simd
        for (i64 i31 = 0; i31 < 64; i31++) {
          const i64 v34 = (o33 + (p32 * 64)) + i31;
          const f32 v35 = b0[v34];
          left11[(o28 + i31) + (i30 * 64)] = v35;
        }
      }
    }
    if (rw_not_bool(w29)) {
      if (m27 < 128) {
        for (i64 i36 = 0; i36 < 2; i36++) {
          const i64 p38 = m27 + i36;
          #pragma omp simd
          for (i64 i37 = 0; i37 < 64; i37++) {
            const i64 v40 = (o39 + (p38 * 64)) + i37;
            const f32 v41 = b0[v40];
            left11[(o28 + i37) + (i36 * 64)] = v41;
          }
        }
      }
      for (i64 i42 = 0; i42 < 64; i42++) {
        #pragma omp simd
        for (i64 i43 = 0; i43 < 4; i43++) {
          left11[o28 + (i42 + ((i43 + 2) * 64))] = 0.0f;
        }
      }
    }
  }
  for (i64 i44 = 0; i44 < 8; i44++) {
    for (i64 i45 = 0; i45 < 6; i45++) {
      if ((i32)((u32)m4 + (u32)(i32)((u32)(i32)i45 * (u32)6)) < 128) {
        const i64 o46 = (i45 * 6) * 64;
        const i64 o47 = (i44 * 16) * 64;
        const i64 o60 = ((i45 * 6) * 128) + (i44 * 16);
        f32x8 c48 = rw_splat_f32_x8(0.0f);
        f32x8 c49 = rw_splat_f32_x8(0.0f);
        f32x8 c50 = rw_splat_f32_x8(0.0f);
        f32x8 c51 = rw_splat_f32_x8(0.0f);
        f32x8 c52 = rw_splat_f32_x8(0.0f);
        f32x8 c53 = rw_splat_f32_x8(0.0f);
        f32x8 c54 = rw_splat_f32_x8(0.0f);
        f32x8 c55 = rw_splat_f32_x8(0.0f);
        f32x8 c56 = rw_splat_f32_x8(0.0f);
        f32x8 c57 = rw_splat_f32_x8(0.0f);
        f32x8 c58 = rw_splat_f32_x8(0.0f);
        f32x8 c59 = rw_splat_f32_x8(0.0f);
        for (i64 i61 = 0; i61 < 64; i61++) {
          f32x8 b62 = *(const f32x8_u *)(right12 + (o47 + (i61 * 16))); RW_HOLD(b62);
          f32x8 b63 = *(const f32x8_u *)(right12 + ((o47 + (i61 * 16)) + 8)); RW_HOLD(b63);
          const f32x8 a64 = rw_splat_f32_x8(left11[o46 + i61]);
          c48 = rw_fma_f32_x8(a64, b62, c48);
          c49 = rw_fma_f32_x8(a64, b63, c49);
          const f32x8 a65 = rw_splat_f32_x8(left11[(o46 + i61) + 64]);
          c50 = rw_fma_f32_x8(a65, b62, c50);
          c51 = rw_fma_f32_x8(a65, b63, c51);
          const f32x8 a66 = rw_splat_f32_x8(left11[(o46 + i61) + 128]);
          c52 = rw_fma_f32_x8(a66, b62, c52);
          c53 = rw_fma_f32_x8(a66, b63, c53);
          const f32x8 a67 = rw_splat_f32_x8(left11[(o46 + i61) + 192]);
          c54 = rw_fma_f32_x8(a67, b62, c54);
          c55 = rw_fma_f32_x8(a67, b63, c55);
          const f32x8 a68 = rw_splat_f32_x8(left11[(o46 + i61) + 256]);
          c56 = rw_fma_f32_x8(a68, b62, c56);
          c57 = rw_fma_f32_x8(a68, b63, c57);
          const f32x8 a69 = rw_splat_f32_x8(left11[(o46 + i61) + 320]);
          c58 = rw_fma_f32_x8(a69, b62, c58);
          c59 = rw_fma_f32_x8(a69, b63, c59);
        }
        *(f32x8_u *)(tile14 + o60) = c48;
        *(f32x8_u *)(tile14 + (o60 + 8)) = c49;
        *(f32x8_u *)(tile14 + (o60 + 128)) = c50;
        *(f32x8_u *)(tile14 + (o60 + 136)) = c51;
        *(f32x8_u *)(tile14 + (o60 + 256)) = c52;
        *(f32x8_u *)(tile14 + (o60 + 264)) = c53;
        *(f32x8_u *)(tile14 + (o60 + 384)) = c54;
        *(f32x8_u *)(tile14 + (o60 + 392)) = c55;
        *(f32x8_u *)(tile14 + (o60 + 512)) = c56;
        *(f32x8_u *)(tile14 + (o60 + 520)) = c57;
        *(f32x8_u *)(tile14 + (o60 + 640)) = c58;
        *(f32x8_u *)(tile14 + (o60 + 648)) = c59;
      }
    }
  }
  for (i64 i70 = 0; i70 < 36; i70++) {
    if ((i32)((u32)m4 + (u32)(i32)i70) < 128) {
      const i64 p71 = m4 + i70;
      f32 acc72[32] __attribute__((aligned(64)));
      #pragma omp simd
      for (i64 i73 = 0; i73 < 32; i73++) {
        acc72[i73] = -__builtin_inff();
      }
      for (i64 i74 = 0; i74 < 128; i74 += 32) {
        #pragma omp simd
        for (i64 i75 = 0; i75 < 32; i75++) {
          const i64 p76 = i74 + i75;
          const f32 r77 = tile14[(i70 * 128) + (i74 + i75)];
          acc72[i75] = rw_max_f32(acc72[i75], r77);
        }
      }
      #pragma omp simd
      for (i64 i78 = 0; i78 < 16; i78++) {
        acc72[i78] = rw_max_f32(acc72[i78], acc72[i78 + 16]);
      }
      #pragma omp simd
      for (i64 i79 = 0; i79 < 8; i79++) {
        acc72[i79] = rw_max_f32(acc72[i79], acc72[i79 + 8]);
      }
      #pragma omp simd
      for (i64 i80 = 0; i80 < 4; i80++) {
        acc72[i80] = rw_max_f32(acc72[i80], acc72[i80 + 4]);
      }
      #pragma omp simd
      for (i64 i81 = 0; i81 < 2; i81++) {
        acc72[i81] = rw_max_f32(acc72[i81], acc72[i81 + 2]);
      }
      acc72[0] = rw_max_f32(acc72[0], acc72[1]);
      const f32 s83 = acc72[0];
      state5[i70] = s83;
      f32 acc84[32] __attribute__((aligned(64)));
      #pragma omp simd
      for (i64 i85 = 0; i85 < 32; i85++) {
        acc84[i85] = 0.0f;
      }
      const f32 v91 = s83 * 0.125f;
      for (i64 i86 = 0; i86 < 128; i86 += 32) {
        #pragma omp simd
        for (i64 i87 = 0; i87 < 32; i87++) {
          const i64 p88 = i86 + i87;
          const f32 r89 = tile14[(i70 * 128) + (i86 + i87)];
          const f32 v90 = r89 * 0.125f;
          const f32 v92 = v90 - v91;
          const f32 v93 = rw_exp_f32(v92);
          acc84[i87] = acc84[i87] + v93;
          left13[(i70 * 128) + (i86 + i87)] = v93;
        }
      }
      #pragma omp simd
      for (i64 i94 = 0; i94 < 16; i94++) {
        acc84[i94] = acc84[i94] + acc84[i94 + 16];
      }
      #pragma omp simd
      for (i64 i95 = 0; i95 < 8; i95++) {
        acc84[i95] = acc84[i95] + acc84[i95 + 8];
      }
      #pragma omp simd
      for (i64 i96 = 0; i96 < 4; i96++) {
        acc84[i96] = acc84[i96] + acc84[i96 + 4];
      }
      #pragma omp simd
      for (i64 i97 = 0; i97 < 2; i97++) {
        acc84[i97] = acc84[i97] + acc84[i97 + 2];
      }
      acc84[0] = acc84[0] + acc84[1];
      const f32 s99 = acc84[0];
      state7[i70] = s99;
    }
  }
  for (i64 i100 = 0; i100 < 4; i100++) {
    const i64 n101 = i100 * 16;
    const i64 o102 = i100 * 2048;
  }
  for (i64 i103 = 0; i103 < 4; i103++) {
    for (i64 i104 = 0; i104 < 6; i104++) {
      if ((i32)((u32)m4 + (u32)(i32)((u32)(i32)i104 * (u32)6)) < 128) {
        const i64 o105 = (i104 * 6) * 128;
        const i64 o107 = v106 + (i103 * 16);
        const i64 o120 = ((i104 * 6) * 64) + (i103 * 16);
        f32x8 c108 = rw_splat_f32_x8(0.0f);
        f32x8 c109 = rw_splat_f32_x8(0.0f);
        f32x8 c110 = rw_splat_f32_x8(0.0f);
        f32x8 c111 = rw_splat_f32_x8(0.0f);
        f32x8 c112 = rw_splat_f32_x8(0.0f);
        f32x8 c113 = rw_splat_f32_x8(0.0f);
        f32x8 c114 = rw_splat_f32_x8(0.0f);
        f32x8 c115 = rw_splat_f32_x8(0.0f);
        f32x8 c116 = rw_splat_f32_x8(0.0f);
        f32x8 c117 = rw_splat_f32_x8(0.0f);
        f32x8 c118 = rw_splat_f32_x8(0.0f);
        f32x8 c119 = rw_splat_f32_x8(0.0f);
        for (i64 i121 = 0; i121 < 128; i121++) {
          f32x8 b122 = *(const f32x8_u *)(b2 + (o107 + (i121 * 64))); RW_HOLD(b122);
          f32x8 b123 = *(const f32x8_u *)(b2 + ((o107 + (i121 * 64)) + 8)); RW_HOLD(b123);
          const f32x8 a124 = rw_splat_f32_x8(left13[o105 + i121]);
          c108 = rw_fma_f32_x8(a124, b122, c108);
          c109 = rw_fma_f32_x8(a124, b123, c109);
          const f32x8 a125 = rw_splat_f32_x8(left13[(o105 + i121) + 128]);
          c110 = rw_fma_f32_x8(a125, b122, c110);
          c111 = rw_fma_f32_x8(a125, b123, c111);
          const f32x8 a126 = rw_splat_f32_x8(left13[(o105 + i121) + 256]);
          c112 = rw_fma_f32_x8(a126, b122, c112);
          c113 = rw_fma_f32_x8(a126, b123, c113);
          const f32x8 a127 = rw_splat_f32_x8(left13[(o105 + i121) + 384]);
          c114 = rw_fma_f32_x8(a127, b122, c114);
          c115 = rw_fma_f32_x8(a127, b123, c115);
          const f32x8 a128 = rw_splat_f32_x8(left13[(o105 + i121) + 512]);
          c116 = rw_fma_f32_x8(a128, b122, c116);
          c117 = rw_fma_f32_x8(a128, b123, c117);
          const f32x8 a129 = rw_splat_f32_x8(left13[(o105 + i121) + 640]);
          c118 = rw_fma_f32_x8(a129, b122, c118);
          c119 = rw_fma_f32_x8(a129, b123, c119);
        }
        *(f32x8_u *)(sums9 + o120) = (*(const f32x8_u *)(sums9 + o120) + c108);
        *(f32x8_u *)(sums9 + (o120 + 8)) = (*(const f32x8_u *)(sums9 + (o120 + 8)) + c109);
        *(f32x8_u *)(sums9 + (o120 + 64)) = (*(const f32x8_u *)(sums9 + (o120 + 64)) + c110);
        *(f32x8_u *)(sums9 + (o120 + 72)) = (*(const f32x8_u *)(sums9 + (o120 + 72)) + c111);
        *(f32x8_u *)(sums9 + (o120 + 128)) = (*(const f32x8_u *)(sums9 + (o120 + 128)) + c112);
        *(f32x8_u *)(sums9 + (o120 + 136)) = (*(const f32x8_u *)(sums9 + (o120 + 136)) + c113);
        *(f32x8_u *)(sums9 + (o120 + 192)) = (*(const f32x8_u *)(sums9 + (o120 + 192)) + c114);
        *(f32x8_u *)(sums9 + (o120 + 200)) = (*(const f32x8_u *)(sums9 + (o120 + 200)) + c115);
        *(f32x8_u *)(sums9 + (o120 + 256)) = (*(const f32x8_u *)(sums9 + (o120 + 256)) + c116);
        *(f32x8_u *)(sums9 + (o120 + 264)) = (*(const f32x8_u *)(sums9 + (o120 + 264)) + c117);
        *(f32x8_u *)(sums9 + (o120 + 320)) = (*(const f32x8_u *)(sums9 + (o120 + 320)) + c118);
        *(f32x8_u *)(sums9 + (o120 + 328)) = (*(const f32x8_u *)(sums9 + (o120 + 328)) + c119);
      }
    }
  }
  const i64 o137 = p3 * 8192;
  for (i64 i130 = 0; i130 < 36; i130++) {
    if ((i32)((u32)m4 + (u32)(i32)i130) < 128) {
      const i64 p131 = m4 + i130;
      const f32 s132 = state5[i130];
      const f32 s133 = state7[i130];
      const f32 v134 = 1 / s133;
      const i64 o138 = o137 + (p131 * 64);
      #pragma omp simd
      for (i64 i135 = 0; i135 < 64; i135++) {
        const f32 r136 = sums9[(i130 * 64) + i135] * v134;
        const i64 v139 = o138 + i135;
        b3[v139] = r136;
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
    const i64 i1 = rw_i;
    k0_0(i1, b0, b1, b2, b3);
  }
}

void k_k0(void *const *rw_b) {
  rw_pool(k0_0_span, rw_b, 16, 1);
}
