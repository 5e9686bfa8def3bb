/* row: select max sub exp sum recip mul
   b0: bool[131072], b1: f32[131072], writes b2: f32[131072] */

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k0_0(
    __global const u8 *restrict b0,
    __global const f32 *restrict b1,
    __global f32 *restrict b2) {
  __local f32 rw_reduce_a2[32];
  __local f32 row9[256];
  __local f32 rw_reduce_a10[32];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 32;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  f32 a2 = -INFINITY;
  const i64 o4 = i1 * 256;
  #pragma unroll 8
  for (i64 i3 = rw_thread; i3 < 256; i3 += rw_threads) {
    const i64 v5 = o4 + i3;
    const bool v6 = b0[v5];
    const f32 v7 = b1[v5];
    const f32 v8 = v6 ? v7 : (-1e+30f);
    a2 = rw_max_f32(a2, v8);
  }
  rw_reduce_a2[rw_thread] = a2;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) rw_reduce_a2[rw_thread] = rw_max_f32(rw_reduce_a2[rw_thread], rw_reduce_a2[rw_thread + rw_s]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  a2 = rw_reduce_a2[0];
  f32 a10 = 0.0f;
  const i64 o12 = i1 * 256;
  #pragma unroll 8
  for (i64 i11 = rw_thread; i11 < 256; i11 += rw_threads) {
    const i64 v13 = o12 + i11;
    const bool v14 = b0[v13];
    const f32 v15 = b1[v13];
    const f32 v16 = v14 ? v15 : (-1e+30f);
    const f32 v17 = v16 - a2;
    const f32 v18 = rw_exp_f32(v17);
    a10 = a10 + v18;
    row9[i11] = v18;
  }
  rw_reduce_a10[rw_thread] = a10;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) rw_reduce_a10[rw_thread] = (rw_reduce_a10[rw_thread] + rw_reduce_a10[rw_thread + rw_s]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  a10 = rw_reduce_a10[0];
  const f32 v20 = 1 / a10;
  const i64 o23 = i1 * 256;
  #pragma unroll 8
  for (i64 i19 = rw_thread; i19 < 256; i19 += rw_threads) {
    const f32 v21 = row9[i19];
    const f32 v22 = v21 * v20;
    const i64 v24 = o23 + i19;
    b2[v24] = v22;
  }
}
