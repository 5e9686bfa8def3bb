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
  __align__(16) f32 sums6[4];
  #pragma unroll 4
  for (i32 i7 = 0; i7 < 4; i7++) {
    sums6[i7] = 0.0f;
  }
  #pragma unroll 4
  for (i32 i8_ = rw_thread; i8_ < 256; i8_ += rw_threads) {
    const i32 t9 = (i32)((u32)i8_ % (u32)16);
    const i32 t10 = (i32)((u32)i8_ / (u32)16);
    const i32 p11 = m3 + t10;
    const i32 v12 = (p11 * 64) + t9;
    const f32 v13 = b0[v12];
    tile4[(t9 * 20) + t10] = v13;
  }
  #pragma unroll 4
  for (i32 i14 = rw_thread; i14 < 256; i14 += rw_threads) {
    const i32 t15 = (i32)((u32)i14 % (u32)16);
    const i32 t16 = (i32)((u32)i14 / (u32)16);
    const bool ok17 = t15 <= 7;
    const i32 p18 = rw_min_i32(t15, 7);
    const i32 v19 = (t16 * 8) + p18;
    const f32 v20 = b1[v19];
    tile5[(t16 * 16) + t15] = ok17 ? v20 : 0.0f;
  }
  __align__(16) f32 held21[4];
  __align__(16) f32 held22[4];
  __syncthreads();
  for (i32 i23 = 0; i23 < 4; i23++) {
    const i32 k24 = (i32)((u32)i23 + (u32)1);
    const bool ok25 = k24 < 4;
    if (ok25) {
      const i32 k26 = k24 * 16;
      { const i32 i27 = rw_thread;
        #pragma unroll 4
        for (i32 i28 = 0; i28 < 4; i28++) {
          const i32 t29 = i27 + (i28 * 64);
          const i32 t30 = (i32)((u32)t29 % (u32)16);
          const i32 t31 = (i32)((u32)t29 / (u32)16);
          const i32 p32 = m3 + t31;
          const i32 p33 = k26 + t30;
          const i32 v34 = (p32 * 64) + p33;
          const f32 v35 = b0[v34];
          held21[i28] = v35;
        }
      }
      { const i32 i36 = rw_thread;
        #pragma unroll 4
        for (i32 i37 = 0; i37 < 4; i37++) {
          const i32 t38 = (i32)((u32)i36 + (u32)(i32)((u32)i37 * (u32)64));
          const i32 t39 = (i32)((u32)t38 % (u32)16);
          const i32 t40 = (i32)((u32)t38 / (u32)16);
          const bool ok41 = t39 <= 7;
          const i32 p42 = rw_min_i32(t39, 7);
          const i32 p43 = k26 + t40;
          const i32 v44 = (p43 * 8) + p42;
          const f32 v45 = b1[v44];
          held22[i37] = ok41 ? v45 : 0.0f;
        }
      }
    }
    { const i32 i46 = rw_thread;
      const i32 y47 = (i32)((u32)i46 / (u32)8);
      const i32 x48 = (i32)((u32)i46 % (u32)8);
      for (i32 i49 = 0; i49 < 16; i49++) {
        const f32 v50 = tile4[(i49 * 20) + (y47 * 2)];
        const f32 v51 = tile4[((i49 * 20) + (y47 * 2)) + 1];
        const f32 v52 = tile5[(i49 * 16) + (x48 * 2)];
        const f32 v53 = tile5[((i49 * 16) + (x48 * 2)) + 1];
        sums6[0] = rw_fma_f32(v50, v52, sums6[0]);
        sums6[1] = rw_fma_f32(v50, v53, sums6[1]);
        sums6[2] = rw_fma_f32(v51, v52, sums6[2]);
        sums6[3] = rw_fma_f32(v51, v53, sums6[3]);
      }
    }
    __syncthreads();
    if (ok25) {
      { const i32 i54 = rw_thread;
        #pragma unroll 4
        for (i32 i55 = 0; i55 < 4; i55++) {
          const i32 t56 = i54 + (i55 * 64);
          const i32 t57 = (i32)((u32)t56 % (u32)16);
          const i32 t58 = (i32)((u32)t56 / (u32)16);
          tile4[(t57 * 20) + t58] = held21[i55];
        }
      }
      { const i32 i59 = rw_thread;
        #pragma unroll 4
        for (i32 i60 = 0; i60 < 4; i60++) {
          const i32 t61 = i59 + (i60 * 64);
          const i32 t62 = (i32)((u32)t61 % (u32)16);
          const i32 t63 = (i32)((u32)t61 / (u32)16);
          tile5[(t63 * 16) + t62] = held22[i60];
        }
      }
    }
    __syncthreads();
  }
  { const i32 i64_ = rw_thread;
    const i32 y65 = (i32)((u32)i64_ / (u32)8);
    const i32 x66 = (i32)((u32)i64_ % (u32)8);
    #pragma unroll 2
    for (i32 i67 = 0; i67 < 2; i67++) {
      #pragma unroll 2
      for (i32 i69 = 0; i69 < 2; i69++) {
        const i32 p70 = (m3 + (y65 * 2)) + i67;
        const i32 p71 = (i32)((u32)(i32)((u32)x66 * (u32)2) + (u32)i69);
        if (p71 < 8) {
          const f32 r72 = sums6[(i67 * 2) + i69];
          const i32 v73 = (p70 * 8) + p71;
          const f32 v74 = b2[v73];
          const f32 v75 = r72 - v74;
          const i32 v76 = (p71 * 256) + p70;
          b3[v76] = v75;
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
  __align__(16) f32 sums6[4];
  #pragma unroll 4
  for (i32 i7 = 0; i7 < 4; i7++) {
    sums6[i7] = 0.0f;
  }
  #pragma unroll 4
  for (i32 i8_ = rw_thread; i8_ < 256; i8_ += rw_threads) {
    const i32 t9 = (i32)((u32)i8_ % (u32)16);
    const i32 t10 = (i32)((u32)i8_ / (u32)16);
    const bool ok11 = t10 <= 7;
    const i32 p12 = rw_min_i32(t10, 7);
    const i32 v13 = (p12 * 256) + t9;
    const f32 v14 = b2[v13];
    tile4[(t9 * 20) + t10] = ok11 ? v14 : 0.0f;
  }
  #pragma unroll 4
  for (i32 i15 = rw_thread; i15 < 256; i15 += rw_threads) {
    const i32 t16 = (i32)((u32)i15 % (u32)16);
    const i32 t17 = (i32)((u32)i15 / (u32)16);
    const i32 p18 = n3 + t16;
    const i32 v19 = (t17 * 64) + p18;
    const f32 v20 = b1[v19];
    tile5[(t17 * 16) + t16] = v20;
  }
  __align__(16) f32 held21[4];
  __align__(16) f32 held22[4];
  __syncthreads();
  for (i32 i23 = 0; i23 < 16; i23++) {
    const i32 k24 = (i32)((u32)i23 + (u32)1);
    const bool ok25 = k24 < 16;
    if (ok25) {
      const i32 k26 = k24 * 16;
      { const i32 i27 = rw_thread;
        #pragma unroll 4
        for (i32 i28 = 0; i28 < 4; i28++) {
          const i32 t29 = (i32)((u32)i27 + (u32)(i32)((u32)i28 * (u32)64));
          const i32 t30 = (i32)((u32)t29 % (u32)16);
          const i32 t31 = (i32)((u32)t29 / (u32)16);
          const bool ok32 = t31 <= 7;
          const i32 p33 = rw_min_i32(t31, 7);
          const i32 p34 = k26 + t30;
          const i32 v35 = (p33 * 256) + p34;
          const f32 v36 = b2[v35];
          held21[i28] = ok32 ? v36 : 0.0f;
        }
      }
      { const i32 i37 = rw_thread;
        #pragma unroll 4
        for (i32 i38 = 0; i38 < 4; i38++) {
          const i32 t39 = i37 + (i38 * 64);
          const i32 t40 = (i32)((u32)t39 % (u32)16);
          const i32 t41 = (i32)((u32)t39 / (u32)16);
          const i32 p42 = n3 + t40;
          const i32 p43 = k26 + t41;
          const i32 v44 = (p43 * 64) + p42;
          const f32 v45 = b1[v44];
          held22[i38] = v45;
        }
      }
    }
    { const i32 i46 = rw_thread;
      const i32 y47 = (i32)((u32)i46 / (u32)8);
      const i32 x48 = (i32)((u32)i46 % (u32)8);
      for (i32 i49 = 0; i49 < 16; i49++) {
        const f32 v50 = tile4[(i49 * 20) + (y47 * 2)];
        const f32 v51 = tile4[((i49 * 20) + (y47 * 2)) + 1];
        const f32 v52 = tile5[(i49 * 16) + (x48 * 2)];
        const f32 v53 = tile5[((i49 * 16) + (x48 * 2)) + 1];
        sums6[0] = rw_fma_f32(v50, v52, sums6[0]);
        sums6[1] = rw_fma_f32(v50, v53, sums6[1]);
        sums6[2] = rw_fma_f32(v51, v52, sums6[2]);
        sums6[3] = rw_fma_f32(v51, v53, sums6[3]);
      }
    }
    __syncthreads();
    if (ok25) {
      { const i32 i54 = rw_thread;
        #pragma unroll 4
        for (i32 i55 = 0; i55 < 4; i55++) {
          const i32 t56 = i54 + (i55 * 64);
          const i32 t57 = (i32)((u32)t56 % (u32)16);
          const i32 t58 = (i32)((u32)t56 / (u32)16);
          tile4[(t57 * 20) + t58] = held21[i55];
        }
      }
      { const i32 i59 = rw_thread;
        #pragma unroll 4
        for (i32 i60 = 0; i60 < 4; i60++) {
          const i32 t61 = i59 + (i60 * 64);
          const i32 t62 = (i32)((u32)t61 % (u32)16);
          const i32 t63 = (i32)((u32)t61 / (u32)16);
          tile5[(t63 * 16) + t62] = held22[i60];
        }
      }
    }
    __syncthreads();
  }
  { const i32 i64_ = rw_thread;
    const i32 y65 = (i32)((u32)i64_ / (u32)8);
    const i32 x66 = (i32)((u32)i64_ % (u32)8);
    #pragma unroll 2
    for (i32 i67 = 0; i67 < 2; i67++) {
      #pragma unroll 2
      for (i32 i69 = 0; i69 < 2; i69++) {
        const i32 p70 = (i32)((u32)(i32)((u32)y65 * (u32)2) + (u32)i67);
        const i32 p71 = n3 + ((x66 * 2) + i69);
        if (p70 < 8) {
          const f32 r72 = sums6[(i67 * 2) + i69];
          const i32 v73 = (p71 * 8) + p70;
          const f32 v74 = b0[v73];
          const f32 v75 = 0.001f * r72;
          const f32 v76 = v74 - v75;
          b3[v73] = v76;
        }
      }
    }
  }
}
