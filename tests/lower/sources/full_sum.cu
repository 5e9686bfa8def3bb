/* full: mul sum
   b0: f32[262144], writes b1: f32[1], scratch s0: f32[256] */

extern "C" __global__ void __launch_bounds__(128) k0_0(
    const f32 *__restrict__ b0,
    f32 *__restrict__ b1,
    f32 *__restrict__ s0) {
  rw_begin();
  b1 = (f32 *)__builtin_assume_aligned(b1, 16);
  s0 = (f32 *)__builtin_assume_aligned(s0, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const rw_reduce_a2 = (f32 *)(rw_shared + 0);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 128;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  f32 a2 = 0.0f;
  const i32 o4 = i1 * 1024;
  #pragma unroll 8
  for (i32 i3 = rw_thread; i3 < 1024; i3 += rw_threads) {
    const i32 v5 = o4 + i3;
    const f32 v6 = b0[v5];
    a2 = rw_fma_f32(v6, v6, a2);
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a2 = (a2 + (f32)__shfl_xor_sync(0xffffffffu, (f32)a2, rw_s));
  if (rw_thread % 32 == 0) rw_reduce_a2[rw_thread / 32] = a2;
  __syncthreads();
  a2 = rw_reduce_a2[0];
  for (i32 rw_w = 1; rw_w < 4; rw_w++) a2 = (a2 + (f32)rw_reduce_a2[rw_w]);
  for (i32 i7 = rw_thread; i7 < 1; i7 += rw_threads) {
    s0[i1] = a2;
  }
}

extern "C" __global__ void __launch_bounds__(128) k0_1(
    const f32 *__restrict__ b0,
    f32 *__restrict__ b1,
    f32 *__restrict__ s0) {
  rw_begin();
  b1 = (f32 *)__builtin_assume_aligned(b1, 16);
  s0 = (f32 *)__builtin_assume_aligned(s0, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const rw_reduce_a2 = (f32 *)(rw_shared + 0);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 128;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  f32 a2 = 0.0f;
  #pragma unroll 2
  for (i32 i3 = rw_thread; i3 < 256; i3 += rw_threads) {
    const f32 v4 = s0[i3];
    a2 = a2 + v4;
  }
  for (i32 rw_s = 16; rw_s > 0; rw_s >>= 1)
    a2 = (a2 + (f32)__shfl_xor_sync(0xffffffffu, (f32)a2, rw_s));
  if (rw_thread % 32 == 0) rw_reduce_a2[rw_thread / 32] = a2;
  __syncthreads();
  a2 = rw_reduce_a2[0];
  for (i32 rw_w = 1; rw_w < 4; rw_w++) a2 = (a2 + (f32)rw_reduce_a2[rw_w]);
  for (i32 i5 = rw_thread; i5 < 1; i5 += rw_threads) {
    b1[0] = a2;
  }
}
