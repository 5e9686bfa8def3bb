/* row: max sub exp sum recip mul
   b0: f32[131072], writes b1: f32[131072] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;

var<workgroup> k0_0_reduce_a2_: array<f32, 32>;
var<workgroup> k0_0_row7_: array<f32, 256>;
var<workgroup> k0_0_reduce_a8_: array<f32, 32>;
@compute @workgroup_size(32)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 512u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 512u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  var a2_: f32 = -bitcast<f32>(rw_inf_bits);
  let o4_: i32 = i1_ * i32(256);
  for (var i3_: i32 = rw_thread; i3_ < 256; i3_ += 32) {
    let v5_: i32 = o4_ + i3_;
    let v6_: f32 = k0_b0_[v5_];
    a2_ = rw_max_f32(a2_, v6_);
  }
  k0_0_reduce_a2_[rw_thread] = a2_;
  workgroupBarrier();
  for (var rw_s = 16; rw_s > 0; rw_s >>= 1u) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) {
      k0_0_reduce_a2_[rw_thread] = rw_max_f32(k0_0_reduce_a2_[rw_thread], k0_0_reduce_a2_[rw_thread + rw_s]);
    }
    workgroupBarrier();
  }
  a2_ = k0_0_reduce_a2_[0];
  workgroupBarrier();
  var a8_: f32 = f32(0.0);
  let o10_: i32 = i1_ * i32(256);
  for (var i9_: i32 = rw_thread; i9_ < 256; i9_ += 32) {
    let v11_: i32 = o10_ + i9_;
    let v12_: f32 = k0_b0_[v11_];
    let v13_: f32 = v12_ - a2_;
    let v14_: f32 = rw_exp_f32(v13_);
    a8_ = a8_ + v14_;
    k0_0_row7_[i9_] = v14_;
  }
  k0_0_reduce_a8_[rw_thread] = a8_;
  workgroupBarrier();
  for (var rw_s = 16; rw_s > 0; rw_s >>= 1u) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) {
      k0_0_reduce_a8_[rw_thread] = (k0_0_reduce_a8_[rw_thread] + k0_0_reduce_a8_[rw_thread + rw_s]);
    }
    workgroupBarrier();
  }
  a8_ = k0_0_reduce_a8_[0];
  workgroupBarrier();
  let v16_: f32 = 1 / a8_;
  let o19_: i32 = i1_ * i32(256);
  for (var i15_: i32 = rw_thread; i15_ < 256; i15_ += 32) {
    let v17_: f32 = k0_0_row7_[i15_];
    let v18_: f32 = v17_ * v16_;
    let v20_: i32 = o19_ + i15_;
    k0_b1_[v20_] = v18_;
  }
}
