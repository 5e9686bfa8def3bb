/* map: add gelu
   b0: f32[262144], b1: f32[64], writes b2: f32[262144] */

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global f32 *restrict b2) {
  const i64 rw_point = (i64)get_global_id(0);
  const i64 i1 = rw_point;
  const i64 p2 = (i64)((u32)i1 % (u32)64);
  const i64 p3 = (i64)((u32)i1 / (u32)64);
  const f32 v4 = b0[i1];
  const f32 v5 = b1[p2];
  const f32 v6 = v4 + v5;
  const f32 v7 = (0.5f * v6) * (1.0f + rw_erf_f32((v6 * 0.70710677f)));
  b2[i1] = v7;
}
