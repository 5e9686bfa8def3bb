/* contract: mul matmul
   b0: f32[32768], b1: f32[24576], writes b2: f32[49152] */

extern "C" __global__ void __launch_bounds__(128) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    f32 *__restrict__ b2) {
  b2 = (f32 *)__builtin_assume_aligned(b2, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const tile6 = (f32 *)(rw_shared + 0);
  f32 *const tile7 = (f32 *)(rw_shared + 4608);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 128;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  const i32 t2 = (i32)((u32)i1 % (u32)6);
  const i32 t3 = (i32)((u32)(i32)((u32)i1 / (u32)6) % (u32)8);
  const i32 m4 = t3 * 32;
  const i32 n5 = t2 * 32;
  __align__(16) f32 sums8[8];
  #pragma unroll 8
  for (i32 i9 = 0; i9 < 8; i9++) {
    sums8[i9] = 0.0f;
  }
  #pragma unroll 8
  for (i32 i10 = rw_thread; i10 < 1024; i10 += rw_threads) {
    const i32 t11 = (i32)((u32)i10 % (u32)32);
    const i32 t12 = (i32)((u32)i10 / (u32)32);
    const i32 p13 = m4 + t12;
    const i32 v14 = (p13 * 128) + t11;
    const f32 v15 = b0[v14];
    tile6[(t11 * 36) + t12] = v15;
  }
  #pragma unroll 8
  for (i32 i16_ = rw_thread; i16_ < 1024; i16_ += rw_threads) {
    const i32 t17 = (i32)((u32)i16_ % (u32)32);
    const i32 t18 = (i32)((u32)i16_ / (u32)32);
    const i32 p19 = n5 + t17;
    const i32 v20 = (t18 * 192) + p19;
    const f32 v21 = b1[v20];
    tile7[(t18 * 32) + t17] = v21;
  }
  __align__(16) f32 held22[8];
  __align__(16) f32 held23[8];
  __syncthreads();
  for (i32 i24 = 0; i24 < 4; i24++) {
    const i32 k25 = (i32)((u32)i24 + (u32)1);
    const bool ok26 = k25 < 4;
    if (ok26) {
      const i32 k27 = k25 * 32;
      { const i32 i28 = rw_thread;
        #pragma unroll 8
        for (i32 i29 = 0; i29 < 8; i29++) {
          const i32 t30 = i28 + (i29 * 128);
          const i32 t31 = (i32)((u32)t30 % (u32)32);
          const i32 t32 = (i32)((u32)t30 / (u32)32);
          const i32 p33 = m4 + t32;
          const i32 p34 = k27 + t31;
          const i32 v35 = (p33 * 128) + p34;
          const f32 v36 = b0[v35];
          held22[i29] = v36;
        }
      }
      { const i32 i37 = rw_thread;
        #pragma unroll 8
        for (i32 i38 = 0; i38 < 8; i38++) {
          const i32 t39 = i37 + (i38 * 128);
          const i32 t40 = (i32)((u32)t39 % (u32)32);
          const i32 t41 = (i32)((u32)t39 / (u32)32);
          const i32 p42 = n5 + t40;
          const i32 p43 = k27 + t41;
          const i32 v44 = (p43 * 192) + p42;
          const f32 v45 = b1[v44];
          held23[i38] = v45;
        }
      }
    }
    { const i32 i46 = rw_thread;
      const i32 y47 = (i32)((u32)i46 / (u32)16);
      const i32 x48 = (i32)((u32)i46 % (u32)16);
      for (i32 i49 = 0; i49 < 32; i49++) {
        const f32 v50 = tile6[(i49 * 36) + (y47 * 4)];
        const f32 v51 = tile6[((i49 * 36) + (y47 * 4)) + 1];
        const f32 v52 = tile6[((i49 * 36) + (y47 * 4)) + 2];
        const f32 v53 = tile6[((i49 * 36) + (y47 * 4)) + 3];
        const f32 v54 = tile7[(i49 * 32) + (x48 * 2)];
        const f32 v55 = tile7[((i49 * 32) + (x48 * 2)) + 1];
        sums8[0] = rw_fma_f32(v50, v54, sums8[0]);
        sums8[1] = rw_fma_f32(v50, v55, sums8[1]);
        sums8[2] = rw_fma_f32(v51, v54, sums8[2]);
        sums8[3] = rw_fma_f32(v51, v55, sums8[3]);
        sums8[4] = rw_fma_f32(v52, v54, sums8[4]);
        sums8[5] = rw_fma_f32(v52, v55, sums8[5]);
        sums8[6] = rw_fma_f32(v53, v54, sums8[6]);
        sums8[7] = rw_fma_f32(v53, v55, sums8[7]);
      }
    }
    __syncthreads();
    if (ok26) {
      { const i32 i56 = rw_thread;
        #pragma unroll 8
        for (i32 i57 = 0; i57 < 8; i57++) {
          const i32 t58 = i56 + (i57 * 128);
          const i32 t59 = (i32)((u32)t58 % (u32)32);
          const i32 t60 = (i32)((u32)t58 / (u32)32);
          tile6[(t59 * 36) + t60] = held22[i57];
        }
      }
      { const i32 i61 = rw_thread;
        #pragma unroll 8
        for (i32 i62 = 0; i62 < 8; i62++) {
          const i32 t63 = i61 + (i62 * 128);
          const i32 t64 = (i32)((u32)t63 % (u32)32);
          const i32 t65 = (i32)((u32)t63 / (u32)32);
          tile7[(t65 * 32) + t64] = held23[i62];
        }
      }
    }
    __syncthreads();
  }
  { const i32 i66 = rw_thread;
    const i32 y67 = (i32)((u32)i66 / (u32)16);
    const i32 x68 = (i32)((u32)i66 % (u32)16);
    #pragma unroll 4
    for (i32 i69 = 0; i69 < 4; i69++) {
      #pragma unroll 2
      for (i32 i71 = 0; i71 < 2; i71++) {
        const i32 p72 = (m4 + (y67 * 4)) + i69;
        const i32 p73 = n5 + ((x68 * 2) + i71);
        const f32 r74 = sums8[(i69 * 2) + i71];
        const i32 v75 = (p72 * 192) + p73;
        b2[v75] = r74;
      }
    }
  }
}
