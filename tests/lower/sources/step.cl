/* column: mul matmul
   b0: f32[16384], b1: f32[512], writes b2: f32[2048] */

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global f32 *restrict b2) {
  const i64 rw_point = (i64)get_global_id(0);
  const i64 i1 = rw_point;
  const i64 p2 = (i64)((u32)i1 % (u32)8);
  const i64 p3 = (i64)((u32)i1 / (u32)8);
  f32 a4 = 0.0f;
  const i64 o6 = p3 * 64;
  for (i64 i5 = 0; i5 < 64; i5++) {
    const i64 v7 = o6 + i5;
    const f32 v8 = b0[v7];
    const i64 v9 = p2 + (i5 * 8);
    const f32 v10 = b1[v9];
    a4 = rw_fma_f32(v8, v10, a4);
  }
  b2[i1] = a4;
}

/* contract: sub mul matmul mul sub
   b0: f32[512], b1: f32[16384], b2: f32[2048], b3: f32[2048], writes b4: f32[512] */

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k1_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global const f32 *restrict b2,
    __global const f32 *restrict b3,
    __global f32 *restrict b4) {
  __local f32 tile4[256];
  __local f32 tile5[256];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 64;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  const i64 t2 = (i64)((u32)i1 % (u32)4);
  const i64 n3 = t2 * 16;
  f32 sums6[4];
  { const i64 i7 = 0;
    sums6[i7] = 0.0f;
  }
  { const i64 i7 = 1;
    sums6[i7] = 0.0f;
  }
  { const i64 i7 = 2;
    sums6[i7] = 0.0f;
  }
  { const i64 i7 = 3;
    sums6[i7] = 0.0f;
  }
  for (i64 i8_ = 0; i8_ < 16; i8_++) {
    const i64 k9 = i8_ * 16;
    #pragma unroll 4
    for (i64 i10 = rw_thread; i10 < 256; i10 += rw_threads) {
      const i32 t11 = (i32)((u32)(i32)i10 % (u32)16);
      const i64 t12 = (i64)((u32)i10 / (u32)16);
      const bool ok13 = t11 <= 7;
      const i64 p14 = rw_min_i32(t11, 7);
      const i64 p15 = k9 + t12;
      const i64 v16 = (p15 * 8) + p14;
      const f32 v17 = b2[v16];
      const f32 v18 = b3[v16];
      const f32 v19 = v17 - v18;
      tile4[(t12 * 16) + t11] = ok13 ? v19 : 0.0f;
    }
    #pragma unroll 4
    for (i64 i20 = rw_thread; i20 < 256; i20 += rw_threads) {
      const i64 t21 = (i64)((u32)i20 % (u32)16);
      const i64 t22 = (i64)((u32)i20 / (u32)16);
      const i64 p23 = n3 + t21;
      const i64 p24 = k9 + t22;
      const i64 v25 = (p24 * 64) + p23;
      const f32 v26 = b1[v25];
      tile5[(t22 * 16) + t21] = v26;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (i64 i27 = rw_thread; i27 < 64; i27 += rw_threads) {
      const i64 y28 = (i64)((u32)i27 / (u32)8);
      const i64 x29 = (i64)((u32)i27 % (u32)8);
      for (i64 i30 = 0; i30 < 16; i30++) {
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
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  for (i64 i35 = rw_thread; i35 < 64; i35 += rw_threads) {
    const i32 y36 = (i32)((u32)(i32)i35 / (u32)8);
    const i64 x37 = (i64)((u32)i35 % (u32)8);
    { const i64 i38 = 0;
      { const i64 i40 = 0;
        const i32 p41 = (i32)((u32)(i32)((u32)y36 * (u32)2) + (u32)(i32)i38);
        const i64 p42 = n3 + ((x37 * 2) + i40);
        if (p41 < 8) {
          const f32 r43 = sums6[(i38 * 2) + i40];
          const i64 v44 = (p42 * 8) + p41;
          const f32 v45 = b0[v44];
          const f32 v46 = 0.001f * r43;
          const f32 v47 = v45 - v46;
          b4[v44] = v47;
        }
      }
      { const i64 i40 = 1;
        const i32 p41 = (i32)((u32)(i32)((u32)y36 * (u32)2) + (u32)(i32)i38);
        const i64 p42 = n3 + ((x37 * 2) + i40);
        if (p41 < 8) {
          const f32 r43 = sums6[(i38 * 2) + i40];
          const i64 v44 = (p42 * 8) + p41;
          const f32 v45 = b0[v44];
          const f32 v46 = 0.001f * r43;
          const f32 v47 = v45 - v46;
          b4[v44] = v47;
        }
      }
    }
    { const i64 i38 = 1;
      { const i64 i40 = 0;
        const i32 p41 = (i32)((u32)(i32)((u32)y36 * (u32)2) + (u32)(i32)i38);
        const i64 p42 = n3 + ((x37 * 2) + i40);
        if (p41 < 8) {
          const f32 r43 = sums6[(i38 * 2) + i40];
          const i64 v44 = (p42 * 8) + p41;
          const f32 v45 = b0[v44];
          const f32 v46 = 0.001f * r43;
          const f32 v47 = v45 - v46;
          b4[v44] = v47;
        }
      }
      { const i64 i40 = 1;
        const i32 p41 = (i32)((u32)(i32)((u32)y36 * (u32)2) + (u32)(i32)i38);
        const i64 p42 = n3 + ((x37 * 2) + i40);
        if (p41 < 8) {
          const f32 r43 = sums6[(i38 * 2) + i40];
          const i64 v44 = (p42 * 8) + p41;
          const f32 v45 = b0[v44];
          const f32 v46 = 0.001f * r43;
          const f32 v47 = v45 - v46;
          b4[v44] = v47;
        }
      }
    }
  }
}
