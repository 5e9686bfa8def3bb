/* map: lt add select max min mul
   b0: i32[128], b1: f32[64000], writes b2: f32[8192] */

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k0_0(
    __global const i32 *restrict b0,
    __global const f32 *restrict b1,
    __global f32 *restrict b2) {
  const i64 rw_point = (i64)get_global_id(0);
  const i64 i1 = rw_point;
  const i64 p2 = (i64)((u32)i1 % (u32)64);
  const i64 p3 = (i64)((u32)i1 / (u32)64);
  const i32 v4 = b0[p3];
  const bool v5 = v4 < 0;
  const i64 v6 = v4 + 1000;
  const i64 v7 = v5 ? (i32)v6 : v4;
  const i64 v8 = rw_max_i32((i32)v7, 0);
  const i64 v9 = rw_min_i32((i32)v8, 999);
  const i64 v10 = (v9 * 64) + p2;
  const f32 v11 = b1[v10];
  const f32 v12 = v11 * 8.0f;
  b2[i1] = v12;
}
