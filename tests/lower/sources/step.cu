/* column: mul matmul
   b0: f32[16384], b1: f32[512], writes b2: f32[2048] */

extern "C" __global__ void __launch_bounds__(256) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    f32 *__restrict__ b2) {
  const u32 rw_point = (u32)(blockIdx.x * (u64)blockDim.x + threadIdx.x);
  const i32 i1 = rw_point;
  const i32 p2 = (i32)((u32)i1 % (u32)8);
  const i32 p3 = (i32)((u32)i1 / (u32)8);
  f32 a4 = 0.0f;
  const i32 o6 = p3 * 64;
  for (i32 i5 = 0; i5 < 64; i5++) {
    const i32 v7 = o6 + i5;
    const f32 v8 = b0[v7];
    const i32 v9 = p2 + (i5 * 8);
    const f32 v10 = b1[v9];
    a4 = rw_fma_f32(v8, v10, a4);
  }
  b2[i1] = a4;
}

/* contract: sub mul matmul mul sub
   b0: f32[512], b1: f32[16384], b2: f32[2048], b3: f32[2048], writes b4: f32[512] */

extern "C" __global__ void __launch_bounds__(64) k1_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    const f32 *__restrict__ b3,
    f32 *__restrict__ b4) {
  b0 = (const f32 *)__builtin_assume_aligned(b0, 16);
  b1 = (const f32 *)__builtin_assume_aligned(b1, 16);
  b2 = (const f32 *)__builtin_assume_aligned(b2, 16);
  b3 = (const f32 *)__builtin_assume_aligned(b3, 16);
  b4 = (f32 *)__builtin_assume_aligned(b4, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const tile4 = (f32 *)(rw_shared + 0);
  f32 *const tile5 = (f32 *)(rw_shared + 1024);
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
      const bool ok13 = t11 <= 7;
      const i32 p14 = rw_min_i32(t11, 7);
      const i32 p15 = k9 + t12;
      const i32 v16 = (p15 * 8) + p14;
      const f32 v17 = b2[v16];
      const f32 v18 = b3[v16];
      const f32 v19 = v17 - v18;
      tile4[(t12 * 16) + t11] = ok13 ? v19 : 0.0f;
    }
    #pragma unroll 4
    for (i32 i20 = rw_thread; i20 < 256; i20 += rw_threads) {
      const i32 t21 = (i32)((u32)i20 % (u32)16);
      const i32 t22 = (i32)((u32)i20 / (u32)16);
      const i32 p23 = n3 + t21;
      const i32 p24 = k9 + t22;
      const i32 v25 = (p24 * 64) + p23;
      const f32 v26 = b1[v25];
      tile5[(t22 * 16) + t21] = v26;
    }
    __syncthreads();
    for (i32 i27 = rw_thread; i27 < 64; i27 += rw_threads) {
      const i32 y28 = (i32)((u32)i27 / (u32)8);
      const i32 x29 = (i32)((u32)i27 % (u32)8);
      for (i32 i30 = 0; i30 < 16; i30++) {
        const f32 v31 = tile4[(i30 * 16) + (y28 * 2)];
        const f32 v32 = tile4[((i30 * 16) + (y28 * 2)) + 1];
        const f32 v33 = tile5[(i30 * 16) + (x29 * 2)];
        const f32 v34 = tile5[((i30 * 16) + (x29 * 2)) + 1];
        sums6[0] = rw_fma_f32(v31, v33, sums6[0]);
        sums6[1] = rw_fma_f32(v31, v34, sums6[1]);
        sums6[2] = rw_fma_f32(v32, v33, sums6[2]);
        sums6[3] = rw_fma_f32(v32, v34, sums6[3]);
      }
    }
    __syncthreads();
  }
  for (i32 i35 = rw_thread; i35 < 64; i35 += rw_threads) {
    const i32 y36 = (i32)((u32)i35 / (u32)8);
    const i32 x37 = (i32)((u32)i35 % (u32)8);
    { const i32 i38 = 0;
      { const i32 i40 = 0;
        const i32 p41 = (i32)((u32)(i32)((u32)y36 * (u32)2) + (u32)i38);
        const i32 p42 = n3 + ((x37 * 2) + i40);
        if (p41 < 8) {
          const f32 r43 = sums6[(i38 * 2) + i40];
          const i32 v44 = (p42 * 8) + p41;
          const f32 v45 = b0[v44];
          const f32 v46 = 0.001f * r43;
          const f32 v47 = v45 - v46;
          b4[v44] = v47;
        }
      }
      { const i32 i40 = 1;
        const i32 p41 = (i32)((u32)(i32)((u32)y36 * (u32)2) + (u32)i38);
        const i32 p42 = n3 + ((x37 * 2) + i40);
        if (p41 < 8) {
          const f32 r43 = sums6[(i38 * 2) + i40];
          const i32 v44 = (p42 * 8) + p41;
          const f32 v45 = b0[v44];
          const f32 v46 = 0.001f * r43;
          const f32 v47 = v45 - v46;
          b4[v44] = v47;
        }
      }
    }
    { const i32 i38 = 1;
      { const i32 i40 = 0;
        const i32 p41 = (i32)((u32)(i32)((u32)y36 * (u32)2) + (u32)i38);
        const i32 p42 = n3 + ((x37 * 2) + i40);
        if (p41 < 8) {
          const f32 r43 = sums6[(i38 * 2) + i40];
          const i32 v44 = (p42 * 8) + p41;
          const f32 v45 = b0[v44];
          const f32 v46 = 0.001f * r43;
          const f32 v47 = v45 - v46;
          b4[v44] = v47;
        }
      }
      { const i32 i40 = 1;
        const i32 p41 = (i32)((u32)(i32)((u32)y36 * (u32)2) + (u32)i38);
        const i32 p42 = n3 + ((x37 * 2) + i40);
        if (p41 < 8) {
          const f32 r43 = sums6[(i38 * 2) + i40];
          const i32 v44 = (p42 * 8) + p41;
          const f32 v45 = b0[v44];
          const f32 v46 = 0.001f * r43;
          const f32 v47 = v45 - v46;
          b4[v44] = v47;
        }
      }
    }
  }
}
