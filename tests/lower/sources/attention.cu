/* contract: mul matmul mul
   b0: f32[32768], b1: f32[32768], writes b2: f32[65536] */

extern "C" __global__ void __launch_bounds__(128) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    f32 *__restrict__ b2) {
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const tile7 = (f32 *)(rw_shared + 0);
  f32 *const tile8 = (f32 *)(rw_shared + 4608);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 128;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  const i32 t2 = (i32)((u32)i1 % (u32)4);
  const i32 t3 = (i32)((u32)(i32)((u32)i1 / (u32)4) % (u32)4);
  const i32 p4 = (i32)((u32)(i32)((u32)i1 / (u32)4) / (u32)4);
  const i32 m5 = t3 * 32;
  const i32 n6 = t2 * 32;
  f32 sums9[8];
  { const i32 i10 = 0;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 1;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 2;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 3;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 4;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 5;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 6;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 7;
    sums9[i10] = 0.0f;
  }
  const i32 o18 = p4 * 8192;
  const i32 o26 = p4 * 8192;
  for (i32 i11 = 0; i11 < 2; i11++) {
    const i32 k12 = i11 * 32;
    #pragma unroll 8
    for (i32 i13 = rw_thread; i13 < 1024; i13 += rw_threads) {
      const i32 t14 = (i32)((u32)i13 % (u32)32);
      const i32 t15 = (i32)((u32)i13 / (u32)32);
      const i32 p16 = m5 + t15;
      const i32 p17 = k12 + t14;
      const i32 v19 = (o18 + (p16 * 64)) + p17;
      const f32 v20 = b0[v19];
      tile7[(t14 * 36) + t15] = v20;
    }
    #pragma unroll 8
    for (i32 i21 = rw_thread; i21 < 1024; i21 += rw_threads) {
      const i32 t22 = (i32)((u32)i21 % (u32)32);
      const i32 t23 = (i32)((u32)i21 / (u32)32);
      const i32 p24 = n6 + t23;
      const i32 p25 = k12 + t22;
      const i32 v27 = (o26 + (p24 * 64)) + p25;
      const f32 v28 = b1[v27];
      tile8[(t22 * 36) + t23] = v28;
    }
    __syncthreads();
    for (i32 i29 = rw_thread; i29 < 128; i29 += rw_threads) {
      const i32 y30 = (i32)((u32)i29 / (u32)16);
      const i32 x31 = (i32)((u32)i29 % (u32)16);
      for (i32 i32_ = 0; i32_ < 32; i32_++) {
        const f32 v33 = tile7[(i32_ * 36) + (y30 * 4)];
        const f32 v34 = tile7[((i32_ * 36) + (y30 * 4)) + 1];
        const f32 v35 = tile7[((i32_ * 36) + (y30 * 4)) + 2];
        const f32 v36 = tile7[((i32_ * 36) + (y30 * 4)) + 3];
        const f32 v37 = tile8[(i32_ * 36) + x31];
        const f32 v38 = tile8[((i32_ * 36) + x31) + 16];
        sums9[0] = rw_fma_f32(v33, v37, sums9[0]);
        sums9[1] = rw_fma_f32(v33, v38, sums9[1]);
        sums9[2] = rw_fma_f32(v34, v37, sums9[2]);
        sums9[3] = rw_fma_f32(v34, v38, sums9[3]);
        sums9[4] = rw_fma_f32(v35, v37, sums9[4]);
        sums9[5] = rw_fma_f32(v35, v38, sums9[5]);
        sums9[6] = rw_fma_f32(v36, v37, sums9[6]);
        sums9[7] = rw_fma_f32(v36, v38, sums9[7]);
      }
    }
    __syncthreads();
  }
  const i32 o48 = p4 * 16384;
  for (i32 i39 = rw_thread; i39 < 128; i39 += rw_threads) {
    const i32 y40 = (i32)((u32)i39 / (u32)16);
    const i32 x41 = (i32)((u32)i39 % (u32)16);
    { const i32 i42 = 0;
      { const i32 i43 = 0;
        const i32 p44 = (m5 + (y40 * 4)) + i42;
        const i32 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i32 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
      { const i32 i43 = 1;
        const i32 p44 = (m5 + (y40 * 4)) + i42;
        const i32 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i32 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
    }
    { const i32 i42 = 1;
      { const i32 i43 = 0;
        const i32 p44 = (m5 + (y40 * 4)) + i42;
        const i32 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i32 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
      { const i32 i43 = 1;
        const i32 p44 = (m5 + (y40 * 4)) + i42;
        const i32 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i32 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
    }
    { const i32 i42 = 2;
      { const i32 i43 = 0;
        const i32 p44 = (m5 + (y40 * 4)) + i42;
        const i32 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i32 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
      { const i32 i43 = 1;
        const i32 p44 = (m5 + (y40 * 4)) + i42;
        const i32 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i32 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
    }
    { const i32 i42 = 3;
      { const i32 i43 = 0;
        const i32 p44 = (m5 + (y40 * 4)) + i42;
        const i32 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i32 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
      { const i32 i43 = 1;
        const i32 p44 = (m5 + (y40 * 4)) + i42;
        const i32 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i32 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
    }
  }
}

/* row: max sub exp sum recip
   b0: f32[65536], writes b1: f32[65536], writes b2: f32[512] */

extern "C" __global__ void __launch_bounds__(32) k1_0(
    const f32 *__restrict__ b0,
    f32 *__restrict__ b1,
    f32 *__restrict__ b2) {
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const rw_reduce_a2 = (f32 *)(rw_shared + 0);
  f32 *const row7 = (f32 *)(rw_shared + 16);
  f32 *const rw_reduce_a8 = (f32 *)(rw_shared + 528);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 32;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  f32 a2 = -__int_as_float(0x7f800000);
  const i32 o4 = i1 * 128;
  #pragma unroll 4
  for (i32 i3 = rw_thread; i3 < 128; i3 += rw_threads) {
    const i32 v5 = o4 + i3;
    const f32 v6 = b0[v5];
    a2 = rw_max_f32(a2, v6);
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a2 = rw_max_f32(a2, (f32)__shfl_xor_sync(0xffffffffu, (f32)a2, rw_s));
  f32 a8 = 0.0f;
  const i32 o10 = i1 * 128;
  #pragma unroll 4
  for (i32 i9 = rw_thread; i9 < 128; i9 += rw_threads) {
    const i32 v11 = o10 + i9;
    const f32 v12 = b0[v11];
    const f32 v13 = v12 - a2;
    const f32 v14 = rw_exp_f32(v13);
    a8 = a8 + v14;
    row7[i9] = v14;
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a8 = (a8 + (f32)__shfl_xor_sync(0xffffffffu, (f32)a8, rw_s));
  __syncthreads();
  const i32 o17 = i1 * 128;
  #pragma unroll 4
  for (i32 i15 = rw_thread; i15 < 128; i15 += rw_threads) {
    const f32 v16 = row7[i15];
    const i32 v18 = o17 + i15;
    b1[v18] = v16;
  }
  const f32 v20 = 1 / a8;
  for (i32 i19 = rw_thread; i19 < 1; i19 += rw_threads) {
    b2[i1] = v20;
  }
}

/* contract: mul mul matmul
   b0: f32[65536], b1: f32[512], b2: f32[32768], writes b3: f32[32768] */

extern "C" __global__ void __launch_bounds__(128) k2_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    f32 *__restrict__ b3) {
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const tile7 = (f32 *)(rw_shared + 0);
  f32 *const tile8 = (f32 *)(rw_shared + 4608);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 128;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  const i32 t2 = (i32)((u32)i1 % (u32)2);
  const i32 t3 = (i32)((u32)(i32)((u32)i1 / (u32)2) % (u32)4);
  const i32 p4 = (i32)((u32)(i32)((u32)i1 / (u32)2) / (u32)4);
  const i32 m5 = t3 * 32;
  const i32 n6 = t2 * 32;
  f32 sums9[8];
  { const i32 i10 = 0;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 1;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 2;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 3;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 4;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 5;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 6;
    sums9[i10] = 0.0f;
  }
  { const i32 i10 = 7;
    sums9[i10] = 0.0f;
  }
  const i32 o18 = p4 * 16384;
  const i32 o21 = p4 * 128;
  const i32 o29 = p4 * 8192;
  for (i32 i11 = 0; i11 < 4; i11++) {
    const i32 k12 = i11 * 32;
    #pragma unroll 8
    for (i32 i13 = rw_thread; i13 < 1024; i13 += rw_threads) {
      const i32 t14 = (i32)((u32)i13 % (u32)32);
      const i32 t15 = (i32)((u32)i13 / (u32)32);
      const i32 p16 = m5 + t15;
      const i32 p17 = k12 + t14;
      const i32 v19 = (o18 + (p16 * 128)) + p17;
      const f32 v20 = b0[v19];
      const i32 v22 = o21 + p16;
      const f32 v23 = b1[v22];
      tile7[(t14 * 36) + t15] = v20 * v23;
    }
    #pragma unroll 8
    for (i32 i24 = rw_thread; i24 < 1024; i24 += rw_threads) {
      const i32 t25 = (i32)((u32)i24 % (u32)32);
      const i32 t26 = (i32)((u32)i24 / (u32)32);
      const i32 p27 = n6 + t25;
      const i32 p28 = k12 + t26;
      const i32 v30 = (o29 + (p28 * 64)) + p27;
      const f32 v31 = b2[v30];
      tile8[(t26 * 32) + t25] = v31;
    }
    __syncthreads();
    for (i32 i32_ = rw_thread; i32_ < 128; i32_ += rw_threads) {
      const i32 y33 = (i32)((u32)i32_ / (u32)16);
      const i32 x34 = (i32)((u32)i32_ % (u32)16);
      for (i32 i35 = 0; i35 < 32; i35++) {
        const f32 v36 = tile7[(i35 * 36) + (y33 * 4)];
        const f32 v37 = tile7[((i35 * 36) + (y33 * 4)) + 1];
        const f32 v38 = tile7[((i35 * 36) + (y33 * 4)) + 2];
        const f32 v39 = tile7[((i35 * 36) + (y33 * 4)) + 3];
        const f32 v40 = tile8[(i35 * 32) + x34];
        const f32 v41 = tile8[((i35 * 32) + x34) + 16];
        sums9[0] = rw_fma_f32(v36, v40, sums9[0]);
        sums9[1] = rw_fma_f32(v36, v41, sums9[1]);
        sums9[2] = rw_fma_f32(v37, v40, sums9[2]);
        sums9[3] = rw_fma_f32(v37, v41, sums9[3]);
        sums9[4] = rw_fma_f32(v38, v40, sums9[4]);
        sums9[5] = rw_fma_f32(v38, v41, sums9[5]);
        sums9[6] = rw_fma_f32(v39, v40, sums9[6]);
        sums9[7] = rw_fma_f32(v39, v41, sums9[7]);
      }
    }
    __syncthreads();
  }
  const i32 o50 = p4 * 8192;
  for (i32 i42 = rw_thread; i42 < 128; i42 += rw_threads) {
    const i32 y43 = (i32)((u32)i42 / (u32)16);
    const i32 x44 = (i32)((u32)i42 % (u32)16);
    { const i32 i45 = 0;
      { const i32 i46 = 0;
        const i32 p47 = (m5 + (y43 * 4)) + i45;
        const i32 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i32 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
      { const i32 i46 = 1;
        const i32 p47 = (m5 + (y43 * 4)) + i45;
        const i32 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i32 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
    }
    { const i32 i45 = 1;
      { const i32 i46 = 0;
        const i32 p47 = (m5 + (y43 * 4)) + i45;
        const i32 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i32 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
      { const i32 i46 = 1;
        const i32 p47 = (m5 + (y43 * 4)) + i45;
        const i32 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i32 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
    }
    { const i32 i45 = 2;
      { const i32 i46 = 0;
        const i32 p47 = (m5 + (y43 * 4)) + i45;
        const i32 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i32 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
      { const i32 i46 = 1;
        const i32 p47 = (m5 + (y43 * 4)) + i45;
        const i32 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i32 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
    }
    { const i32 i45 = 3;
      { const i32 i46 = 0;
        const i32 p47 = (m5 + (y43 * 4)) + i45;
        const i32 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i32 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
      { const i32 i46 = 1;
        const i32 p47 = (m5 + (y43 * 4)) + i45;
        const i32 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i32 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
    }
  }
}
