/* full: sum
   b0: f32[262144], writes b1: f32[256], scratch s0: f32[16384] */

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global f32 *restrict b1,
    __global f32 *restrict s0) {
  const i64 rw_point = (i64)get_global_id(0);
  const i64 i1 = rw_point;
  const i64 p2 = (i64)((u32)i1 % (u32)256);
  const i64 p3 = (i64)((u32)i1 / (u32)256);
  f32 a4 = 0.0f;
  const i64 o6 = (p3 * 4096) + p2;
  for (i64 i5 = 0; i5 < 16; i5++) {
    const i64 v7 = o6 + (i5 * 256);
    const f32 v8 = b0[v7];
    a4 = a4 + v8;
  }
  s0[i1] = a4;
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void k0_1(
    __global const f32 *restrict b0,
    __global f32 *restrict b1,
    __global f32 *restrict s0) {
  __local f32 rw_reduce_a2[32];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 32;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  f32 a2 = 0.0f;
  #pragma unroll 2
  for (i64 i3 = rw_thread; i3 < 64; i3 += rw_threads) {
    const i64 v4 = i1 + (i3 * 256);
    const f32 v5 = s0[v4];
    a2 = a2 + v5;
  }
  rw_reduce_a2[rw_thread] = a2;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) rw_reduce_a2[rw_thread] = (rw_reduce_a2[rw_thread] + rw_reduce_a2[rw_thread + rw_s]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  a2 = rw_reduce_a2[0];
  for (i64 i6 = rw_thread; i6 < 1; i6 += rw_threads) {
    b1[i1] = a2;
  }
}
