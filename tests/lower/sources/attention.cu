/* fold: mul matmul mul max mul sub exp sum recip mul mul matmul
   b0: f32[32768], b1: f32[32768], b2: f32[32768], writes b3: f32[32768] */

extern "C" __global__ void __launch_bounds__(256) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    f32 *__restrict__ b3) {
  b3 = (f32 *)__builtin_assume_aligned(b3, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const right5 = (f32 *)(rw_shared + 0);
  f32 *const left6 = (f32 *)(rw_shared + 4352);
  f32 *const scores7 = (f32 *)(rw_shared + 6656);
  f32 *const state8 = (f32 *)(rw_shared + 15872);
  f32 *const partial9 = (f32 *)(rw_shared + 16000);
  f32 *const now10 = (f32 *)(rw_shared + 17024);
  f32 *const was11 = (f32 *)(rw_shared + 17152);
  f32 *const state12 = (f32 *)(rw_shared + 17280);
  f32 *const partial13 = (f32 *)(rw_shared + 17408);
  f32 *const by14 = (f32 *)(rw_shared + 18432);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 256;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  const i32 t2 = (i32)((u32)i1 % (u32)4);
  const i32 p3 = (i32)((u32)i1 / (u32)4);
  const i32 m4 = t2 * 32;
  f32 sums15[8];
  { const i32 i16_ = 0;
    sums15[i16_] = 0.0f;
  }
  { const i32 i16_ = 1;
    sums15[i16_] = 0.0f;
  }
  { const i32 i16_ = 2;
    sums15[i16_] = 0.0f;
  }
  { const i32 i16_ = 3;
    sums15[i16_] = 0.0f;
  }
  { const i32 i16_ = 4;
    sums15[i16_] = 0.0f;
  }
  { const i32 i16_ = 5;
    sums15[i16_] = 0.0f;
  }
  { const i32 i16_ = 6;
    sums15[i16_] = 0.0f;
  }
  { const i32 i16_ = 7;
    sums15[i16_] = 0.0f;
  }
  for (i32 i17 = rw_thread; i17 < 32; i17 += rw_threads) {
    state8[i17] = -__int_as_float(0x7f800000);
    state12[i17] = 0.0f;
  }
  const i32 o29 = p3 * 8192;
  const i32 o37 = p3 * 8192;
  const i32 o124 = p3 * 8192;
  for (i32 i18 = 0; i18 < 2; i18++) {
    const i32 j19 = (i32)((u32)i18 * (u32)64);
    f32 sums20[8];
    { const i32 i21 = 0;
      sums20[i21] = 0.0f;
    }
    { const i32 i21 = 1;
      sums20[i21] = 0.0f;
    }
    { const i32 i21 = 2;
      sums20[i21] = 0.0f;
    }
    { const i32 i21 = 3;
      sums20[i21] = 0.0f;
    }
    { const i32 i21 = 4;
      sums20[i21] = 0.0f;
    }
    { const i32 i21 = 5;
      sums20[i21] = 0.0f;
    }
    { const i32 i21 = 6;
      sums20[i21] = 0.0f;
    }
    { const i32 i21 = 7;
      sums20[i21] = 0.0f;
    }
    for (i32 i22 = 0; i22 < 4; i22++) {
      const i32 k23 = i22 * 16;
      #pragma unroll 2
      for (i32 i24 = rw_thread; i24 < 512; i24 += rw_threads) {
        const i32 t25 = (i32)((u32)i24 % (u32)16);
        const i32 t26 = (i32)((u32)i24 / (u32)16);
        const i32 p27 = m4 + t26;
        const i32 p28 = k23 + t25;
        const i32 v30 = (o29 + (p27 * 64)) + p28;
        const f32 v31 = b0[v30];
        left6[(t25 * 36) + t26] = v31;
      }
      #pragma unroll 4
      for (i32 i32_ = rw_thread; i32_ < 1024; i32_ += rw_threads) {
        const i32 t33 = (i32)((u32)i32_ % (u32)16);
        const i32 t34 = (i32)((u32)i32_ / (u32)16);
        const i32 p35 = j19 + t34;
        const i32 p36 = k23 + t33;
        const i32 v38 = (o37 + (p35 * 64)) + p36;
        const f32 v39 = b1[v38];
        right5[(t33 * 68) + t34] = v39;
      }
      __syncthreads();
      for (i32 i40 = rw_thread; i40 < 256; i40 += rw_threads) {
        const i32 y41 = (i32)((u32)i40 / (u32)16);
        const i32 x42 = (i32)((u32)i40 % (u32)16);
        const i32 o43 = y41 * 2;
        for (i32 i44 = 0; i44 < 16; i44++) {
          const i32 o45 = o43 + (i44 * 36);
          const i32 o46 = (i44 * 68) + (x42 * 4);
          const f32 v47 = left6[o45];
          const f32 v48 = left6[o45 + 1];
          const f32 v49 = right5[o46];
          const f32 v50 = right5[o46 + 1];
          const f32 v51 = right5[o46 + 2];
          const f32 v52 = right5[o46 + 3];
          sums20[0] = rw_fma_f32(v47, v49, sums20[0]);
          sums20[1] = rw_fma_f32(v47, v50, sums20[1]);
          sums20[2] = rw_fma_f32(v47, v51, sums20[2]);
          sums20[3] = rw_fma_f32(v47, v52, sums20[3]);
          sums20[4] = rw_fma_f32(v48, v49, sums20[4]);
          sums20[5] = rw_fma_f32(v48, v50, sums20[5]);
          sums20[6] = rw_fma_f32(v48, v51, sums20[6]);
          sums20[7] = rw_fma_f32(v48, v52, sums20[7]);
        }
      }
      __syncthreads();
    }
    for (i32 i53 = rw_thread; i53 < 256; i53 += rw_threads) {
      const i32 y54 = (i32)((u32)i53 / (u32)16);
      const i32 x55 = (i32)((u32)i53 % (u32)16);
      const i32 o56 = ((x55 * 4) * 36) + (y54 * 2);
      scores7[o56] = sums20[0];
      scores7[o56 + 1] = sums20[4];
      const i32 o57 = (((x55 * 4) + 1) * 36) + (y54 * 2);
      scores7[o57] = sums20[1];
      scores7[o57 + 1] = sums20[5];
      const i32 o58 = (((x55 * 4) + 2) * 36) + (y54 * 2);
      scores7[o58] = sums20[2];
      scores7[o58 + 1] = sums20[6];
      const i32 o59 = (((x55 * 4) + 3) * 36) + (y54 * 2);
      scores7[o59] = sums20[3];
      scores7[o59 + 1] = sums20[7];
    }
    __syncthreads();
    for (i32 i60 = rw_thread; i60 < 256; i60 += rw_threads) {
      const i32 i61 = (i32)((u32)i60 / (u32)8);
      const i32 t62 = (i32)((u32)i60 % (u32)8);
      const i32 p63 = m4 + i61;
      f32 a64 = -__int_as_float(0x7f800000);
      for (i32 i65 = 0; i65 < 8; i65++) {
        const i32 j66 = (i65 * 8) + t62;
        const i32 o67 = (j66 * 36) + i61;
        const i32 p68 = j19 + j66;
        const f32 s69 = scores7[o67];
        a64 = rw_max_f32(a64, s69);
      }
      const i32 o70 = (t62 * 32) + i61;
      partial9[o70] = a64;
    }
    __syncthreads();
    for (i32 i71 = rw_thread; i71 < 32; i71 += rw_threads) {
      const i32 p72 = m4 + i71;
      f32 a73 = partial9[i71];
      for (i32 i74 = 0; i74 < 7; i74++) {
        const f32 s75 = partial9[((i74 + 1) * 32) + i71];
        a73 = rw_max_f32(a73, s75);
      }
      const f32 s76 = state8[i71];
      const f32 n77 = (f32)j19;
      was11[i71] = s76;
      const f32 s78 = rw_max_f32(s76, a73);
      state8[i71] = s78;
      now10[i71] = (s78 == (-__int_as_float(0x7f800000))) ? 0.0f : s78;
    }
    __syncthreads();
    for (i32 i79 = rw_thread; i79 < 256; i79 += rw_threads) {
      const i32 i80 = (i32)((u32)i79 / (u32)8);
      const i32 t81 = (i32)((u32)i79 % (u32)8);
      const i32 p82 = m4 + i80;
      const f32 s83 = now10[i80];
      f32 a84 = 0.0f;
      const f32 v91 = s83 * 0.125f;
      for (i32 i85 = 0; i85 < 8; i85++) {
        const i32 j86 = (i85 * 8) + t81;
        const i32 o87 = (j86 * 36) + i80;
        const i32 p88 = j19 + j86;
        const f32 s89 = scores7[o87];
        const f32 v90 = s89 * 0.125f;
        const f32 v92 = v90 - v91;
        const f32 v93 = rw_exp_f32(v92);
        a84 = a84 + v93;
        scores7[o87] = v93;
      }
      const i32 o94 = (t81 * 32) + i80;
      partial13[o94] = a84;
    }
    __syncthreads();
    for (i32 i95 = rw_thread; i95 < 32; i95 += rw_threads) {
      const i32 p96 = m4 + i95;
      const f32 s97 = now10[i95];
      const f32 s98 = was11[i95];
      const f32 n99 = (f32)j19;
      f32 a100 = partial13[i95];
      for (i32 i101 = 0; i101 < 7; i101++) {
        const f32 s102 = partial13[((i101 + 1) * 32) + i95];
        a100 = a100 + s102;
      }
      const f32 s103 = state12[i95];
      const f32 n104 = (f32)j19;
      const f32 v105 = s97 * 0.125f;
      const f32 r106 = (s98 == (-__int_as_float(0x7f800000))) ? 0.0f : s98;
      const f32 v107 = r106 * 0.125f;
      const f32 m108 = (s103 == 0.0f) ? s103 : (s103 * rw_exp_f32((-(v105 - v107))));
      const f32 s109 = m108 + a100;
      state12[i95] = s109;
      const f32 r110 = (s98 == (-__int_as_float(0x7f800000))) ? 0.0f : s98;
      const f32 v111 = r110 * 0.125f;
      by14[i95] = rw_exp_f32((-(v105 - v111)));
    }
    __syncthreads();
    for (i32 i112 = rw_thread; i112 < 256; i112 += rw_threads) {
      const i32 y113 = (i32)((u32)i112 / (u32)16);
      const i32 x114 = (i32)((u32)i112 % (u32)16);
      { const i32 i115 = 0;
        const f32 c116 = by14[(y113 * 2) + i115];
        if (c116 != 1.0f) {
          { const i32 i117 = 0;
            sums15[(i115 * 4) + i117] = (sums15[(i115 * 4) + i117] == 0.0f) ? sums15[(i115 * 4) + i117] : (sums15[(i115 * 4) + i117] * c116);
          }
          { const i32 i117 = 1;
            sums15[(i115 * 4) + i117] = (sums15[(i115 * 4) + i117] == 0.0f) ? sums15[(i115 * 4) + i117] : (sums15[(i115 * 4) + i117] * c116);
          }
          { const i32 i117 = 2;
            sums15[(i115 * 4) + i117] = (sums15[(i115 * 4) + i117] == 0.0f) ? sums15[(i115 * 4) + i117] : (sums15[(i115 * 4) + i117] * c116);
          }
          { const i32 i117 = 3;
            sums15[(i115 * 4) + i117] = (sums15[(i115 * 4) + i117] == 0.0f) ? sums15[(i115 * 4) + i117] : (sums15[(i115 * 4) + i117] * c116);
          }
        }
      }
      { const i32 i115 = 1;
        const f32 c116 = by14[(y113 * 2) + i115];
        if (c116 != 1.0f) {
          { const i32 i117 = 0;
            sums15[(i115 * 4) + i117] = (sums15[(i115 * 4) + i117] == 0.0f) ? sums15[(i115 * 4) + i117] : (sums15[(i115 * 4) + i117] * c116);
          }
          { const i32 i117 = 1;
            sums15[(i115 * 4) + i117] = (sums15[(i115 * 4) + i117] == 0.0f) ? sums15[(i115 * 4) + i117] : (sums15[(i115 * 4) + i117] * c116);
          }
          { const i32 i117 = 2;
            sums15[(i115 * 4) + i117] = (sums15[(i115 * 4) + i117] == 0.0f) ? sums15[(i115 * 4) + i117] : (sums15[(i115 * 4) + i117] * c116);
          }
          { const i32 i117 = 3;
            sums15[(i115 * 4) + i117] = (sums15[(i115 * 4) + i117] == 0.0f) ? sums15[(i115 * 4) + i117] : (sums15[(i115 * 4) + i117] * c116);
          }
        }
      }
    }
    for (i32 i118 = 0; i118 < 4; i118++) {
      const i32 k119 = i118 * 16;
      #pragma unroll 4
      for (i32 i120 = rw_thread; i120 < 1024; i120 += rw_threads) {
        const i32 t121 = (i32)((u32)i120 % (u32)64);
        const i32 t122 = (i32)((u32)i120 / (u32)64);
        const i32 p123 = (j19 + k119) + t122;
        const i32 v125 = (o124 + (p123 * 64)) + t121;
        const f32 v126 = b2[v125];
        right5[(t122 * 68) + t121] = v126;
      }
      const i32 o127 = k119 * 36;
      __syncthreads();
      for (i32 i128 = rw_thread; i128 < 256; i128 += rw_threads) {
        const i32 y129 = (i32)((u32)i128 / (u32)16);
        const i32 x130 = (i32)((u32)i128 % (u32)16);
        const i32 o131 = o127 + (y129 * 2);
        for (i32 i132 = 0; i132 < 16; i132++) {
          const i32 o133 = o131 + (i132 * 36);
          const i32 o134 = (i132 * 68) + (x130 * 4);
          const f32 v135 = scores7[o133];
          const f32 v136 = scores7[o133 + 1];
          const f32 v137 = right5[o134];
          const f32 v138 = right5[o134 + 1];
          const f32 v139 = right5[o134 + 2];
          const f32 v140 = right5[o134 + 3];
          sums15[0] = rw_fma_f32(v135, v137, sums15[0]);
          sums15[1] = rw_fma_f32(v135, v138, sums15[1]);
          sums15[2] = rw_fma_f32(v135, v139, sums15[2]);
          sums15[3] = rw_fma_f32(v135, v140, sums15[3]);
          sums15[4] = rw_fma_f32(v136, v137, sums15[4]);
          sums15[5] = rw_fma_f32(v136, v138, sums15[5]);
          sums15[6] = rw_fma_f32(v136, v139, sums15[6]);
          sums15[7] = rw_fma_f32(v136, v140, sums15[7]);
        }
      }
      __syncthreads();
    }
  }
  const i32 o161 = p3 * 8192;
  for (i32 i141 = rw_thread; i141 < 256; i141 += rw_threads) {
    const i32 y142 = (i32)((u32)i141 / (u32)16);
    const i32 x143 = (i32)((u32)i141 % (u32)16);
    { const i32 i144 = 0;
      const i32 i145 = (y142 * 2) + i144;
      const i32 p146 = m4 + i145;
      const f32 s147 = state8[i145];
      const f32 s148 = state12[i145];
      const f32 v149 = s147 * 0.125f;
      const f32 r150 = (s147 == (-__int_as_float(0x7f800000))) ? 0.0f : s147;
      const f32 v151 = r150 * 0.125f;
      const f32 m152 = s148 * rw_exp_f32((-(v149 - v151)));
      const f32 r153 = (s147 == (-__int_as_float(0x7f800000))) ? 0.0f : s147;
      const f32 v154 = r153 * 0.125f;
      const f32 v155 = 1 / m152;
      const f32 c156 = rw_exp_f32((-(v149 - v154)));
      const i32 o162 = o161 + (p146 * 64);
      { const i32 i158 = 0;
        const i32 p159 = (x143 * 4) + i158;
        const f32 r160 = (sums15[(i144 * 4) + i158] * c156) * v155;
        const i32 v163 = o162 + p159;
        b3[v163] = r160;
      }
      { const i32 i158 = 1;
        const i32 p159 = (x143 * 4) + i158;
        const f32 r160 = (sums15[(i144 * 4) + i158] * c156) * v155;
        const i32 v163 = o162 + p159;
        b3[v163] = r160;
      }
      { const i32 i158 = 2;
        const i32 p159 = (x143 * 4) + i158;
        const f32 r160 = (sums15[(i144 * 4) + i158] * c156) * v155;
        const i32 v163 = o162 + p159;
        b3[v163] = r160;
      }
      { const i32 i158 = 3;
        const i32 p159 = (x143 * 4) + i158;
        const f32 r160 = (sums15[(i144 * 4) + i158] * c156) * v155;
        const i32 v163 = o162 + p159;
        b3[v163] = r160;
      }
    }
    { const i32 i144 = 1;
      const i32 i145 = (y142 * 2) + i144;
      const i32 p146 = m4 + i145;
      const f32 s147 = state8[i145];
      const f32 s148 = state12[i145];
      const f32 v149 = s147 * 0.125f;
      const f32 r150 = (s147 == (-__int_as_float(0x7f800000))) ? 0.0f : s147;
      const f32 v151 = r150 * 0.125f;
      const f32 m152 = s148 * rw_exp_f32((-(v149 - v151)));
      const f32 r153 = (s147 == (-__int_as_float(0x7f800000))) ? 0.0f : s147;
      const f32 v154 = r153 * 0.125f;
      const f32 v155 = 1 / m152;
      const f32 c156 = rw_exp_f32((-(v149 - v154)));
      const i32 o162 = o161 + (p146 * 64);
      { const i32 i158 = 0;
        const i32 p159 = (x143 * 4) + i158;
        const f32 r160 = (sums15[(i144 * 4) + i158] * c156) * v155;
        const i32 v163 = o162 + p159;
        b3[v163] = r160;
      }
      { const i32 i158 = 1;
        const i32 p159 = (x143 * 4) + i158;
        const f32 r160 = (sums15[(i144 * 4) + i158] * c156) * v155;
        const i32 v163 = o162 + p159;
        b3[v163] = r160;
      }
      { const i32 i158 = 2;
        const i32 p159 = (x143 * 4) + i158;
        const f32 r160 = (sums15[(i144 * 4) + i158] * c156) * v155;
        const i32 v163 = o162 + p159;
        b3[v163] = r160;
      }
      { const i32 i158 = 3;
        const i32 p159 = (x143 * 4) + i158;
        const f32 r160 = (sums15[(i144 * 4) + i158] * c156) * v155;
        const i32 v163 = o162 + p159;
        b3[v163] = r160;
      }
    }
  }
}
