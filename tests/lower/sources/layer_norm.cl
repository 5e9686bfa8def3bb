/* row: sum mul sub mul sum mul add sqrt recip mul mul add
   b0: f32[131072], b1: f32[256], b2: f32[256], writes b3: f32[131072] */

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global const f32 *restrict b2,
    __global f32 *restrict b3) {
  __local f32 rw_reduce_a2[32];
  __local f32 rw_reduce_a7[32];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 32;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  f32 a2 = 0.0f;
  const i64 o4 = i1 * 256;
  #pragma unroll 8
  for (i64 i3 = rw_thread; i3 < 256; i3 += rw_threads) {
    const i64 v5 = o4 + i3;
    const f32 v6 = b0[v5];
    a2 = a2 + v6;
  }
  rw_reduce_a2[rw_thread] = a2;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) rw_reduce_a2[rw_thread] = (rw_reduce_a2[rw_thread] + rw_reduce_a2[rw_thread + rw_s]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  a2 = rw_reduce_a2[0];
  f32 a7 = 0.0f;
  const i64 o9 = i1 * 256;
  const f32 v12 = a2 * 0.00390625f;
  #pragma unroll 8
  for (i64 i8_ = rw_thread; i8_ < 256; i8_ += rw_threads) {
    const i64 v10 = o9 + i8_;
    const f32 v11 = b0[v10];
    const f32 v13 = v11 - v12;
    a7 = rw_fma_f32(v13, v13, a7);
  }
  rw_reduce_a7[rw_thread] = a7;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) rw_reduce_a7[rw_thread] = (rw_reduce_a7[rw_thread] + rw_reduce_a7[rw_thread + rw_s]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  a7 = rw_reduce_a7[0];
  const i64 o15 = i1 * 256;
  const f32 v19 = a7 * 0.00390625f;
  const f32 v20 = v19 + 1e-05f;
  const f32 v21 = rw_sqrt_f32(v20);
  const f32 v22 = 1 / v21;
  #pragma unroll 8
  for (i64 i14 = rw_thread; i14 < 256; i14 += rw_threads) {
    const i64 v16 = o15 + i14;
    const f32 v17 = b0[v16];
    const f32 v18 = v17 - v12;
    const f32 v23 = v18 * v22;
    const f32 v24 = b1[i14];
    const f32 v25 = v23 * v24;
    const f32 v26 = b2[i14];
    const f32 v27 = v25 + v26;
    b3[v16] = v27;
  }
}
