/* row: max sub exp sum recip mul
   b0: f32[131072], writes b1: f32[131072] */

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global f32 *restrict b1) {
  __local f32 rw_reduce_a2[32];
  __local f32 row7[256];
  __local f32 rw_reduce_a8[32];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 32;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  f32 a2 = -INFINITY;
  const i64 o4 = i1 * 256;
  #pragma unroll 8
  for (i64 i3 = rw_thread; i3 < 256; i3 += rw_threads) {
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
  f32 a8 = 0.0f;
  const i64 o10 = i1 * 256;
  #pragma unroll 8
  for (i64 i9 = rw_thread; i9 < 256; i9 += rw_threads) {
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
  const f32 v16 = 1 / a8;
  const i64 o19 = i1 * 256;
  #pragma unroll 8
  for (i64 i15 = rw_thread; i15 < 256; i15 += rw_threads) {
    const f32 v17 = row7[i15];
    const f32 v18 = v17 * v16;
    const i64 v20 = o19 + i15;
    b1[v20] = v18;
  }
}
