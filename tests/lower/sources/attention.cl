/* contract: mul matmul mul
   b0: f32[32768], b1: f32[32768], writes b2: f32[65536] */

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global f32 *restrict b2) {
  __local f32 tile7[1152];
  __local f32 tile8[1152];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 128;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  const i64 t2 = (i64)((u32)i1 % (u32)4);
  const i64 t3 = (i64)((u32)(i64)((u32)i1 / (u32)4) % (u32)4);
  const i64 p4 = (i64)((u32)(i64)((u32)i1 / (u32)4) / (u32)4);
  const i64 m5 = t3 * 32;
  const i64 n6 = t2 * 32;
  f32 sums9[8];
  { const i64 i10 = 0;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 1;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 2;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 3;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 4;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 5;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 6;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 7;
    sums9[i10] = 0.0f;
  }
  const i64 o18 = p4 * 8192;
  const i64 o26 = p4 * 8192;
  for (i64 i11 = 0; i11 < 2; i11++) {
    const i64 k12 = i11 * 32;
    #pragma unroll 8
    for (i64 i13 = rw_thread; i13 < 1024; i13 += rw_threads) {
      const i64 t14 = (i64)((u32)i13 % (u32)32);
      const i64 t15 = (i64)((u32)i13 / (u32)32);
      const i64 p16 = m5 + t15;
      const i64 p17 = k12 + t14;
      const i64 v19 = (o18 + (p16 * 64)) + p17;
      const f32 v20 = b0[v19];
      tile7[(t14 * 36) + t15] = v20;
    }
    #pragma unroll 8
    for (i64 i21 = rw_thread; i21 < 1024; i21 += rw_threads) {
      const i64 t22 = (i64)((u32)i21 % (u32)32);
      const i64 t23 = (i64)((u32)i21 / (u32)32);
      const i64 p24 = n6 + t23;
      const i64 p25 = k12 + t22;
      const i64 v27 = (o26 + (p24 * 64)) + p25;
      const f32 v28 = b1[v27];
      tile8[(t22 * 36) + t23] = v28;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (i64 i29 = rw_thread; i29 < 128; i29 += rw_threads) {
      const i64 y30 = (i64)((u32)i29 / (u32)16);
      const i64 x31 = (i64)((u32)i29 % (u32)16);
      for (i64 i32_ = 0; i32_ < 32; i32_++) {
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
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  const i64 o48 = p4 * 16384;
  for (i64 i39 = rw_thread; i39 < 128; i39 += rw_threads) {
    const i64 y40 = (i64)((u32)i39 / (u32)16);
    const i64 x41 = (i64)((u32)i39 % (u32)16);
    { const i64 i42 = 0;
      { const i64 i43 = 0;
        const i64 p44 = (m5 + (y40 * 4)) + i42;
        const i64 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i64 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
      { const i64 i43 = 1;
        const i64 p44 = (m5 + (y40 * 4)) + i42;
        const i64 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i64 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
    }
    { const i64 i42 = 1;
      { const i64 i43 = 0;
        const i64 p44 = (m5 + (y40 * 4)) + i42;
        const i64 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i64 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
      { const i64 i43 = 1;
        const i64 p44 = (m5 + (y40 * 4)) + i42;
        const i64 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i64 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
    }
    { const i64 i42 = 2;
      { const i64 i43 = 0;
        const i64 p44 = (m5 + (y40 * 4)) + i42;
        const i64 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i64 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
      { const i64 i43 = 1;
        const i64 p44 = (m5 + (y40 * 4)) + i42;
        const i64 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i64 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
    }
    { const i64 i42 = 3;
      { const i64 i43 = 0;
        const i64 p44 = (m5 + (y40 * 4)) + i42;
        const i64 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i64 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
      { const i64 i43 = 1;
        const i64 p44 = (m5 + (y40 * 4)) + i42;
        const i64 p45 = (n6 + x41) + (i43 * 16);
        const f32 r46 = sums9[(i42 * 2) + i43];
        const f32 v47 = r46 * 0.125f;
        const i64 v49 = (o48 + (p44 * 128)) + p45;
        b2[v49] = v47;
      }
    }
  }
}

/* row: max sub exp sum recip
   b0: f32[65536], writes b1: f32[65536], writes b2: f32[512] */

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k1_0(
    __global const f32 *restrict b0,
    __global f32 *restrict b1,
    __global f32 *restrict b2) {
  __local f32 rw_reduce_a2[32];
  __local f32 row7[128];
  __local f32 rw_reduce_a8[32];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 32;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  f32 a2 = -INFINITY;
  const i64 o4 = i1 * 128;
  #pragma unroll 4
  for (i64 i3 = rw_thread; i3 < 128; i3 += rw_threads) {
    const i64 v5 = o4 + i3;
    const f32 v6 = b0[v5];
    a2 = rw_max_f32(a2, v6);
  }
  rw_reduce_a2[rw_thread] = a2;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) rw_reduce_a2[rw_thread] = rw_max_f32(rw_reduce_a2[rw_thread], rw_reduce_a2[rw_thread + rw_s]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  a2 = rw_reduce_a2[0];
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  f32 a8 = 0.0f;
  const i64 o10 = i1 * 128;
  #pragma unroll 4
  for (i64 i9 = rw_thread; i9 < 128; i9 += rw_threads) {
    const i64 v11 = o10 + i9;
    const f32 v12 = b0[v11];
    const f32 v13 = v12 - a2;
    const f32 v14 = rw_exp_f32(v13);
    a8 = a8 + v14;
    row7[i9] = v14;
  }
  rw_reduce_a8[rw_thread] = a8;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) rw_reduce_a8[rw_thread] = (rw_reduce_a8[rw_thread] + rw_reduce_a8[rw_thread + rw_s]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  a8 = rw_reduce_a8[0];
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  const i64 o17 = i1 * 128;
  #pragma unroll 4
  for (i64 i15 = rw_thread; i15 < 128; i15 += rw_threads) {
    const f32 v16 = row7[i15];
    const i64 v18 = o17 + i15;
    b1[v18] = v16;
  }
  const f32 v20 = 1 / a8;
  for (i64 i19 = rw_thread; i19 < 1; i19 += rw_threads) {
    b2[i1] = v20;
  }
}

/* contract: mul mul matmul
   b0: f32[65536], b1: f32[512], b2: f32[32768], writes b3: f32[32768] */

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void k2_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global const f32 *restrict b2,
    __global f32 *restrict b3) {
  __local f32 tile7[1152];
  __local f32 tile8[1024];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 128;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  const i64 t2 = (i64)((u32)i1 % (u32)2);
  const i64 t3 = (i64)((u32)(i64)((u32)i1 / (u32)2) % (u32)4);
  const i64 p4 = (i64)((u32)(i64)((u32)i1 / (u32)2) / (u32)4);
  const i64 m5 = t3 * 32;
  const i64 n6 = t2 * 32;
  f32 sums9[8];
  { const i64 i10 = 0;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 1;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 2;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 3;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 4;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 5;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 6;
    sums9[i10] = 0.0f;
  }
  { const i64 i10 = 7;
    sums9[i10] = 0.0f;
  }
  const i64 o18 = p4 * 16384;
  const i64 o21 = p4 * 128;
  const i64 o29 = p4 * 8192;
  for (i64 i11 = 0; i11 < 4; i11++) {
    const i64 k12 = i11 * 32;
    #pragma unroll 8
    for (i64 i13 = rw_thread; i13 < 1024; i13 += rw_threads) {
      const i64 t14 = (i64)((u32)i13 % (u32)32);
      const i64 t15 = (i64)((u32)i13 / (u32)32);
      const i64 p16 = m5 + t15;
      const i64 p17 = k12 + t14;
      const i64 v19 = (o18 + (p16 * 128)) + p17;
      const f32 v20 = b0[v19];
      const i64 v22 = o21 + p16;
      const f32 v23 = b1[v22];
      tile7[(t14 * 36) + t15] = v20 * v23;
    }
    #pragma unroll 8
    for (i64 i24 = rw_thread; i24 < 1024; i24 += rw_threads) {
      const i64 t25 = (i64)((u32)i24 % (u32)32);
      const i64 t26 = (i64)((u32)i24 / (u32)32);
      const i64 p27 = n6 + t25;
      const i64 p28 = k12 + t26;
      const i64 v30 = (o29 + (p28 * 64)) + p27;
      const f32 v31 = b2[v30];
      tile8[(t26 * 32) + t25] = v31;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (i64 i32_ = rw_thread; i32_ < 128; i32_ += rw_threads) {
      const i64 y33 = (i64)((u32)i32_ / (u32)16);
      const i64 x34 = (i64)((u32)i32_ % (u32)16);
      for (i64 i35 = 0; i35 < 32; i35++) {
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
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  const i64 o50 = p4 * 8192;
  for (i64 i42 = rw_thread; i42 < 128; i42 += rw_threads) {
    const i64 y43 = (i64)((u32)i42 / (u32)16);
    const i64 x44 = (i64)((u32)i42 % (u32)16);
    { const i64 i45 = 0;
      { const i64 i46 = 0;
        const i64 p47 = (m5 + (y43 * 4)) + i45;
        const i64 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i64 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
      { const i64 i46 = 1;
        const i64 p47 = (m5 + (y43 * 4)) + i45;
        const i64 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i64 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
    }
    { const i64 i45 = 1;
      { const i64 i46 = 0;
        const i64 p47 = (m5 + (y43 * 4)) + i45;
        const i64 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i64 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
      { const i64 i46 = 1;
        const i64 p47 = (m5 + (y43 * 4)) + i45;
        const i64 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i64 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
    }
    { const i64 i45 = 2;
      { const i64 i46 = 0;
        const i64 p47 = (m5 + (y43 * 4)) + i45;
        const i64 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i64 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
      { const i64 i46 = 1;
        const i64 p47 = (m5 + (y43 * 4)) + i45;
        const i64 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i64 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
    }
    { const i64 i45 = 3;
      { const i64 i46 = 0;
        const i64 p47 = (m5 + (y43 * 4)) + i45;
        const i64 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i64 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
      { const i64 i46 = 1;
        const i64 p47 = (m5 + (y43 * 4)) + i45;
        const i64 p48 = (n6 + x44) + (i46 * 16);
        const f32 r49 = sums9[(i45 * 2) + i46];
        const i64 v51 = (o50 + (p47 * 64)) + p48;
        b3[v51] = r49;
      }
    }
  }
}
