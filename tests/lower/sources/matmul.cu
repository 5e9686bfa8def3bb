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
  f32 sums8[8];
  { const i32 i9 = 0;
    sums8[i9] = 0.0f;
  }
  { const i32 i9 = 1;
    sums8[i9] = 0.0f;
  }
  { const i32 i9 = 2;
    sums8[i9] = 0.0f;
  }
  { const i32 i9 = 3;
    sums8[i9] = 0.0f;
  }
  { const i32 i9 = 4;
    sums8[i9] = 0.0f;
  }
  { const i32 i9 = 5;
    sums8[i9] = 0.0f;
  }
  { const i32 i9 = 6;
    sums8[i9] = 0.0f;
  }
  { const i32 i9 = 7;
    sums8[i9] = 0.0f;
  }
  for (i32 i10 = 0; i10 < 4; i10++) {
    const i32 k11 = i10 * 32;
    #pragma unroll 8
    for (i32 i12 = rw_thread; i12 < 1024; i12 += rw_threads) {
      const i32 t13 = (i32)((u32)i12 % (u32)32);
      const i32 t14 = (i32)((u32)i12 / (u32)32);
      const i32 p15 = m4 + t14;
      const i32 p16 = k11 + t13;
      const i32 v17 = (p15 * 128) + p16;
      const f32 v18 = b0[v17];
      tile6[(t13 * 36) + t14] = v18;
    }
    #pragma unroll 8
    for (i32 i19 = rw_thread; i19 < 1024; i19 += rw_threads) {
      const i32 t20 = (i32)((u32)i19 % (u32)32);
      const i32 t21 = (i32)((u32)i19 / (u32)32);
      const i32 p22 = n5 + t20;
      const i32 p23 = k11 + t21;
      const i32 v24 = (p23 * 192) + p22;
      const f32 v25 = b1[v24];
      tile7[(t21 * 32) + t20] = v25;
    }
    __syncthreads();
    for (i32 i26 = rw_thread; i26 < 128; i26 += rw_threads) {
      const i32 y27 = (i32)((u32)i26 / (u32)16);
      const i32 x28 = (i32)((u32)i26 % (u32)16);
      for (i32 i29 = 0; i29 < 32; i29++) {
        const f32 v30 = tile6[(i29 * 36) + (y27 * 4)];
        const f32 v31 = tile6[((i29 * 36) + (y27 * 4)) + 1];
        const f32 v32 = tile6[((i29 * 36) + (y27 * 4)) + 2];
        const f32 v33 = tile6[((i29 * 36) + (y27 * 4)) + 3];
        const f32 v34 = tile7[(i29 * 32) + (x28 * 2)];
        const f32 v35 = tile7[((i29 * 32) + (x28 * 2)) + 1];
        sums8[0] = rw_fma_f32(v30, v34, sums8[0]);
        sums8[1] = rw_fma_f32(v30, v35, sums8[1]);
        sums8[2] = rw_fma_f32(v31, v34, sums8[2]);
        sums8[3] = rw_fma_f32(v31, v35, sums8[3]);
        sums8[4] = rw_fma_f32(v32, v34, sums8[4]);
        sums8[5] = rw_fma_f32(v32, v35, sums8[5]);
        sums8[6] = rw_fma_f32(v33, v34, sums8[6]);
        sums8[7] = rw_fma_f32(v33, v35, sums8[7]);
      }
    }
    __syncthreads();
  }
  for (i32 i36 = rw_thread; i36 < 128; i36 += rw_threads) {
    const i32 y37 = (i32)((u32)i36 / (u32)16);
    const i32 x38 = (i32)((u32)i36 % (u32)16);
    { const i32 i39 = 0;
      { const i32 i41 = 0;
        const i32 p42 = (m4 + (y37 * 4)) + i39;
        const i32 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i32 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
      { const i32 i41 = 1;
        const i32 p42 = (m4 + (y37 * 4)) + i39;
        const i32 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i32 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
    }
    { const i32 i39 = 1;
      { const i32 i41 = 0;
        const i32 p42 = (m4 + (y37 * 4)) + i39;
        const i32 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i32 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
      { const i32 i41 = 1;
        const i32 p42 = (m4 + (y37 * 4)) + i39;
        const i32 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i32 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
    }
    { const i32 i39 = 2;
      { const i32 i41 = 0;
        const i32 p42 = (m4 + (y37 * 4)) + i39;
        const i32 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i32 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
      { const i32 i41 = 1;
        const i32 p42 = (m4 + (y37 * 4)) + i39;
        const i32 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i32 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
    }
    { const i32 i39 = 3;
      { const i32 i41 = 0;
        const i32 p42 = (m4 + (y37 * 4)) + i39;
        const i32 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i32 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
      { const i32 i41 = 1;
        const i32 p42 = (m4 + (y37 * 4)) + i39;
        const i32 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i32 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
    }
  }
}
