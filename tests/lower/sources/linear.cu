/* contract: mul matmul add relu
   b0: f32[8192], b1: f32[8192], b2: f32[128], writes b3: f32[16384] */

extern "C" __global__ void __launch_bounds__(64) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    f32 *__restrict__ b3) {
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const tile6 = (f32 *)(rw_shared + 0);
  f32 *const tile7 = (f32 *)(rw_shared + 1024);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 64;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  const i32 t2 = (i32)((u32)i1 % (u32)8);
  const i32 t3 = (i32)((u32)(i32)((u32)i1 / (u32)8) % (u32)8);
  const i32 m4 = t3 * 16;
  const i32 n5 = t2 * 16;
  f32 sums8[4];
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
  for (i32 i10 = 0; i10 < 4; i10++) {
    const i32 k11 = i10 * 16;
    for (i32 i12 = rw_thread; i12 < 256; i12 += rw_threads) {
      const i32 t13 = (i32)((u32)i12 % (u32)16);
      const i32 t14 = (i32)((u32)i12 / (u32)16);
      const i32 p15 = m4 + t14;
      const i32 p16 = k11 + t13;
      const i32 v17 = (p15 * 64) + p16;
      const f32 v18 = b0[v17];
      tile6[(t13 * 16) + t14] = v18;
    }
    for (i32 i19 = rw_thread; i19 < 256; i19 += rw_threads) {
      const i32 t20 = (i32)((u32)i19 % (u32)16);
      const i32 t21 = (i32)((u32)i19 / (u32)16);
      const i32 p22 = n5 + t20;
      const i32 p23 = k11 + t21;
      const i32 v24 = (p23 * 128) + p22;
      const f32 v25 = b1[v24];
      tile7[(t21 * 16) + t20] = v25;
    }
    __syncthreads();
    for (i32 i26 = rw_thread; i26 < 64; i26 += rw_threads) {
      const i32 y27 = (i32)((u32)i26 / (u32)8);
      const i32 x28 = (i32)((u32)i26 % (u32)8);
      for (i32 i29 = 0; i29 < 16; i29++) {
        const f32 v30 = tile6[(i29 * 16) + (y27 * 2)];
        const f32 v31 = tile6[((i29 * 16) + (y27 * 2)) + 1];
        const f32 v32 = tile7[(i29 * 16) + x28];
        const f32 v33 = tile7[((i29 * 16) + x28) + 8];
        sums8[0] = rw_fma_f32(v30, v32, sums8[0]);
        sums8[1] = rw_fma_f32(v30, v33, sums8[1]);
        sums8[2] = rw_fma_f32(v31, v32, sums8[2]);
        sums8[3] = rw_fma_f32(v31, v33, sums8[3]);
      }
    }
    __syncthreads();
  }
  for (i32 i34 = rw_thread; i34 < 64; i34 += rw_threads) {
    const i32 y35 = (i32)((u32)i34 / (u32)8);
    const i32 x36 = (i32)((u32)i34 % (u32)8);
    { const i32 i37 = 0;
      { const i32 i38 = 0;
        const i32 p39 = (m4 + (y35 * 2)) + i37;
        const i32 p40 = (n5 + x36) + (i38 * 8);
        const f32 r41 = sums8[(i37 * 2) + i38];
        const f32 v42 = b2[p40];
        const f32 v43 = r41 + v42;
        const f32 v44 = rw_max_f32(v43, 0.0f);
        const i32 v45 = (p39 * 128) + p40;
        b3[v45] = v44;
      }
      { const i32 i38 = 1;
        const i32 p39 = (m4 + (y35 * 2)) + i37;
        const i32 p40 = (n5 + x36) + (i38 * 8);
        const f32 r41 = sums8[(i37 * 2) + i38];
        const f32 v42 = b2[p40];
        const f32 v43 = r41 + v42;
        const f32 v44 = rw_max_f32(v43, 0.0f);
        const i32 v45 = (p39 * 128) + p40;
        b3[v45] = v44;
      }
    }
    { const i32 i37 = 1;
      { const i32 i38 = 0;
        const i32 p39 = (m4 + (y35 * 2)) + i37;
        const i32 p40 = (n5 + x36) + (i38 * 8);
        const f32 r41 = sums8[(i37 * 2) + i38];
        const f32 v42 = b2[p40];
        const f32 v43 = r41 + v42;
        const f32 v44 = rw_max_f32(v43, 0.0f);
        const i32 v45 = (p39 * 128) + p40;
        b3[v45] = v44;
      }
      { const i32 i38 = 1;
        const i32 p39 = (m4 + (y35 * 2)) + i37;
        const i32 p40 = (n5 + x36) + (i38 * 8);
        const f32 r41 = sums8[(i37 * 2) + i38];
        const f32 v42 = b2[p40];
        const f32 v43 = r41 + v42;
        const f32 v44 = rw_max_f32(v43, 0.0f);
        const i32 v45 = (p39 * 128) + p40;
        b3[v45] = v44;
      }
    }
  }
}
