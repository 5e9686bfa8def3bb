/* column: mul matmul add relu
   b0: f32[8192], b1: f32[8192], b2: f32[128], writes b3: f32[16384] */

extern "C" __global__ void __launch_bounds__(256) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    f32 *__restrict__ b3) {
  rw_begin();
  const u32 rw_point = (u32)(blockIdx.x * (u64)blockDim.x + threadIdx.x);
  const i32 i1 = rw_point;
  const i32 p2 = (i32)((u32)i1 % (u32)128);
  const i32 p3 = (i32)((u32)i1 / (u32)128);
  f32 a4 = 0.0f;
  const i32 o6 = p3 * 64;
  for (i32 i5 = 0; i5 < 64; i5++) {
    const i32 v7 = o6 + i5;
    const f32 v8 = b0[v7];
    const i32 v9 = p2 + (i5 * 128);
    const f32 v10 = b1[v9];
    a4 = rw_fma_f32(v8, v10, a4);
  }
  const f32 v11 = b2[p2];
  const f32 v12 = a4 + v11;
  const f32 v13 = rw_max_f32(v12, 0.0f);
  b3[i1] = v13;
}
