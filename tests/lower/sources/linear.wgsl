/* column: mul matmul add relu
   b0: f32[8192], b1: f32[8192], b2: f32[128], writes b3: f32[16384] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;
@group(0) @binding(3) var<storage, read_write> k0_b3_: array<f32>;

@compute @workgroup_size(64)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 256u + rw_group.x;
  let rw_item = rw_number * 64u + rw_local;
  if (rw_item >= 16384u) { return; }
  let rw_point = i32(rw_item);
  let i1_ = rw_point;
  let p2_: i32 = i1_ % i32(128);
  let p3_: i32 = i1_ / i32(128);
  var a4_: f32 = f32(0.0);
  let o6_: i32 = p3_ * i32(64);
  for (var i5_: i32 = 0; i5_ < 64; i5_ += 1) {
    let v7_: i32 = o6_ + i5_;
    let v8_: f32 = k0_b0_[v7_];
    let v9_: i32 = p2_ + (i5_ * i32(128));
    let v10_: f32 = k0_b1_[v9_];
    a4_ = v8_ * v10_ + a4_;
  }
  let v11_: f32 = k0_b2_[p2_];
  let v12_: f32 = a4_ + v11_;
  let v13_: f32 = rw_max_f32(v12_, f32(0.0));
  k0_b3_[i1_] = v13_;
}
