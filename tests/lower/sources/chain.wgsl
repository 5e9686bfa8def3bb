/* map: add gelu
   b0: f32[262144], b1: f32[64], writes b2: f32[262144] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;

@compute @workgroup_size(64)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 4096u + rw_group.x;
  let rw_item = rw_number * 64u + rw_local;
  if (rw_item >= 262144u) { return; }
  let rw_point = i32(rw_item);
  let i1_ = rw_point;
  let p2_: i32 = i1_ % i32(64);
  let p3_: i32 = i1_ / i32(64);
  let v4_: f32 = k0_b0_[i1_];
  let v5_: f32 = k0_b1_[p2_];
  let v6_: f32 = v4_ + v5_;
  let v7_: f32 = (f32(0.5) * v6_) * (f32(1.0) + rw_erf_f32((v6_ * f32(0.70710677))));
  k0_b2_[i1_] = v7_;
}
