/* map: lt add select max min mul
   b0: i32[128], b1: f32[64000], writes b2: f32[8192] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<i32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;

@compute @workgroup_size(64)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 128u + rw_group.x;
  let rw_item = rw_number * 64u + rw_local;
  if (rw_item >= 8192u) { return; }
  let rw_point = i32(rw_item);
  let i1_ = rw_point;
  let p2_: i32 = i1_ % i32(64);
  let p3_: i32 = i1_ / i32(64);
  let v4_: i32 = k0_b0_[p3_];
  let v5_: bool = v4_ < i32(0);
  let v6_: i32 = v4_ + i32(1000);
  let v7_: i32 = select(v4_, v6_, v5_);
  let v8_: i32 = rw_max_i32(v7_, i32(0));
  let v9_: i32 = rw_min_i32(v8_, i32(999));
  let v10_: i32 = (v9_ * i32(64)) + p2_;
  let v11_: f32 = k0_b1_[v10_];
  let v12_: f32 = v11_ * f32(8.0);
  k0_b2_[i1_] = v12_;
}
