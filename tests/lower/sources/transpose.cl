/* transpose: mul
   b0: f32[131072], writes b1: f32[131072] */

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global f32 *restrict b1) {
  __local f32 tile6[1056];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 256;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 i1 = rw_point;
  const i64 t2 = (i64)((u32)i1 % (u32)8);
  const i64 t3 = (i64)((u32)(i64)((u32)i1 / (u32)8) % (u32)16);
  const i64 o4 = t3 * 32;
  const i64 o5 = t2 * 32;
  #pragma unroll 4
  for (i64 i7 = rw_thread; i7 < 1024; i7 += rw_threads) {
    const i64 p8 = o4 + (i64)((u32)i7 % (u32)32);
    const i64 p9 = o5 + (i64)((u32)i7 / (u32)32);
    const i64 v10 = (p9 * 512) + p8;
    const f32 v11 = b0[v10];
    tile6[((i64)((u32)i7 / (u32)32) * 33) + (i64)((u32)i7 % (u32)32)] = v11;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  #pragma unroll 4
  for (i64 i12 = rw_thread; i12 < 1024; i12 += rw_threads) {
    const i64 o13 = ((i64)((u32)i12 % (u32)32) * 33) + (i64)((u32)i12 / (u32)32);
    const i64 p14 = o4 + (i64)((u32)i12 / (u32)32);
    const i64 p15 = o5 + (i64)((u32)i12 % (u32)32);
    const f32 v16 = tile6[o13];
    const f32 v17 = v16 * 2.0f;
    const i64 v18 = (p14 * 256) + p15;
    b1[v18] = v17;
  }
}
