/* fold: mul matmul mul max sub exp sum recip mul mul matmul
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
  const i64 o41 = p3 * 8192;
  const i64 v116 = p3 * 8192;
  for (i64 i17 = 0; i17 < 8; i17++) {
    const i64 n18 = i17 * 16;
    const i64 o19 = i17 * 1024;
    for (i64 i20 = 0; i20 < 16; i20++) {
      #pragma omp simd
      for (i64 i21 = 0; i21 < 64; i21++) {
        const i64 p22 = n18 + i20;
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
        #pragma omp simd
        for (i64 i31 = 0; i31 < 64; i31++) {
          const i64 p32 = m27 + i30;
          const i64 v34 = (o33 + (p32 * 64)) + i31;
          const f32 v35 = b0[v34];
          left11[(o28 + i31) + (i30 * 64)] = v35;
        }
      }
    }
    if (rw_not_bool(w29)) {
      for (i64 i36 = 0; i36 < 6; i36++) {
        #pragma omp simd
        for (i64 i37 = 0; i37 < 64; i37++) {
          const i32 p38 = (i32)((u32)m27 + (u32)(i32)i36);
          const bool ok39 = p38 <= 127;
          const i64 p40 = rw_min_i32(p38, 127);
          const i64 v42 = (o41 + (p40 * 64)) + i37;
          const f32 v43 = b0[v42];
          left11[(o28 + i37) + (i36 * 64)] = ok39 ? v43 : 0.0f;
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
          const f32x8 b62 = *(const f32x8_u *)(right12 + (o47 + (i61 * 16)));
          const f32x8 b63 = *(const f32x8_u *)(right12 + ((o47 + (i61 * 16)) + 8));
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
      const f32 s72 = state5[i70];
      f32 acc73[32] __attribute__((aligned(64)));
      #pragma omp simd
      for (i64 i74 = 0; i74 < 32; i74++) {
        acc73[i74] = -__builtin_inff();
      }
      for (i64 i75 = 0; i75 < 128; i75 += 32) {
        #pragma omp simd
        for (i64 i76 = 0; i76 < 32; i76++) {
          const i64 p77 = i75 + i76;
          const f32 r78 = tile14[(i70 * 128) + (i75 + i76)];
          const f32 v79 = r78 * 0.125f;
          acc73[i76] = rw_max_f32(acc73[i76], v79);
        }
      }
      #pragma omp simd
      for (i64 i80 = 0; i80 < 16; i80++) {
        acc73[i80] = rw_max_f32(acc73[i80], acc73[i80 + 16]);
      }
      #pragma omp simd
      for (i64 i81 = 0; i81 < 8; i81++) {
        acc73[i81] = rw_max_f32(acc73[i81], acc73[i81 + 8]);
      }
      #pragma omp simd
      for (i64 i82 = 0; i82 < 4; i82++) {
        acc73[i82] = rw_max_f32(acc73[i82], acc73[i82 + 4]);
      }
      #pragma omp simd
      for (i64 i83 = 0; i83 < 2; i83++) {
        acc73[i83] = rw_max_f32(acc73[i83], acc73[i83 + 2]);
      }
      acc73[0] = rw_max_f32(acc73[0], acc73[1]);
      const f32 s85 = rw_max_f32(s72, acc73[0]);
      state5[i70] = s85;
      const f32 r86 = (s85 == (-__builtin_inff())) ? 0.0f : s85;
      const f32 s87 = state7[i70];
      f32 acc88[32] __attribute__((aligned(64)));
      #pragma omp simd
      for (i64 i89 = 0; i89 < 32; i89++) {
        acc88[i89] = 0.0f;
      }
      for (i64 i90 = 0; i90 < 128; i90 += 32) {
        #pragma omp simd
        for (i64 i91 = 0; i91 < 32; i91++) {
          const i64 p92 = i90 + i91;
          const f32 r93 = tile14[(i70 * 128) + (i90 + i91)];
          const f32 v94 = r93 * 0.125f;
          const f32 v95 = v94 - r86;
          const f32 v96 = rw_exp_f32(v95);
          acc88[i91] = acc88[i91] + v96;
          left13[(i70 * 128) + (i90 + i91)] = v96;
        }
      }
      #pragma omp simd
      for (i64 i97 = 0; i97 < 16; i97++) {
        acc88[i97] = acc88[i97] + acc88[i97 + 16];
      }
      #pragma omp simd
      for (i64 i98 = 0; i98 < 8; i98++) {
        acc88[i98] = acc88[i98] + acc88[i98 + 8];
      }
      #pragma omp simd
      for (i64 i99 = 0; i99 < 4; i99++) {
        acc88[i99] = acc88[i99] + acc88[i99 + 4];
      }
      #pragma omp simd
      for (i64 i100 = 0; i100 < 2; i100++) {
        acc88[i100] = acc88[i100] + acc88[i100 + 2];
      }
      acc88[0] = acc88[0] + acc88[1];
      const f32 r102 = (s72 == (-__builtin_inff())) ? 0.0f : s72;
      const f32 m103 = (s87 == 0.0f) ? s87 : (s87 * rw_exp_f32((-(r86 - r102))));
      const f32 s104 = m103 + acc88[0];
      state7[i70] = s104;
      const f32 r105 = (s104 == 0.0f) ? 1.0f : (s104 * (128.0f / 128.0f));
      const f32 r106 = (s72 == (-__builtin_inff())) ? 0.0f : s72;
      const f32 c107 = rw_exp_f32((-(r86 - r106)));
      const i64 o108 = i70 * 64;
      if (c107 != 1.0f) {
        #pragma omp simd
        for (i64 i109 = 0; i109 < 64; i109++) {
          sums9[o108 + i109] = (sums9[o108 + i109] == 0.0f) ? sums9[o108 + i109] : (sums9[o108 + i109] * c107);
        }
      }
    }
  }
  for (i64 i110 = 0; i110 < 4; i110++) {
    const i64 n111 = i110 * 16;
    const i64 o112 = i110 * 2048;
  }
  for (i64 i113 = 0; i113 < 4; i113++) {
    for (i64 i114 = 0; i114 < 6; i114++) {
      if ((i32)((u32)m4 + (u32)(i32)((u32)(i32)i114 * (u32)6)) < 128) {
        const i64 o115 = (i114 * 6) * 128;
        const i64 o117 = v116 + (i113 * 16);
        const i64 o130 = ((i114 * 6) * 64) + (i113 * 16);
        f32x8 c118 = *(const f32x8_u *)(sums9 + o130);
        f32x8 c119 = *(const f32x8_u *)(sums9 + (o130 + 8));
        f32x8 c120 = *(const f32x8_u *)(sums9 + (o130 + 64));
        f32x8 c121 = *(const f32x8_u *)(sums9 + (o130 + 72));
        f32x8 c122 = *(const f32x8_u *)(sums9 + (o130 + 128));
        f32x8 c123 = *(const f32x8_u *)(sums9 + (o130 + 136));
        f32x8 c124 = *(const f32x8_u *)(sums9 + (o130 + 192));
        f32x8 c125 = *(const f32x8_u *)(sums9 + (o130 + 200));
        f32x8 c126 = *(const f32x8_u *)(sums9 + (o130 + 256));
        f32x8 c127 = *(const f32x8_u *)(sums9 + (o130 + 264));
        f32x8 c128 = *(const f32x8_u *)(sums9 + (o130 + 320));
        f32x8 c129 = *(const f32x8_u *)(sums9 + (o130 + 328));
        for (i64 i131 = 0; i131 < 128; i131++) {
          const f32x8 b132 = *(const f32x8_u *)(b2 + (o117 + (i131 * 64)));
          const f32x8 b133 = *(const f32x8_u *)(b2 + ((o117 + (i131 * 64)) + 8));
          const f32x8 a134 = rw_splat_f32_x8(left13[o115 + i131]);
          c118 = rw_fma_f32_x8(a134, b132, c118);
          c119 = rw_fma_f32_x8(a134, b133, c119);
          const f32x8 a135 = rw_splat_f32_x8(left13[(o115 + i131) + 128]);
          c120 = rw_fma_f32_x8(a135, b132, c120);
          c121 = rw_fma_f32_x8(a135, b133, c121);
          const f32x8 a136 = rw_splat_f32_x8(left13[(o115 + i131) + 256]);
          c122 = rw_fma_f32_x8(a136, b132, c122);
          c123 = rw_fma_f32_x8(a136, b133, c123);
          const f32x8 a137 = rw_splat_f32_x8(left13[(o115 + i131) + 384]);
          c124 = rw_fma_f32_x8(a137, b132, c124);
          c125 = rw_fma_f32_x8(a137, b133, c125);
          const f32x8 a138 = rw_splat_f32_x8(left13[(o115 + i131) + 512]);
          c126 = rw_fma_f32_x8(a138, b132, c126);
          c127 = rw_fma_f32_x8(a138, b133, c127);
          const f32x8 a139 = rw_splat_f32_x8(left13[(o115 + i131) + 640]);
          c128 = rw_fma_f32_x8(a139, b132, c128);
          c129 = rw_fma_f32_x8(a139, b133, c129);
        }
        *(f32x8_u *)(sums9 + o130) = c118;
        *(f32x8_u *)(sums9 + (o130 + 8)) = c119;
        *(f32x8_u *)(sums9 + (o130 + 64)) = c120;
        *(f32x8_u *)(sums9 + (o130 + 72)) = c121;
        *(f32x8_u *)(sums9 + (o130 + 128)) = c122;
        *(f32x8_u *)(sums9 + (o130 + 136)) = c123;
        *(f32x8_u *)(sums9 + (o130 + 192)) = c124;
        *(f32x8_u *)(sums9 + (o130 + 200)) = c125;
        *(f32x8_u *)(sums9 + (o130 + 256)) = c126;
        *(f32x8_u *)(sums9 + (o130 + 264)) = c127;
        *(f32x8_u *)(sums9 + (o130 + 320)) = c128;
        *(f32x8_u *)(sums9 + (o130 + 328)) = c129;
      }
    }
  }
  const i64 o151 = p3 * 8192;
  for (i64 i140 = 0; i140 < 36; i140++) {
    if ((i32)((u32)m4 + (u32)(i32)i140) < 128) {
      const i64 p141 = m4 + i140;
      const f32 s142 = state5[i140];
      const f32 s143 = state7[i140];
      const f32 r144 = (s142 == (-__builtin_inff())) ? 0.0f : s142;
      const f32 m145 = s143 * rw_exp_f32((-(s142 - r144)));
      const f32 r146 = (s142 == (-__builtin_inff())) ? 0.0f : s142;
      const f32 v147 = 1 / m145;
      const f32 c148 = rw_exp_f32((-(s142 - r146)));
      const i64 o152 = o151 + (p141 * 64);
      #pragma omp simd
      for (i64 i149 = 0; i149 < 64; i149++) {
        const f32 r150 = (sums9[(i140 * 64) + i149] * c148) * v147;
        const i64 v153 = o152 + i149;
        b3[v153] = r150;
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
