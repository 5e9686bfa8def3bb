/* full: mul sum
   b0: f32[262144], writes b1: f32[1], scratch s0: f32[256] */

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global f32 *restrict b1,
    __global f32 *restrict s0) {
  __local f32 rw_reduce_a2[128];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 128;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  f32 a2 = 0.0f;
  const i64 o4 = i1 * 1024;
  #pragma unroll 8
  for (i64 i3 = rw_thread; i3 < 1024; i3 += rw_threads) {
    const i64 v5 = o4 + i3;
    const f32 v6 = b0[v5];
    a2 = rw_fma_f32(v6, v6, a2);
  }
  rw_reduce_a2[rw_thread] = a2;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i32 rw_s = 64; rw_s > 0; rw_s >>= 1) {
    if (rw_thread < rw_s && rw_thread + rw_s < 128) rw_reduce_a2[rw_thread] = (rw_reduce_a2[rw_thread] + rw_reduce_a2[rw_thread + rw_s]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  a2 = rw_reduce_a2[0];
  for (i64 i7 = rw_thread; i7 < 1; i7 += rw_threads) {
    s0[i1] = a2;
  }
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void k0_1(
    __global const f32 *restrict b0,
    __global f32 *restrict b1,
    __global f32 *restrict s0) {
  __local f32 rw_reduce_a2[128];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 128;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  f32 a2 = 0.0f;
  #pragma unroll 2
  for (i64 i3 = rw_thread; i3 < 256; i3 += rw_threads) {
    const f32 v4 = s0[i3];
    a2 = a2 + v4;
  }
  rw_reduce_a2[rw_thread] = a2;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i32 rw_s = 64; rw_s > 0; rw_s >>= 1) {
    if (rw_thread < rw_s && rw_thread + rw_s < 128) rw_reduce_a2[rw_thread] = (rw_reduce_a2[rw_thread] + rw_reduce_a2[rw_thread + rw_s]);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  a2 = rw_reduce_a2[0];
  for (i64 i5 = rw_thread; i5 < 1; i5 += rw_threads) {
    b1[0] = a2;
  }
}
