/* contract: mul matmul
   b0: f32[32768], b1: f32[24576], writes b2: f32[49152] */

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global f32 *restrict b2) {
  __local f32 tile6[1152];
  __local f32 tile7[1024];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 128;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  const i64 t2 = (i64)((u32)i1 % (u32)6);
  const i64 t3 = (i64)((u32)(i64)((u32)i1 / (u32)6) % (u32)8);
  const i64 m4 = t3 * 32;
  const i64 n5 = t2 * 32;
  f32 sums8[8];
  #pragma unroll 8
  for (i64 i9 = 0; i9 < 8; i9++) {
    sums8[i9] = 0.0f;
  }
  #pragma unroll 8
  for (i64 i10 = rw_thread; i10 < 1024; i10 += rw_threads) {
    const i64 t11 = (i64)((u32)i10 % (u32)32);
    const i64 t12 = (i64)((u32)i10 / (u32)32);
    const i64 p13 = m4 + t12;
    const i64 v14 = (p13 * 128) + t11;
    const f32 v15 = b0[v14];
    tile6[(t11 * 36) + t12] = v15;
  }
  #pragma unroll 8
  for (i64 i16_ = rw_thread; i16_ < 1024; i16_ += rw_threads) {
    const i64 t17 = (i64)((u32)i16_ % (u32)32);
    const i64 t18 = (i64)((u32)i16_ / (u32)32);
    const i64 p19 = n5 + t17;
    const i64 v20 = (t18 * 192) + p19;
    const f32 v21 = b1[v20];
    tile7[(t18 * 32) + t17] = v21;
  }
  f32 held22[8];
  f32 held23[8];
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i64 i24 = 0; i24 < 4; i24++) {
    const i32 k25 = (i32)((u32)(i32)i24 + (u32)1);
    const bool ok26 = k25 < 4;
    if (ok26) {
      const i64 k27 = k25 * 32;
      { const i64 i28 = rw_thread;
        #pragma unroll 8
        for (i64 i29 = 0; i29 < 8; i29++) {
          const i64 t30 = i28 + (i29 * 128);
          const i64 t31 = (i64)((u32)t30 % (u32)32);
          const i64 t32 = (i64)((u32)t30 / (u32)32);
          const i64 p33 = m4 + t32;
          const i64 p34 = k27 + t31;
          const i64 v35 = (p33 * 128) + p34;
          const f32 v36 = b0[v35];
          held22[i29] = v36;
        }
      }
      { const i64 i37 = rw_thread;
        #pragma unroll 8
        for (i64 i38 = 0; i38 < 8; i38++) {
          const i64 t39 = i37 + (i38 * 128);
          const i64 t40 = (i64)((u32)t39 % (u32)32);
          const i64 t41 = (i64)((u32)t39 / (u32)32);
          const i64 p42 = n5 + t40;
          const i64 p43 = k27 + t41;
          const i64 v44 = (p43 * 192) + p42;
          const f32 v45 = b1[v44];
          held23[i38] = v45;
        }
      }
    }
    { const i64 i46 = rw_thread;
      const i64 y47 = (i64)((u32)i46 / (u32)16);
      const i64 x48 = (i64)((u32)i46 % (u32)16);
      for (i64 i49 = 0; i49 < 32; i49++) {
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
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (ok26) {
      { const i64 i56 = rw_thread;
        #pragma unroll 8
        for (i64 i57 = 0; i57 < 8; i57++) {
          const i64 t58 = i56 + (i57 * 128);
          const i64 t59 = (i64)((u32)t58 % (u32)32);
          const i64 t60 = (i64)((u32)t58 / (u32)32);
          tile6[(t59 * 36) + t60] = held22[i57];
        }
      }
      { const i64 i61 = rw_thread;
        #pragma unroll 8
        for (i64 i62 = 0; i62 < 8; i62++) {
          const i64 t63 = i61 + (i62 * 128);
          const i64 t64 = (i64)((u32)t63 % (u32)32);
          const i64 t65 = (i64)((u32)t63 / (u32)32);
          tile7[(t65 * 32) + t64] = held23[i62];
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  { const i64 i66 = rw_thread;
    const i64 y67 = (i64)((u32)i66 / (u32)16);
    const i64 x68 = (i64)((u32)i66 % (u32)16);
    #pragma unroll 4
    for (i64 i69 = 0; i69 < 4; i69++) {
      #pragma unroll 2
      for (i64 i71 = 0; i71 < 2; i71++) {
        const i64 p72 = (m4 + (y67 * 4)) + i69;
        const i64 p73 = n5 + ((x68 * 2) + i71);
        const f32 r74 = sums8[(i69 * 2) + i71];
        const i64 v75 = (p72 * 192) + p73;
        b2[v75] = r74;
      }
    }
  }
}
