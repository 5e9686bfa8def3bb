/* tileturn: mul
   b0: f32[131072], writes b1: f32[131072] */

extern "C" __global__ void __launch_bounds__(128) k0_0(
    const f32 *__restrict__ b0,
    f32 *__restrict__ b1) {
  rw_begin();
  b1 = (f32 *)__builtin_assume_aligned(b1, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const s6 = (f32 *)(rw_shared + 0);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 128;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 g0 = rw_point % 16;
  const i32 g1 = rw_point / 16;
  __align__(16) f32 x1t1[8];
  { const i32 t2 = rw_thread;
    const i32 d3 = (i32)((u32)t2 % (u32)32);
    const i32 d4 = (i32)((u32)t2 / (u32)32);
    #pragma unroll 8
    for (i32 j5 = 0; j5 < 8; j5++) {
      x1t1[j5] = b0[(((g1 * 32) + ((j5 * 4) + d4)) * 512) + ((g0 * 32) + d3)];
    }
  }
  __align__(16) f32 x7[8];
  { const i32 t8 = rw_thread;
    const i32 d9 = (i32)((u32)t8 % (u32)32);
    const i32 d10 = (i32)((u32)t8 / (u32)32);
    #pragma unroll 8
    for (i32 j11 = 0; j11 < 8; j11++) {
      s6[((j11 * 4) + d10) + (d9 * 33)] = x1t1[j11];
    }
  }
  __syncthreads();
  { const i32 t12 = rw_thread;
    const i32 d13 = (i32)((u32)t12 % (u32)32);
    const i32 d14 = (i32)((u32)t12 / (u32)32);
    #pragma unroll 8
    for (i32 j15 = 0; j15 < 8; j15++) {
      x7[j15] = s6[d13 + (((j15 * 4) + d14) * 33)];
    }
  }
  { const i32 t16 = rw_thread;
    const i32 d17 = (i32)((u32)t16 % (u32)32);
    const i32 d18 = (i32)((u32)t16 / (u32)32);
    #pragma unroll 8
    for (i32 j19 = 0; j19 < 8; j19++) {
      b1[(((g0 * 32) + ((j19 * 4) + d18)) * 256) + ((g1 * 32) + d17)] = x7[j19] * 2.0f;
    }
  }
}
