/* full: sum
   b0: f32[262144], writes b1: f32[256], scratch s0: f32[16384] */

extern "C" __global__ void __launch_bounds__(256) k0_0(
    const f32 *__restrict__ b0,
    f32 *__restrict__ b1,
    f32 *__restrict__ s0) {
  rw_begin();
  const u32 rw_point = (u32)(blockIdx.x * (u64)blockDim.x + threadIdx.x);
  const i32 i1 = rw_point;
  const i32 p2 = (i32)((u32)i1 % (u32)256);
  const i32 p3 = (i32)((u32)i1 / (u32)256);
  f32 a4 = 0.0f;
  const i32 o6 = (p3 * 4096) + p2;
  for (i32 i5 = 0; i5 < 16; i5++) {
    const i32 v7 = o6 + (i5 * 256);
    const f32 v8 = b0[v7];
    a4 = a4 + v8;
  }
  s0[i1] = a4;
}

extern "C" __global__ void __launch_bounds__(32) k0_1(
    const f32 *__restrict__ b0,
    f32 *__restrict__ b1,
    f32 *__restrict__ s0) {
  rw_begin();
  b1 = (f32 *)__builtin_assume_aligned(b1, 16);
  s0 = (f32 *)__builtin_assume_aligned(s0, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const rw_reduce_a2 = (f32 *)(rw_shared + 0);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 32;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  f32 a2 = 0.0f;
  #pragma unroll 2
  for (i32 i3 = rw_thread; i3 < 64; i3 += rw_threads) {
    const i32 v4 = i1 + (i3 * 256);
    const f32 v5 = s0[v4];
    a2 = a2 + v5;
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a2 = (a2 + (f32)__shfl_xor_sync(0xffffffffu, (f32)a2, rw_s));
  for (i32 i6 = rw_thread; i6 < 1; i6 += rw_threads) {
    b1[i1] = a2;
  }
}
