/* transpose: mul
   b0: f32[131072], writes b1: f32[131072] */

extern "C" __global__ void __launch_bounds__(256) k0_0(
    const f32 *__restrict__ b0,
    f32 *__restrict__ b1) {
  b1 = (f32 *)__builtin_assume_aligned(b1, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const tile6 = (f32 *)(rw_shared + 0);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 256;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 i1 = rw_point;
  const i32 t2 = (i32)((u32)i1 % (u32)8);
  const i32 t3 = (i32)((u32)(i32)((u32)i1 / (u32)8) % (u32)16);
  const i32 o4 = t3 * 32;
  const i32 o5 = t2 * 32;
  #pragma unroll 4
  for (i32 i7 = rw_thread; i7 < 1024; i7 += rw_threads) {
    const i32 p8 = o4 + (i32)((u32)i7 % (u32)32);
    const i32 p9 = o5 + (i32)((u32)i7 / (u32)32);
    const i32 v10 = (p9 * 512) + p8;
    const f32 v11 = b0[v10];
    tile6[((i32)((u32)i7 / (u32)32) * 33) + (i32)((u32)i7 % (u32)32)] = v11;
  }
  __syncthreads();
  #pragma unroll 4
  for (i32 i12 = rw_thread; i12 < 1024; i12 += rw_threads) {
    const i32 o13 = ((i32)((u32)i12 % (u32)32) * 33) + (i32)((u32)i12 / (u32)32);
    const i32 p14 = o4 + (i32)((u32)i12 / (u32)32);
    const i32 p15 = o5 + (i32)((u32)i12 % (u32)32);
    const f32 v16 = tile6[o13];
    const f32 v17 = v16 * 2.0f;
    const i32 v18 = (p14 * 256) + p15;
    b1[v18] = v17;
  }
}
