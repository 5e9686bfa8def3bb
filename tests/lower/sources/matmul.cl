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
  { const i64 i9 = 0;
    sums8[i9] = 0.0f;
  }
  { const i64 i9 = 1;
    sums8[i9] = 0.0f;
  }
  { const i64 i9 = 2;
    sums8[i9] = 0.0f;
  }
  { const i64 i9 = 3;
    sums8[i9] = 0.0f;
  }
  { const i64 i9 = 4;
    sums8[i9] = 0.0f;
  }
  { const i64 i9 = 5;
    sums8[i9] = 0.0f;
  }
  { const i64 i9 = 6;
    sums8[i9] = 0.0f;
  }
  { const i64 i9 = 7;
    sums8[i9] = 0.0f;
  }
  for (i64 i10 = 0; i10 < 4; i10++) {
    const i64 k11 = i10 * 32;
    #pragma unroll 8
    for (i64 i12 = rw_thread; i12 < 1024; i12 += rw_threads) {
      const i64 t13 = (i64)((u32)i12 % (u32)32);
      const i64 t14 = (i64)((u32)i12 / (u32)32);
      const i64 p15 = m4 + t14;
      const i64 p16 = k11 + t13;
      const i64 v17 = (p15 * 128) + p16;
      const f32 v18 = b0[v17];
      tile6[(t13 * 36) + t14] = v18;
    }
    #pragma unroll 8
    for (i64 i19 = rw_thread; i19 < 1024; i19 += rw_threads) {
      const i64 t20 = (i64)((u32)i19 % (u32)32);
      const i64 t21 = (i64)((u32)i19 / (u32)32);
      const i64 p22 = n5 + t20;
      const i64 p23 = k11 + t21;
      const i64 v24 = (p23 * 192) + p22;
      const f32 v25 = b1[v24];
      tile7[(t21 * 32) + t20] = v25;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (i64 i26 = rw_thread; i26 < 128; i26 += rw_threads) {
      const i64 y27 = (i64)((u32)i26 / (u32)16);
      const i64 x28 = (i64)((u32)i26 % (u32)16);
      for (i64 i29 = 0; i29 < 32; i29++) {
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
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  for (i64 i36 = rw_thread; i36 < 128; i36 += rw_threads) {
    const i64 y37 = (i64)((u32)i36 / (u32)16);
    const i64 x38 = (i64)((u32)i36 % (u32)16);
    { const i64 i39 = 0;
      { const i64 i41 = 0;
        const i64 p42 = (m4 + (y37 * 4)) + i39;
        const i64 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i64 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
      { const i64 i41 = 1;
        const i64 p42 = (m4 + (y37 * 4)) + i39;
        const i64 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i64 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
    }
    { const i64 i39 = 1;
      { const i64 i41 = 0;
        const i64 p42 = (m4 + (y37 * 4)) + i39;
        const i64 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i64 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
      { const i64 i41 = 1;
        const i64 p42 = (m4 + (y37 * 4)) + i39;
        const i64 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i64 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
    }
    { const i64 i39 = 2;
      { const i64 i41 = 0;
        const i64 p42 = (m4 + (y37 * 4)) + i39;
        const i64 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i64 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
      { const i64 i41 = 1;
        const i64 p42 = (m4 + (y37 * 4)) + i39;
        const i64 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i64 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
    }
    { const i64 i39 = 3;
      { const i64 i41 = 0;
        const i64 p42 = (m4 + (y37 * 4)) + i39;
        const i64 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i64 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
      { const i64 i41 = 1;
        const i64 p42 = (m4 + (y37 * 4)) + i39;
        const i64 p43 = n5 + ((x38 * 2) + i41);
        const f32 r44 = sums8[(i39 * 2) + i41];
        const i64 v45 = (p42 * 192) + p43;
        b2[v45] = r44;
      }
    }
  }
}
