/* contract: mul matmul sub
   b0: f32[16384], b1: f32[512], b2: f32[2048], writes b3: f32[2048] */

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global const f32 *restrict b2,
    __global f32 *restrict b3) {
  __local f32 tile4[320];
  __local f32 tile5[256];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 64;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  const i64 t2 = (i64)((u32)i1 % (u32)16);
  const i64 m3 = t2 * 16;
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
  for (i64 i8_ = 0; i8_ < 4; i8_++) {
    const i64 k9 = i8_ * 16;
    #pragma unroll 4
    for (i64 i10 = rw_thread; i10 < 256; i10 += rw_threads) {
      const i64 t11 = (i64)((u32)i10 % (u32)16);
      const i64 t12 = (i64)((u32)i10 / (u32)16);
      const i64 p13 = m3 + t12;
      const i64 p14 = k9 + t11;
      const i64 v15 = (p13 * 64) + p14;
      const f32 v16 = b0[v15];
      tile4[(t11 * 20) + t12] = v16;
    }
    #pragma unroll 4
    for (i64 i17 = rw_thread; i17 < 256; i17 += rw_threads) {
      const i32 t18 = (i32)((u32)(i32)i17 % (u32)16);
      const i64 t19 = (i64)((u32)i17 / (u32)16);
      const bool ok20 = t18 <= 7;
      const i64 p21 = rw_min_i32(t18, 7);
      const i64 p22 = k9 + t19;
      const i64 v23 = (p22 * 8) + p21;
      const f32 v24 = b1[v23];
      tile5[(t19 * 16) + t18] = ok20 ? v24 : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (i64 i25 = rw_thread; i25 < 64; i25 += rw_threads) {
      const i64 y26 = (i64)((u32)i25 / (u32)8);
      const i64 x27 = (i64)((u32)i25 % (u32)8);
      for (i64 i28 = 0; i28 < 16; i28++) {
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
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  for (i64 i33 = rw_thread; i33 < 64; i33 += rw_threads) {
    const i64 y34 = (i64)((u32)i33 / (u32)8);
    const i32 x35 = (i32)((u32)(i32)i33 % (u32)8);
    { const i64 i36 = 0;
      { const i64 i38 = 0;
        const i64 p39 = (m3 + (y34 * 2)) + i36;
        const i32 p40 = (i32)((u32)(i32)((u32)x35 * (u32)2) + (u32)(i32)i38);
        if (p40 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i64 v42 = (p39 * 8) + p40;
          const f32 v43 = b2[v42];
          const f32 v44 = r41 - v43;
          const i64 v45 = (p40 * 256) + p39;
          b3[v45] = v44;
        }
      }
      { const i64 i38 = 1;
        const i64 p39 = (m3 + (y34 * 2)) + i36;
        const i32 p40 = (i32)((u32)(i32)((u32)x35 * (u32)2) + (u32)(i32)i38);
        if (p40 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i64 v42 = (p39 * 8) + p40;
          const f32 v43 = b2[v42];
          const f32 v44 = r41 - v43;
          const i64 v45 = (p40 * 256) + p39;
          b3[v45] = v44;
        }
      }
    }
    { const i64 i36 = 1;
      { const i64 i38 = 0;
        const i64 p39 = (m3 + (y34 * 2)) + i36;
        const i32 p40 = (i32)((u32)(i32)((u32)x35 * (u32)2) + (u32)(i32)i38);
        if (p40 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i64 v42 = (p39 * 8) + p40;
          const f32 v43 = b2[v42];
          const f32 v44 = r41 - v43;
          const i64 v45 = (p40 * 256) + p39;
          b3[v45] = v44;
        }
      }
      { const i64 i38 = 1;
        const i64 p39 = (m3 + (y34 * 2)) + i36;
        const i32 p40 = (i32)((u32)(i32)((u32)x35 * (u32)2) + (u32)(i32)i38);
        if (p40 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i64 v42 = (p39 * 8) + p40;
          const f32 v43 = b2[v42];
          const f32 v44 = r41 - v43;
          const i64 v45 = (p40 * 256) + p39;
          b3[v45] = v44;
        }
      }
    }
  }
}

/* contract: mul matmul mul sub
   b0: f32[512], b1: f32[16384], b2: f32[2048], writes b3: f32[512] */

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k1_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global const f32 *restrict b2,
    __global f32 *restrict b3) {
  __local f32 tile4[320];
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
      const i64 t11 = (i64)((u32)i10 % (u32)16);
      const i32 t12 = (i32)((u32)(i32)i10 / (u32)16);
      const bool ok13 = t12 <= 7;
      const i64 p14 = rw_min_i32(t12, 7);
      const i64 p15 = k9 + t11;
      const i64 v16 = (p14 * 256) + p15;
      const f32 v17 = b2[v16];
      tile4[(t11 * 20) + t12] = ok13 ? v17 : 0.0f;
    }
    #pragma unroll 4
    for (i64 i18 = rw_thread; i18 < 256; i18 += rw_threads) {
      const i64 t19 = (i64)((u32)i18 % (u32)16);
      const i64 t20 = (i64)((u32)i18 / (u32)16);
      const i64 p21 = n3 + t19;
      const i64 p22 = k9 + t20;
      const i64 v23 = (p22 * 64) + p21;
      const f32 v24 = b1[v23];
      tile5[(t20 * 16) + t19] = v24;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (i64 i25 = rw_thread; i25 < 64; i25 += rw_threads) {
      const i64 y26 = (i64)((u32)i25 / (u32)8);
      const i64 x27 = (i64)((u32)i25 % (u32)8);
      for (i64 i28 = 0; i28 < 16; i28++) {
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
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  for (i64 i33 = rw_thread; i33 < 64; i33 += rw_threads) {
    const i32 y34 = (i32)((u32)(i32)i33 / (u32)8);
    const i64 x35 = (i64)((u32)i33 % (u32)8);
    { const i64 i36 = 0;
      { const i64 i38 = 0;
        const i32 p39 = (i32)((u32)(i32)((u32)y34 * (u32)2) + (u32)(i32)i36);
        const i64 p40 = n3 + ((x35 * 2) + i38);
        if (p39 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i64 v42 = (p40 * 8) + p39;
          const f32 v43 = b0[v42];
          const f32 v44 = 0.001f * r41;
          const f32 v45 = v43 - v44;
          b3[v42] = v45;
        }
      }
      { const i64 i38 = 1;
        const i32 p39 = (i32)((u32)(i32)((u32)y34 * (u32)2) + (u32)(i32)i36);
        const i64 p40 = n3 + ((x35 * 2) + i38);
        if (p39 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i64 v42 = (p40 * 8) + p39;
          const f32 v43 = b0[v42];
          const f32 v44 = 0.001f * r41;
          const f32 v45 = v43 - v44;
          b3[v42] = v45;
        }
      }
    }
    { const i64 i36 = 1;
      { const i64 i38 = 0;
        const i32 p39 = (i32)((u32)(i32)((u32)y34 * (u32)2) + (u32)(i32)i36);
        const i64 p40 = n3 + ((x35 * 2) + i38);
        if (p39 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i64 v42 = (p40 * 8) + p39;
          const f32 v43 = b0[v42];
          const f32 v44 = 0.001f * r41;
          const f32 v45 = v43 - v44;
          b3[v42] = v45;
        }
      }
      { const i64 i38 = 1;
        const i32 p39 = (i32)((u32)(i32)((u32)y34 * (u32)2) + (u32)(i32)i36);
        const i64 p40 = n3 + ((x35 * 2) + i38);
        if (p39 < 8) {
          const f32 r41 = sums6[(i36 * 2) + i38];
          const i64 v42 = (p40 * 8) + p39;
          const f32 v43 = b0[v42];
          const f32 v44 = 0.001f * r41;
          const f32 v45 = v43 - v44;
          b3[v42] = v45;
        }
      }
    }
  }
}
