/* row: select max sub exp sum recip mul
   b0: bool[131072], b1: f32[131072], writes b2: f32[131072] */

extern "C" __global__ void __launch_bounds__(32) k0_0(
    const u8 *__restrict__ b0,
    const f32 *__restrict__ b1,
    f32 *__restrict__ b2) {
  rw_begin();
  b2 = (f32 *)__builtin_assume_aligned(b2, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const rw_reduce_a2 = (f32 *)(rw_shared + 0);
  f32 *const row9 = (f32 *)(rw_shared + 16);
  f32 *const rw_reduce_a10 = (f32 *)(rw_shared + 1040);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 32;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  f32 a2 = -__int_as_float(0x7f800000);
  const i32 o4 = i1 * 256;
  #pragma unroll 8
  for (i32 i3 = rw_thread; i3 < 256; i3 += rw_threads) {
    const i32 v5 = o4 + i3;
    const bool v6 = b0[v5];
    const f32 v7 = b1[v5];
    const f32 v8 = v6 ? v7 : (-1e+30f);
    a2 = rw_max_f32(a2, v8);
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a2 = rw_max_f32(a2, (f32)__shfl_xor_sync(0xffffffffu, (f32)a2, rw_s));
  f32 a10 = 0.0f;
  const i32 o12 = i1 * 256;
  #pragma unroll 8
  for (i32 i11 = rw_thread; i11 < 256; i11 += rw_threads) {
    const i32 v13 = o12 + i11;
    const bool v14 = b0[v13];
    const f32 v15 = b1[v13];
    const f32 v16 = v14 ? v15 : (-1e+30f);
    const f32 v17 = v16 - a2;
    const f32 v18 = rw_exp_f32(v17);
    a10 = a10 + v18;
    row9[i11] = v18;
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a10 = (a10 + (f32)__shfl_xor_sync(0xffffffffu, (f32)a10, rw_s));
  const f32 v20 = 1 / a10;
  const i32 o23 = i1 * 256;
  #pragma unroll 8
  for (i32 i19 = rw_thread; i19 < 256; i19 += rw_threads) {
    const f32 v21 = row9[i19];
    const f32 v22 = v21 * v20;
    const i32 v24 = o23 + i19;
    b2[v24] = v22;
  }
}
