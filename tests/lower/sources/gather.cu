/* map: lt add select max min mul
   b0: i32[128], b1: f32[64000], writes b2: f32[8192] */

extern "C" __global__ void __launch_bounds__(256) k0_0(
    const i32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    f32 *__restrict__ b2) {
  rw_begin();
  const u32 rw_point = (u32)(blockIdx.x * (u64)blockDim.x + threadIdx.x);
  const i32 i1 = rw_point;
  const i32 p2 = (i32)((u32)i1 % (u32)64);
  const i32 p3 = (i32)((u32)i1 / (u32)64);
  const i32 v4 = b0[p3];
  const bool v5 = v4 < 0;
  const i32 v6 = v4 + 1000;
  const i32 v7 = v5 ? v6 : v4;
  const i32 v8 = rw_max_i32(v7, 0);
  const i32 v9 = rw_min_i32(v8, 999);
  const i32 v10 = (v9 * 64) + p2;
  const f32 v11 = b1[v10];
  const f32 v12 = v11 * 8.0f;
  b2[i1] = v12;
}
