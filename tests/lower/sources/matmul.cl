/* tilecontract: mul matmul
   b0: f32[32768], b1: f32[24576], writes b2: f32[49152] */

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void k0_0(
    __global const f32 *restrict b0,
    __global const f32 *restrict b1,
    __global f32 *restrict b2) {
  __local f32 s7[1152];
  __local f32 s8[1152];
  const i32 rw_thread = get_local_id(0);
  const i32 rw_threads = 128;
  const i64 rw_point = (i64)get_group_id(0);
  const i64 g0 = rw_point % 8;
  const i64 g1 = rw_point / 8;
  f32 a1[8];
  { const i64 t2 = rw_thread;
    const i64 d3 = (i64)((u32)t2 % (u32)16);
    const i64 d4 = (i64)((u32)t2 / (u32)16);
    #pragma unroll 4
    for (i64 j5 = 0; j5 < 4; j5++) {
      #pragma unroll 2
      for (i64 j6 = 0; j6 < 2; j6++) {
        a1[(j5 * 2) + j6] = 0.0f;
      }
    }
  }
  f32 s1r9[4];
  { const i64 t10 = rw_thread;
    const i64 d11 = (i64)((u32)t10 % (u32)16);
    const i64 d12 = (i64)((u32)t10 / (u32)16);
    #pragma unroll 4
    for (i64 j13 = 0; j13 < 4; j13++) {
      s1r9[j13] = b0[(((g0 * 32) + ((j13 * 8) + d12)) * 128) + d11];
    }
  }
  f32 s3r14[4];
  { const i64 t15 = rw_thread;
    const i64 d16 = (i64)((u32)t15 % (u32)32);
    const i64 d17 = (i64)((u32)t15 / (u32)32);
    #pragma unroll 4
    for (i64 j18 = 0; j18 < 4; j18++) {
      s3r14[j18] = b1[(((j18 * 4) + d17) * 192) + ((g1 * 32) + d16)];
    }
  }
  { const i64 t19 = rw_thread;
    const i64 d20 = (i64)((u32)t19 % (u32)16);
    const i64 d21 = (i64)((u32)t19 / (u32)16);
    #pragma unroll 4
    for (i64 j22 = 0; j22 < 4; j22++) {
      s7[(d20 * 36) + ((j22 * 8) + d21)] = s1r9[j22];
    }
  }
  { const i64 t23 = rw_thread;
    const i64 d24 = (i64)((u32)t23 % (u32)32);
    const i64 d25 = (i64)((u32)t23 / (u32)32);
    #pragma unroll 4
    for (i64 j26 = 0; j26 < 4; j26++) {
      s8[(((j26 * 4) + d25) * 36) + d24] = s3r14[j26];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (i64 l2 = 0; l2 < 128; l2 += 16) {
    const i64 n27 = (i64)((u32)(i64)((u32)l2 / (u32)16) % (u32)2);
    const i64 n28 = (i64)((u32)((i64)((u32)l2 / (u32)16) + 1) % (u32)2);
    const i32 k29 = (i32)((u32)(i32)l2 + (u32)16);
    f32 s1r30[4];
    { const i64 t31 = rw_thread;
      if (k29 < 128) {
        const i64 d32 = (i64)((u32)t31 % (u32)16);
        const i64 d33 = (i64)((u32)t31 / (u32)16);
        #pragma unroll 4
        for (i64 j34 = 0; j34 < 4; j34++) {
          s1r30[j34] = b0[(((g0 * 32) + ((j34 * 8) + d33)) * 128) + (k29 + d32)];
        }
      }
    }
    f32 s3r35[4];
    { const i64 t36 = rw_thread;
      if (k29 < 128) {
        const i64 d37 = (i64)((u32)t36 % (u32)32);
        const i64 d38 = (i64)((u32)t36 / (u32)32);
        #pragma unroll 4
        for (i64 j39 = 0; j39 < 4; j39++) {
          s3r35[j39] = b1[((k29 + ((j39 * 4) + d38)) * 192) + ((g1 * 32) + d37)];
        }
      }
    }
    { const i64 t40 = rw_thread;
      const i64 d41 = (i64)((u32)t40 % (u32)16);
      const i64 d42 = (i64)((u32)t40 / (u32)16);
      for (i64 k43 = 0; k43 < 16; k43++) {
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
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    { const i64 t50 = rw_thread;
      if (k29 < 128) {
        const i64 d51 = (i64)((u32)t50 % (u32)16);
        const i64 d52 = (i64)((u32)t50 / (u32)16);
        #pragma unroll 4
        for (i64 j53 = 0; j53 < 4; j53++) {
          s7[(n28 * 576) + ((d51 * 36) + ((j53 * 8) + d52))] = s1r30[j53];
        }
      }
    }
    { const i64 t54 = rw_thread;
      if (k29 < 128) {
        const i64 d55 = (i64)((u32)t54 % (u32)32);
        const i64 d56 = (i64)((u32)t54 / (u32)32);
        #pragma unroll 4
        for (i64 j57 = 0; j57 < 4; j57++) {
          s8[(n28 * 576) + ((((j57 * 4) + d56) * 36) + d55)] = s3r35[j57];
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  { const i64 t58 = rw_thread;
    const i64 d59 = (i64)((u32)t58 % (u32)16);
    const i64 d60 = (i64)((u32)t58 / (u32)16);
    #pragma unroll 4
    for (i64 j61 = 0; j61 < 4; j61++) {
      #pragma unroll 2
      for (i64 j62 = 0; j62 < 2; j62++) {
        b2[(((g0 * 32) + ((d60 * 4) + j61)) * 192) + ((g1 * 32) + ((d59 * 2) + j62))] = a1[(j61 * 2) + j62];
      }
    }
  }
}
