/* tileturn: mul
   b0: f32[131072], writes b1: f32[131072] */

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global f32 *restrict b1) {
  __local f32 s6[1056];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 128;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 g0 = rw_point % 16;
  const i64 g1 = rw_point / 16;
  f32 x1t1[8];
  { const i64 t2 = rw_thread;
    const i64 d3 = (i64)((u32)t2 % (u32)32);
    const i64 d4 = (i64)((u32)t2 / (u32)32);
    #pragma unroll 8
    for (i64 j5 = 0; j5 < 8; j5++) {
      x1t1[j5] = b0[(((g1 * 32) + ((j5 * 4) + d4)) * 512) + ((g0 * 32) + d3)];
    }
  }
  f32 x7[8];
  { const i64 t8 = rw_thread;
    const i64 d9 = (i64)((u32)t8 % (u32)32);
    const i64 d10 = (i64)((u32)t8 / (u32)32);
    #pragma unroll 8
    for (i64 j11 = 0; j11 < 8; j11++) {
      s6[((j11 * 4) + d10) + (d9 * 33)] = x1t1[j11];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  { const i64 t12 = rw_thread;
    const i64 d13 = (i64)((u32)t12 % (u32)32);
    const i64 d14 = (i64)((u32)t12 / (u32)32);
    #pragma unroll 8
    for (i64 j15 = 0; j15 < 8; j15++) {
      x7[j15] = s6[d13 + (((j15 * 4) + d14) * 33)];
    }
  }
  { const i64 t16 = rw_thread;
    const i64 d17 = (i64)((u32)t16 % (u32)32);
    const i64 d18 = (i64)((u32)t16 / (u32)32);
    #pragma unroll 8
    for (i64 j19 = 0; j19 < 8; j19++) {
      b1[(((g0 * 32) + ((j19 * 4) + d18)) * 256) + ((g1 * 32) + d17)] = x7[j19] * 2.0f;
    }
  }
}
