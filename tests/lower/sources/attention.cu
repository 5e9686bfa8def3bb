/* fold: mul matmul mul max mul sub exp sum recip mul mul matmul
   b0: f32[32768], b1: f32[32768], b2: f32[32768], writes b3: f32[32768] */

extern "C" __global__ void __launch_bounds__(256) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    f32 *__restrict__ b3) {
  rw_begin();
  b3 = (f32 *)__builtin_assume_aligned(b3, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const right5 = (f32 *)(rw_shared + 0);
  f32 *const left6 = (f32 *)(rw_shared + 16896);
  f32 *const scores7 = (f32 *)(rw_shared + 19456);
  f32 *const state8 = (f32 *)(rw_shared + 29696);
  f32 *const partial9 = (f32 *)(rw_shared + 29760);
  f32 *const now10 = (f32 *)(rw_shared + 30784);
  f32 *const state11 = (f32 *)(rw_shared + 30848);
  f32 *const partial12 = (f32 *)(rw_shared + 30912);
  f32 *const by13 = (f32 *)(rw_shared + 31936);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 256;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  const i32 t2 = (i32)((u32)i1 % (u32)8);
  const i32 p3 = (i32)((u32)i1 / (u32)8);
  const i32 m4 = t2 * 16;
  __align__(16) f32 sums14[4];
  #pragma unroll 4
  for (i32 i15 = 0; i15 < 4; i15++) {
    sums14[i15] = 0.0f;
  }
  for (i32 i16_ = rw_thread; i16_ < 16; i16_ += rw_threads) {
    state8[i16_] = -__int_as_float(0x7f800000);
    state11[i16_] = 0.0f;
  }
  const i32 o27 = p3 * 8192;
  const i32 o34 = p3 * 8192;
  const i32 o99 = p3 * 8192;
  __align__(16) f32 sums18[8];
  #pragma unroll 8
  for (i32 i19 = 0; i19 < 8; i19++) {
    sums18[i19] = 0.0f;
  }
  for (i32 i20 = 0; i20 < 2; i20++) {
    const i32 k21 = i20 * 32;
    #pragma unroll 2
    for (i32 i22 = rw_thread; i22 < 512; i22 += rw_threads) {
      const i32 t23 = (i32)((u32)i22 % (u32)32);
      const i32 t24 = (i32)((u32)i22 / (u32)32);
      const i32 p25 = m4 + t24;
      const i32 p26 = k21 + t23;
      const i32 v28 = (o27 + (p25 * 64)) + p26;
      const f32 v29 = b0[v28];
      left6[(t23 * 20) + t24] = v29;
    }
    #pragma unroll 16
    for (i32 i30 = rw_thread; i30 < 4096; i30 += rw_threads) {
      const i32 t31 = (i32)((u32)i30 % (u32)32);
      const i32 t32 = (i32)((u32)i30 / (u32)32);
      const i32 p33 = k21 + t31;
      const i32 v35 = (o34 + (t32 * 64)) + p33;
      const f32 v36 = b1[v35];
      right5[(t31 * 132) + t32] = v36;
    }
    __syncthreads();
    { const i32 i37 = rw_thread;
      const i32 y38 = (i32)((u32)i37 / (u32)32);
      const i32 x39 = (i32)((u32)i37 % (u32)32);
      const i32 o40 = y38 * 2;
      for (i32 i41 = 0; i41 < 32; i41++) {
        const i32 o42 = o40 + (i41 * 20);
        const i32 o43 = (i41 * 132) + (x39 * 4);
        const f32 v44 = left6[o42];
        const f32 v45 = left6[o42 + 1];
        const f32 v46 = right5[o43];
        const f32 v47 = right5[o43 + 1];
        const f32 v48 = right5[o43 + 2];
        const f32 v49 = right5[o43 + 3];
        sums18[0] = rw_fma_f32(v44, v46, sums18[0]);
        sums18[1] = rw_fma_f32(v44, v47, sums18[1]);
        sums18[2] = rw_fma_f32(v44, v48, sums18[2]);
        sums18[3] = rw_fma_f32(v44, v49, sums18[3]);
        sums18[4] = rw_fma_f32(v45, v46, sums18[4]);
        sums18[5] = rw_fma_f32(v45, v47, sums18[5]);
        sums18[6] = rw_fma_f32(v45, v48, sums18[6]);
        sums18[7] = rw_fma_f32(v45, v49, sums18[7]);
      }
    }
    __syncthreads();
  }
  { const i32 i50 = rw_thread;
    const i32 y51 = (i32)((u32)i50 / (u32)32);
    const i32 x52 = (i32)((u32)i50 % (u32)32);
    const i32 o53 = ((x52 * 4) * 20) + (y51 * 2);
    scores7[o53] = sums18[0];
    scores7[o53 + 1] = sums18[4];
    const i32 o54 = (((x52 * 4) + 1) * 20) + (y51 * 2);
    scores7[o54] = sums18[1];
    scores7[o54 + 1] = sums18[5];
    const i32 o55 = (((x52 * 4) + 2) * 20) + (y51 * 2);
    scores7[o55] = sums18[2];
    scores7[o55 + 1] = sums18[6];
    const i32 o56 = (((x52 * 4) + 3) * 20) + (y51 * 2);
    scores7[o56] = sums18[3];
    scores7[o56 + 1] = sums18[7];
  }
  __syncthreads();
  { const i32 i57 = rw_thread;
    const i32 i58 = (i32)((u32)i57 / (u32)16);
    const i32 t59 = (i32)((u32)i57 % (u32)16);
    const i32 p60 = m4 + i58;
    f32 a61 = -__int_as_float(0x7f800000);
    for (i32 i62 = 0; i62 < 8; i62++) {
      const i32 j63 = (i62 * 16) + t59;
      const i32 o64 = (j63 * 20) + i58;
      const f32 s65 = scores7[o64];
      a61 = rw_max_f32(a61, s65);
    }
    const i32 o66 = (t59 * 16) + i58;
    partial9[o66] = a61;
  }
  __syncthreads();
  for (i32 i67 = rw_thread; i67 < 16; i67 += rw_threads) {
    const i32 p68 = m4 + i67;
    f32 a69 = partial9[i67];
    for (i32 i70 = 0; i70 < 15; i70++) {
      const f32 s71 = partial9[((i70 + 1) * 16) + i67];
      a69 = rw_max_f32(a69, s71);
    }
    state8[i67] = a69;
    now10[i67] = a69;
  }
  __syncthreads();
  { const i32 i72 = rw_thread;
    const i32 i73 = (i32)((u32)i72 / (u32)16);
    const i32 t74 = (i32)((u32)i72 % (u32)16);
    const i32 p75 = m4 + i73;
    const f32 s76 = now10[i73];
    f32 a77 = 0.0f;
    const f32 v83 = s76 * 0.125f;
    for (i32 i78 = 0; i78 < 8; i78++) {
      const i32 j79 = (i78 * 16) + t74;
      const i32 o80 = (j79 * 20) + i73;
      const f32 s81 = scores7[o80];
      const f32 v82 = s81 * 0.125f;
      const f32 v84 = v82 - v83;
      const f32 v85 = rw_exp_f32(v84);
      a77 = a77 + v85;
      scores7[o80] = v85;
    }
    const i32 o86 = (t74 * 16) + i73;
    partial12[o86] = a77;
  }
  __syncthreads();
  for (i32 i87 = rw_thread; i87 < 16; i87 += rw_threads) {
    const i32 p88 = m4 + i87;
    const f32 s89 = now10[i87];
    f32 a90 = partial12[i87];
    for (i32 i91 = 0; i91 < 15; i91++) {
      const f32 s92 = partial12[((i91 + 1) * 16) + i87];
      a90 = a90 + s92;
    }
    state11[i87] = a90;
  }
  for (i32 i93 = 0; i93 < 4; i93++) {
    const i32 k94 = i93 * 32;
    #pragma unroll 8
    for (i32 i95 = rw_thread; i95 < 2048; i95 += rw_threads) {
      const i32 t96 = (i32)((u32)i95 % (u32)64);
      const i32 t97 = (i32)((u32)i95 / (u32)64);
      const i32 p98 = k94 + t97;
      const i32 v100 = (o99 + (p98 * 64)) + t96;
      const f32 v101 = b2[v100];
      right5[(t97 * 68) + t96] = v101;
    }
    const i32 o102 = k94 * 20;
    __syncthreads();
    { const i32 i103 = rw_thread;
      const i32 y104 = (i32)((u32)i103 / (u32)32);
      const i32 x105 = (i32)((u32)i103 % (u32)32);
      const i32 o106 = o102 + (y104 * 2);
      for (i32 i107 = 0; i107 < 32; i107++) {
        const i32 o108 = o106 + (i107 * 20);
        const i32 o109 = (i107 * 68) + (x105 * 2);
        const f32 v110 = scores7[o108];
        const f32 v111 = scores7[o108 + 1];
        const f32 v112 = right5[o109];
        const f32 v113 = right5[o109 + 1];
        sums14[0] = rw_fma_f32(v110, v112, sums14[0]);
        sums14[1] = rw_fma_f32(v110, v113, sums14[1]);
        sums14[2] = rw_fma_f32(v111, v112, sums14[2]);
        sums14[3] = rw_fma_f32(v111, v113, sums14[3]);
      }
    }
    __syncthreads();
  }
  const i32 o127 = p3 * 8192;
  { const i32 i114 = rw_thread;
    const i32 y115 = (i32)((u32)i114 / (u32)32);
    const i32 x116 = (i32)((u32)i114 % (u32)32);
    #pragma unroll 2
    for (i32 i117 = 0; i117 < 2; i117++) {
      const i32 i118 = (y115 * 2) + i117;
      const i32 p119 = m4 + i118;
      const f32 s120 = state8[i118];
      const f32 s121 = state11[i118];
      const f32 v122 = 1 / s121;
      const i32 o128 = o127 + (p119 * 64);
      #pragma unroll 2
      for (i32 i124 = 0; i124 < 2; i124++) {
        const i32 p125 = (x116 * 2) + i124;
        const f32 r126 = sums14[(i117 * 2) + i124] * v122;
        const i32 v129 = o128 + p125;
        b3[v129] = r126;
      }
    }
  }
}
