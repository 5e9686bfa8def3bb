/* tilecontract: mul matmul
   b0: f32[32768], b1: f32[24576], writes b2: f32[49152] */

extern "C" __global__ void __launch_bounds__(128) k0_0(
    const f32 *__restrict__ b0,
    const f32 *__restrict__ b1,
    f32 *__restrict__ b2) {
  rw_begin();
  b2 = (f32 *)__builtin_assume_aligned(b2, 16);
  extern __shared__ __align__(16) u8 rw_shared[];
  f32 *const s7 = (f32 *)(rw_shared + 0);
  f32 *const s8 = (f32 *)(rw_shared + 4608);
  const i32 rw_thread = threadIdx.x;
  const i32 rw_threads = 128;
  const u32 rw_point = (u32)blockIdx.x;
  const i32 g0 = rw_point % 8;
  const i32 g1 = rw_point / 8;
  __align__(16) f32 a1[8];
  { const i32 t2 = rw_thread;
    const i32 d3 = (i32)((u32)t2 % (u32)16);
    const i32 d4 = (i32)((u32)t2 / (u32)16);
    #pragma unroll 4
    for (i32 j5 = 0; j5 < 4; j5++) {
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
      s1r9[j13] = b0[(((g0 * 32) + ((j13 * 8) + d12)) * 128) + d11];
    }
  }
  __align__(16) f32 s3r14[4];
  { const i32 t15 = rw_thread;
    const i32 d16 = (i32)((u32)t15 % (u32)32);
    const i32 d17 = (i32)((u32)t15 / (u32)32);
    #pragma unroll 4
    for (i32 j18 = 0; j18 < 4; j18++) {
      s3r14[j18] = b1[(((j18 * 4) + d17) * 192) + ((g1 * 32) + d16)];
    }
  }
  { const i32 t19 = rw_thread;
    const i32 d20 = (i32)((u32)t19 % (u32)16);
    const i32 d21 = (i32)((u32)t19 / (u32)16);
    #pragma unroll 4
    for (i32 j22 = 0; j22 < 4; j22++) {
      s7[(d20 * 36) + ((j22 * 8) + d21)] = s1r9[j22];
    }
  }
  { const i32 t23 = rw_thread;
    const i32 d24 = (i32)((u32)t23 % (u32)32);
    const i32 d25 = (i32)((u32)t23 / (u32)32);
    #pragma unroll 4
    for (i32 j26 = 0; j26 < 4; j26++) {
      s8[(((j26 * 4) + d25) * 36) + d24] = s3r14[j26];
    }
  }
  __syncthreads();
  for (i32 l2 = 0; l2 < 128; l2 += 16) {
    const i32 n27 = (i32)((u32)(i32)((u32)l2 / (u32)16) % (u32)2);
    const i32 n28 = (i32)((u32)((i32)((u32)l2 / (u32)16) + 1) % (u32)2);
    const i32 k29 = (i32)((u32)l2 + (u32)16);
    __align__(16) f32 s1r30[4];
    { const i32 t31 = rw_thread;
      if (k29 < 128) {
        const i32 d32 = (i32)((u32)t31 % (u32)16);
        const i32 d33 = (i32)((u32)t31 / (u32)16);
        #pragma unroll 4
        for (i32 j34 = 0; j34 < 4; j34++) {
          s1r30[j34] = b0[(((g0 * 32) + ((j34 * 8) + d33)) * 128) + (k29 + d32)];
        }
      }
    }
    __align__(16) f32 s3r35[4];
    { const i32 t36 = rw_thread;
      if (k29 < 128) {
        const i32 d37 = (i32)((u32)t36 % (u32)32);
        const i32 d38 = (i32)((u32)t36 / (u32)32);
        #pragma unroll 4
        for (i32 j39 = 0; j39 < 4; j39++) {
          s3r35[j39] = b1[((k29 + ((j39 * 4) + d38)) * 192) + ((g1 * 32) + d37)];
        }
      }
    }
    { const i32 t40 = rw_thread;
      const i32 d41 = (i32)((u32)t40 % (u32)16);
      const i32 d42 = (i32)((u32)t40 / (u32)16);
      for (i32 k43 = 0; k43 < 16; k43++) {
        const f32 f44 = s7[(n27 * 576) + ((k43 * 36) + (d42 * 4))];
        const f32 f45 = s7[(n27 * 576) + ((k43 * 36) + ((d42 * 4) + 1))];
        const f32 f46 = s7[(n27 * 576) + ((k43 * 36) + ((d42 * 4) + 2))];
        const f32 f47 = s7[(n27 * 576) + ((k43 * 36) + ((d42 * 4) + 3))];
        const f32 f48 = s8[(n27 * 576) + ((k43 * 36) + (d41 * 2))];
        const f32 f49 = s8[(n27 * 576) + ((k43 * 36) + ((d41 * 2) + 1))];
        a1[0] = rw_fma_f32(f44, f48, a1[0]);
        a1[1] = rw_fma_f32(f44, f49, a1[1]);
        a1[2] = rw_fma_f32(f45, f48, a1[2]);
        a1[3] = rw_fma_f32(f45, f49, a1[3]);
        a1[4] = rw_fma_f32(f46, f48, a1[4]);
        a1[5] = rw_fma_f32(f46, f49, a1[5]);
        a1[6] = rw_fma_f32(f47, f48, a1[6]);
        a1[7] = rw_fma_f32(f47, f49, a1[7]);
      }
    }
    __syncthreads();
    { const i32 t50 = rw_thread;
      if (k29 < 128) {
        const i32 d51 = (i32)((u32)t50 % (u32)16);
        const i32 d52 = (i32)((u32)t50 / (u32)16);
        #pragma unroll 4
        for (i32 j53 = 0; j53 < 4; j53++) {
          s7[(n28 * 576) + ((d51 * 36) + ((j53 * 8) + d52))] = s1r30[j53];
        }
      }
    }
    { const i32 t54 = rw_thread;
      if (k29 < 128) {
        const i32 d55 = (i32)((u32)t54 % (u32)32);
        const i32 d56 = (i32)((u32)t54 / (u32)32);
        #pragma unroll 4
        for (i32 j57 = 0; j57 < 4; j57++) {
          s8[(n28 * 576) + ((((j57 * 4) + d56) * 36) + d55)] = s3r35[j57];
        }
      }
    }
    __syncthreads();
  }
  { const i32 t58 = rw_thread;
    const i32 d59 = (i32)((u32)t58 % (u32)16);
    const i32 d60 = (i32)((u32)t58 / (u32)16);
    #pragma unroll 4
    for (i32 j61 = 0; j61 < 4; j61++) {
      #pragma unroll 2
      for (i32 j62 = 0; j62 < 2; j62++) {
        b2[(((g0 * 32) + ((d60 * 4) + j61)) * 192) + ((g1 * 32) + ((d59 * 2) + j62))] = a1[(j61 * 2) + j62];
      }
    }
  }
}
