/* contract: mul matmul sub
   b0: f32[16384], b1: f32[512], b2: f32[2048], writes b3: f32[2048] */

extern "C" __global__ void __launch_bounds__(64) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    f32 *__restrict__ b3) {
  b3 = (f32 *)__builtin_assume_aligned(b3, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const tile4 = (f32 *)(rw_shared + 0);
  f32 *const tile5 = (f32 *)(rw_shared + 1280);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 64;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  const i32 t2 = (i32)((u32)i1 % (u32)16);
  const i32 m3 = t2 * 16;
  f32 sums6[4];
  { const i32 i7 = 0;
    sums6[i7] = 0.0f;
  }
  { const i32 i7 = 1;
    sums6[i7] = 0.0f;
  }
  { const i32 i7 = 2;
    sums6[i7] = 0.0f;
  }
  { const i32 i7 = 3;
    sums6[i7] = 0.0f;
  }
  for (i32 i8_ = 0; i8_ < 4; i8_++) {
    const i32 k9 = i8_ * 16;
    #pragma unroll 4
    for (i32 i10 = rw_thread; i10 < 256; i10 += rw_threads) {
      const i32 t11 = (i32)((u32)i10 % (u32)16);
      const i32 t12 = (i32)((u32)i10 / (u32)16);
      const i32 p13 = m3 + t12;
      const i32 p14 = k9 + t11;
      const i32 v15 = (p13 * 64) + p14;
      const f32 v16 = b0[v15];
      tile4[(t11 * 20) + t12] = v16;
    }
    #pragma unroll 4
    for (i32 i17 = rw_thread; i17 < 256; i17 += rw_threads) {
      const i32 t18 = (i32)((u32)i17 % (u32)16);
      const i32 t19 = (i32)((u32)i17 / (u32)16);
      const bool ok20 = t18 <= 7;
      const i32 p21 = rw_min_i32(t18, 7);
      const i32 p22 = k9 + t19;
      const i32 v23 = (p22 * 8) + p21;
      const f32 v24 = b1[v23];
      tile5[(t19 * 16) + t18] = ok20 ? v24 : 0.0f;
    }
    __syncthreads();
    for (i32 i25 = rw_thread; i25 < 64; i25 += rw_threads) {
      const i32 y26 = (i32)((u32)i25 / (u32)8);
      const i32 x27 = (i32)((u32)i25 % (u32)8);
      for (i32 i28 = 0; i28 < 16; i28++) {
        const f32 v29 = tile4[(i28 * 20) + (y26 * 2)];
        const f32 v30 = tile4[((i28 * 20) + (y26 * 2)) + 1];
        const f32 v31 = tile5[(i28 * 16) + (x27 * 2)];
        const f32 v32 = tile5[((i28 * 16) + (x27 * 2)) + 1];
        sums6[0] = rw_fma_f32(v29, v31, sums6[0]);
        sums6[1] = rw_fma_f32(v29, v32, sums6[1]);
        sums6[2] = rw_fma_f32(v30, v31, sums6[2]);
        sums6[3] = rw_fma_f32(v30, v32, sums6[3]);
      }
    }
    __syncthreads();
  }
  for (i32 i33 = rw_thread; i33 < 64; i33 += rw_threads) {
    const i32 y34 = (i32)((u32)i33 / (u32)8);
    const i32 x35 = (i32)((u32)i33 % (u32)8);
    { const i32 i36 = 0;
      { const i32 i38 = 0;
        const i32 p39 = (m3 + (y34 * 2)) + i36;
        const i32 p40 = (i32)((u32)(i32)((u32)x35 * (u32)2) + (u32)i38);
        if (p40 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i32 v42 = (p39 * 8) + p40;
          const f32 v43 = b2[v42];
          const f32 v44 = r41 - v43;
          const i32 v45 = (p40 * 256) + p39;
          b3[v45] = v44;
        }
      }
      { const i32 i38 = 1;
        const i32 p39 = (m3 + (y34 * 2)) + i36;
        const i32 p40 = (i32)((u32)(i32)((u32)x35 * (u32)2) + (u32)i38);
        if (p40 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i32 v42 = (p39 * 8) + p40;
          const f32 v43 = b2[v42];
          const f32 v44 = r41 - v43;
          const i32 v45 = (p40 * 256) + p39;
          b3[v45] = v44;
        }
      }
    }
    { const i32 i36 = 1;
      { const i32 i38 = 0;
        const i32 p39 = (m3 + (y34 * 2)) + i36;
        const i32 p40 = (i32)((u32)(i32)((u32)x35 * (u32)2) + (u32)i38);
        if (p40 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i32 v42 = (p39 * 8) + p40;
          const f32 v43 = b2[v42];
          const f32 v44 = r41 - v43;
          const i32 v45 = (p40 * 256) + p39;
          b3[v45] = v44;
        }
      }
      { const i32 i38 = 1;
        const i32 p39 = (m3 + (y34 * 2)) + i36;
        const i32 p40 = (i32)((u32)(i32)((u32)x35 * (u32)2) + (u32)i38);
        if (p40 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i32 v42 = (p39 * 8) + p40;
          const f32 v43 = b2[v42];
          const f32 v44 = r41 - v43;
          const i32 v45 = (p40 * 256) + p39;
          b3[v45] = v44;
        }
      }
    }
  }
}

/* contract: mul matmul mul sub
   b0: f32[512], b1: f32[16384], b2: f32[2048], writes b3: f32[512] */

extern "C" __global__ void __launch_bounds__(64) k1_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    f32 *__restrict__ b3) {
  b3 = (f32 *)__builtin_assume_aligned(b3, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const tile4 = (f32 *)(rw_shared + 0);
  f32 *const tile5 = (f32 *)(rw_shared + 1280);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 64;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  const i32 t2 = (i32)((u32)i1 % (u32)4);
  const i32 n3 = t2 * 16;
  f32 sums6[4];
  { const i32 i7 = 0;
    sums6[i7] = 0.0f;
  }
  { const i32 i7 = 1;
    sums6[i7] = 0.0f;
  }
  { const i32 i7 = 2;
    sums6[i7] = 0.0f;
  }
  { const i32 i7 = 3;
    sums6[i7] = 0.0f;
  }
  for (i32 i8_ = 0; i8_ < 16; i8_++) {
    const i32 k9 = i8_ * 16;
    #pragma unroll 4
    for (i32 i10 = rw_thread; i10 < 256; i10 += rw_threads) {
      const i32 t11 = (i32)((u32)i10 % (u32)16);
      const i32 t12 = (i32)((u32)i10 / (u32)16);
      const bool ok13 = t12 <= 7;
      const i32 p14 = rw_min_i32(t12, 7);
      const i32 p15 = k9 + t11;
      const i32 v16 = (p14 * 256) + p15;
      const f32 v17 = b2[v16];
      tile4[(t11 * 20) + t12] = ok13 ? v17 : 0.0f;
    }
    #pragma unroll 4
    for (i32 i18 = rw_thread; i18 < 256; i18 += rw_threads) {
      const i32 t19 = (i32)((u32)i18 % (u32)16);
      const i32 t20 = (i32)((u32)i18 / (u32)16);
      const i32 p21 = n3 + t19;
      const i32 p22 = k9 + t20;
      const i32 v23 = (p22 * 64) + p21;
      const f32 v24 = b1[v23];
      tile5[(t20 * 16) + t19] = v24;
    }
    __syncthreads();
    for (i32 i25 = rw_thread; i25 < 64; i25 += rw_threads) {
      const i32 y26 = (i32)((u32)i25 / (u32)8);
      const i32 x27 = (i32)((u32)i25 % (u32)8);
      for (i32 i28 = 0; i28 < 16; i28++) {
        const f32 v29 = tile4[(i28 * 20) + (y26 * 2)];
        const f32 v30 = tile4[((i28 * 20) + (y26 * 2)) + 1];
        const f32 v31 = tile5[(i28 * 16) + (x27 * 2)];
        const f32 v32 = tile5[((i28 * 16) + (x27 * 2)) + 1];
        sums6[0] = rw_fma_f32(v29, v31, sums6[0]);
        sums6[1] = rw_fma_f32(v29, v32, sums6[1]);
        sums6[2] = rw_fma_f32(v30, v31, sums6[2]);
        sums6[3] = rw_fma_f32(v30, v32, sums6[3]);
      }
    }
    __syncthreads();
  }
  for (i32 i33 = rw_thread; i33 < 64; i33 += rw_threads) {
    const i32 y34 = (i32)((u32)i33 / (u32)8);
    const i32 x35 = (i32)((u32)i33 % (u32)8);
    { const i32 i36 = 0;
      { const i32 i38 = 0;
        const i32 p39 = (i32)((u32)(i32)((u32)y34 * (u32)2) + (u32)i36);
        const i32 p40 = n3 + ((x35 * 2) + i38);
        if (p39 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i32 v42 = (p40 * 8) + p39;
          const f32 v43 = b0[v42];
          const f32 v44 = 0.001f * r41;
          const f32 v45 = v43 - v44;
          b3[v42] = v45;
        }
      }
      { const i32 i38 = 1;
        const i32 p39 = (i32)((u32)(i32)((u32)y34 * (u32)2) + (u32)i36);
        const i32 p40 = n3 + ((x35 * 2) + i38);
        if (p39 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i32 v42 = (p40 * 8) + p39;
          const f32 v43 = b0[v42];
          const f32 v44 = 0.001f * r41;
          const f32 v45 = v43 - v44;
          b3[v42] = v45;
        }
      }
    }
    { const i32 i36 = 1;
      { const i32 i38 = 0;
        const i32 p39 = (i32)((u32)(i32)((u32)y34 * (u32)2) + (u32)i36);
        const i32 p40 = n3 + ((x35 * 2) + i38);
        if (p39 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i32 v42 = (p40 * 8) + p39;
          const f32 v43 = b0[v42];
          const f32 v44 = 0.001f * r41;
          const f32 v45 = v43 - v44;
          b3[v42] = v45;
        }
      }
      { const i32 i38 = 1;
        const i32 p39 = (i32)((u32)(i32)((u32)y34 * (u32)2) + (u32)i36);
        const i32 p40 = n3 + ((x35 * 2) + i38);
        if (p39 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i32 v42 = (p40 * 8) + p39;
          const f32 v43 = b0[v42];
          const f32 v44 = 0.001f * r41;
          const f32 v45 = v43 - v44;
          b3[v42] = v45;
        }
      }
    }
  }
}
