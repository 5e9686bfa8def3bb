/* tilecontract: mul matmul sub
   b0: f32[16384], b1: f32[512], b2: f32[2048], writes b3: f32[2048] */

extern "C" __global__ void __launch_bounds__(64) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    f32 *__restrict__ b3) {
  rw_begin();
  b3 = (f32 *)__builtin_assume_aligned(b3, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const s7 = (f32 *)(rw_shared + 0);
  f32 *const s8 = (f32 *)(rw_shared + 2560);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 64;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 g0 = rw_point % 8;
  const i32 o0 = rw_point / 8;
  __align__(16) f32 a1[4];
  { const i32 t2 = rw_thread;
    const i32 d3 = (i32)((u32)t2 % (u32)8);
    const i32 d4 = (i32)((u32)t2 / (u32)8);
    #pragma unroll 2
    for (i32 j5 = 0; j5 < 2; j5++) {
      #pragma unroll 2
      for (i32 j6 = 0; j6 < 2; j6++) {
        a1[(j5 * 2) + j6] = 0.0f;
      }
    }
  }
  __align__(16) f32 s1r9[4];
  { const i32 t10 = rw_thread;
    const i32 d11 = (i32)((u32)t10 % (u32)16);
    const i32 d12 = (i32)((u32)t10 / (u32)16);
    #pragma unroll 4
    for (i32 j13 = 0; j13 < 4; j13++) {
      s1r9[j13] = b0[(((((o0 * 8) + g0) * 16) + ((j13 * 4) + d12)) * 64) + d11];
    }
  }
  __align__(16) f32 s3r14[4];
  { const i32 t15 = rw_thread;
    const i32 d16 = (i32)((u32)t15 % (u32)16);
    const i32 d17 = (i32)((u32)t15 / (u32)16);
    #pragma unroll 4
    for (i32 j18 = 0; j18 < 4; j18++) {
      s3r14[j18] = 0.0f;
      if (d16 < 8) {
        s3r14[j18] = b1[(((j18 * 4) + d17) * 8) + d16];
      }
    }
  }
  { const i32 t19 = rw_thread;
    const i32 d20 = (i32)((u32)t19 % (u32)16);
    const i32 d21 = (i32)((u32)t19 / (u32)16);
    #pragma unroll 4
    for (i32 j22 = 0; j22 < 4; j22++) {
      s7[(d20 * 20) + ((j22 * 4) + d21)] = s1r9[j22];
    }
  }
  { const i32 t23 = rw_thread;
    const i32 d24 = (i32)((u32)t23 % (u32)16);
    const i32 d25 = (i32)((u32)t23 / (u32)16);
    #pragma unroll 4
    for (i32 j26 = 0; j26 < 4; j26++) {
      s8[(((j26 * 4) + d25) * 20) + d24] = s3r14[j26];
    }
  }
  __syncthreads();
  for (i32 l2 = 0; l2 < 64; l2 += 16) {
    const i32 n27 = (i32)((u32)(i32)((u32)l2 / (u32)16) % (u32)2);
    const i32 n28 = (i32)((u32)((i32)((u32)l2 / (u32)16) + 1) % (u32)2);
    const i32 k29 = (i32)((u32)l2 + (u32)16);
    __align__(16) f32 s1r30[4];
    { const i32 t31 = rw_thread;
      if (k29 < 64) {
        const i32 d32 = (i32)((u32)t31 % (u32)16);
        const i32 d33 = (i32)((u32)t31 / (u32)16);
        #pragma unroll 4
        for (i32 j34 = 0; j34 < 4; j34++) {
          s1r30[j34] = b0[(((((o0 * 8) + g0) * 16) + ((j34 * 4) + d33)) * 64) + (k29 + d32)];
        }
      }
    }
    __align__(16) f32 s3r35[4];
    { const i32 t36 = rw_thread;
      if (k29 < 64) {
        const i32 d37 = (i32)((u32)t36 % (u32)16);
        const i32 d38 = (i32)((u32)t36 / (u32)16);
        #pragma unroll 4
        for (i32 j39 = 0; j39 < 4; j39++) {
          s3r35[j39] = 0.0f;
          if (d37 < 8) {
            s3r35[j39] = b1[((k29 + ((j39 * 4) + d38)) * 8) + d37];
          }
        }
      }
    }
    { const i32 t40 = rw_thread;
      const i32 d41 = (i32)((u32)t40 % (u32)8);
      const i32 d42 = (i32)((u32)t40 / (u32)8);
      for (i32 k43 = 0; k43 < 16; k43++) {
        const f32 f44 = s7[(n27 * 320) + ((k43 * 20) + (d42 * 2))];
        const f32 f45 = s7[(n27 * 320) + ((k43 * 20) + ((d42 * 2) + 1))];
        const f32 f46 = s8[(n27 * 320) + ((k43 * 20) + (d41 * 2))];
        const f32 f47 = s8[(n27 * 320) + ((k43 * 20) + ((d41 * 2) + 1))];
        a1[0] = rw_fma_f32(f44, f46, a1[0]);
        a1[1] = rw_fma_f32(f44, f47, a1[1]);
        a1[2] = rw_fma_f32(f45, f46, a1[2]);
        a1[3] = rw_fma_f32(f45, f47, a1[3]);
      }
    }
    __syncthreads();
    { const i32 t48 = rw_thread;
      if (k29 < 64) {
        const i32 d49 = (i32)((u32)t48 % (u32)16);
        const i32 d50 = (i32)((u32)t48 / (u32)16);
        #pragma unroll 4
        for (i32 j51 = 0; j51 < 4; j51++) {
          s7[(n28 * 320) + ((d49 * 20) + ((j51 * 4) + d50))] = s1r30[j51];
        }
      }
    }
    { const i32 t52 = rw_thread;
      if (k29 < 64) {
        const i32 d53 = (i32)((u32)t52 % (u32)16);
        const i32 d54 = (i32)((u32)t52 / (u32)16);
        #pragma unroll 4
        for (i32 j55 = 0; j55 < 4; j55++) {
          s8[(n28 * 320) + ((((j55 * 4) + d54) * 20) + d53)] = s3r35[j55];
        }
      }
    }
    __syncthreads();
  }
  __align__(16) f32 x56[4];
  { const i32 t57 = rw_thread;
    const i32 d58 = (i32)((u32)t57 % (u32)8);
    const i32 d59 = (i32)((u32)t57 / (u32)8);
    #pragma unroll 2
    for (i32 j60 = 0; j60 < 2; j60++) {
      #pragma unroll 2
      for (i32 j61 = 0; j61 < 2; j61++) {
        x56[(j60 * 2) + j61] = 0.0f;
        if ((i32)((u32)(i32)((u32)d58 * (u32)2) + (u32)j61) < 8) {
          x56[(j60 * 2) + j61] = b2[(((((o0 * 8) + g0) * 16) + ((d59 * 2) + j60)) * 8) + ((d58 * 2) + j61)];
        }
        if ((i32)((u32)(i32)((u32)d58 * (u32)2) + (u32)j61) < 8) {
          b3[(((((o0 * 8) + g0) * 16) + ((d59 * 2) + j60)) * 8) + ((d58 * 2) + j61)] = a1[(j60 * 2) + j61] - x56[(j60 * 2) + j61];
        }
      }
    }
  }
}

/* tilefull: mul matmul mul sub
   b0: f32[512], b1: f32[16384], b2: f32[2048], writes b3: f32[512] */

extern "C" __global__ void __launch_bounds__(64) k1_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    const f32 *__restrict__ b2,
    f32 *__restrict__ b3) {
  rw_begin();
  b3 = (f32 *)__builtin_assume_aligned(b3, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const s7 = (f32 *)(rw_shared + 0);
  f32 *const s8 = (f32 *)(rw_shared + 2560);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 64;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 g0 = rw_point;
  __align__(16) f32 a1[4];
  { const i32 t2 = rw_thread;
    const i32 d3 = (i32)((u32)t2 % (u32)8);
    const i32 d4 = (i32)((u32)t2 / (u32)8);
    #pragma unroll 2
    for (i32 j5 = 0; j5 < 2; j5++) {
      #pragma unroll 2
      for (i32 j6 = 0; j6 < 2; j6++) {
        a1[(j5 * 2) + j6] = 0.0f;
      }
    }
  }
  __align__(16) f32 s1r9[4];
  { const i32 t10 = rw_thread;
    const i32 d11 = (i32)((u32)t10 % (u32)16);
    const i32 d12 = (i32)((u32)t10 / (u32)16);
    #pragma unroll 4
    for (i32 j13 = 0; j13 < 4; j13++) {
      s1r9[j13] = 0.0f;
      if (d11 < 8) {
        s1r9[j13] = b2[(((j13 * 4) + d12) * 8) + d11];
      }
    }
  }
  __align__(16) f32 s3r14[4];
  { const i32 t15 = rw_thread;
    const i32 d16 = (i32)((u32)t15 % (u32)16);
    const i32 d17 = (i32)((u32)t15 / (u32)16);
    #pragma unroll 4
    for (i32 j18 = 0; j18 < 4; j18++) {
      s3r14[j18] = b1[(((j18 * 4) + d17) * 64) + ((g0 * 16) + d16)];
    }
  }
  { const i32 t19 = rw_thread;
    const i32 d20 = (i32)((u32)t19 % (u32)16);
    const i32 d21 = (i32)((u32)t19 / (u32)16);
    #pragma unroll 4
    for (i32 j22 = 0; j22 < 4; j22++) {
      s7[(((j22 * 4) + d21) * 20) + d20] = s1r9[j22];
    }
  }
  { const i32 t23 = rw_thread;
    const i32 d24 = (i32)((u32)t23 % (u32)16);
    const i32 d25 = (i32)((u32)t23 / (u32)16);
    #pragma unroll 4
    for (i32 j26 = 0; j26 < 4; j26++) {
      s8[(((j26 * 4) + d25) * 20) + d24] = s3r14[j26];
    }
  }
  __syncthreads();
  for (i32 l2 = 0; l2 < 256; l2 += 16) {
    const i32 n27 = (i32)((u32)(i32)((u32)l2 / (u32)16) % (u32)2);
    const i32 n28 = (i32)((u32)((i32)((u32)l2 / (u32)16) + 1) % (u32)2);
    const i32 k29 = (i32)((u32)l2 + (u32)16);
    __align__(16) f32 s1r30[4];
    { const i32 t31 = rw_thread;
      if (k29 < 256) {
        const i32 d32 = (i32)((u32)t31 % (u32)16);
        const i32 d33 = (i32)((u32)t31 / (u32)16);
        #pragma unroll 4
        for (i32 j34 = 0; j34 < 4; j34++) {
          s1r30[j34] = 0.0f;
          if (d32 < 8) {
            s1r30[j34] = b2[((k29 + ((j34 * 4) + d33)) * 8) + d32];
          }
        }
      }
    }
    __align__(16) f32 s3r35[4];
    { const i32 t36 = rw_thread;
      if (k29 < 256) {
        const i32 d37 = (i32)((u32)t36 % (u32)16);
        const i32 d38 = (i32)((u32)t36 / (u32)16);
        #pragma unroll 4
        for (i32 j39 = 0; j39 < 4; j39++) {
          s3r35[j39] = b1[((k29 + ((j39 * 4) + d38)) * 64) + ((g0 * 16) + d37)];
        }
      }
    }
    { const i32 t40 = rw_thread;
      const i32 d41 = (i32)((u32)t40 % (u32)8);
      const i32 d42 = (i32)((u32)t40 / (u32)8);
      for (i32 k43 = 0; k43 < 16; k43++) {
        const f32 f44 = s7[(n27 * 320) + ((k43 * 20) + (d42 * 2))];
        const f32 f45 = s7[(n27 * 320) + ((k43 * 20) + ((d42 * 2) + 1))];
        const f32 f46 = s8[(n27 * 320) + ((k43 * 20) + (d41 * 2))];
        const f32 f47 = s8[(n27 * 320) + ((k43 * 20) + ((d41 * 2) + 1))];
        a1[0] = rw_fma_f32(f44, f46, a1[0]);
        a1[1] = rw_fma_f32(f44, f47, a1[1]);
        a1[2] = rw_fma_f32(f45, f46, a1[2]);
        a1[3] = rw_fma_f32(f45, f47, a1[3]);
      }
    }
    __syncthreads();
    { const i32 t48 = rw_thread;
      if (k29 < 256) {
        const i32 d49 = (i32)((u32)t48 % (u32)16);
        const i32 d50 = (i32)((u32)t48 / (u32)16);
        #pragma unroll 4
        for (i32 j51 = 0; j51 < 4; j51++) {
          s7[(n28 * 320) + ((((j51 * 4) + d50) * 20) + d49)] = s1r30[j51];
        }
      }
    }
    { const i32 t52 = rw_thread;
      if (k29 < 256) {
        const i32 d53 = (i32)((u32)t52 % (u32)16);
        const i32 d54 = (i32)((u32)t52 / (u32)16);
        #pragma unroll 4
        for (i32 j55 = 0; j55 < 4; j55++) {
          s8[(n28 * 320) + ((((j55 * 4) + d54) * 20) + d53)] = s3r35[j55];
        }
      }
    }
    __syncthreads();
  }
  __align__(16) f32 x56[4];
  { const i32 t57 = rw_thread;
    const i32 d58 = (i32)((u32)t57 % (u32)8);
    const i32 d59 = (i32)((u32)t57 / (u32)8);
    #pragma unroll 2
    for (i32 j60 = 0; j60 < 2; j60++) {
      #pragma unroll 2
      for (i32 j61 = 0; j61 < 2; j61++) {
        x56[(j60 * 2) + j61] = 0.0f;
        if ((i32)((u32)(i32)((u32)d59 * (u32)2) + (u32)j60) < 8) {
          x56[(j60 * 2) + j61] = b0[(((g0 * 16) + ((d58 * 2) + j61)) * 8) + ((d59 * 2) + j60)];
        }
        if ((i32)((u32)(i32)((u32)d59 * (u32)2) + (u32)j60) < 8) {
          b3[(((g0 * 16) + ((d58 * 2) + j61)) * 8) + ((d59 * 2) + j60)] = x56[(j60 * 2) + j61] - (0.001f * a1[(j60 * 2) + j61]);
        }
      }
    }
  }
}
