/* column: mul matmul add relu
   b0: f32[8192], b1: f32[8192], b2: f32[128], writes b3: f32[16384] */

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global const f32 *restrict b2,
    __global f32 *restrict b3) {
  const i64 rw_point = (i64)get_global_id(0);
  const i64 i1 = rw_point;
  const i64 p2 = (i64)((u32)i1 % (u32)128);
  const i64 p3 = (i64)((u32)i1 / (u32)128);
  f32 a4 = 0.0f;
  const i64 o6 = p3 * 64;
  for (i64 i5 = 0; i5 < 64; i5++) {
    const i64 v7 = o6 + i5;
    const f32 v8 = b0[v7];
    const i64 v9 = p2 + (i5 * 128);
    const f32 v10 = b1[v9];
    a4 = rw_fma_f32(v8, v10, a4);
  }
  const f32 v11 = b2[p2];
  const f32 v12 = a4 + v11;
  const f32 v13 = rw_max_f32(0.0f, v12) + 0.0f;
  b3[i1] = v13;
}
