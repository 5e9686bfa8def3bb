/* map: add gelu
   b0: f32[262144], b1: f32[64], writes b2: f32[262144] */

extern "C" __global__ void __launch_bounds__(256) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    f32 *__restrict__ b2) {
  rw_begin();
  const u32 rw_point = (u32)(blockIdx.x * (u64)blockDim.x + threadIdx.x);
  const i32 i1 = rw_point;
  const i32 p2 = (i32)((u32)i1 % (u32)64);
  const i32 p3 = (i32)((u32)i1 / (u32)64);
  const f32 v4 = b0[i1];
  const f32 v5 = b1[p2];
  const f32 v6 = v4 + v5;
  const f32 v7 = (0.5f * v6) * (1.0f + rw_erf_f32((v6 * 0.70710677f)));
  b2[i1] = v7;
}
