/* row: sum mul sub mul sum mul add sqrt recip mul mul add
   b0: f32[131072], b1: f32[256], b2: f32[256], writes b3: f32[131072] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;
@group(0) @binding(3) var<storage, read_write> k0_b3_: array<f32>;

var<workgroup> k0_0_reduce_a2_: array<f32, 32>;
var<workgroup> k0_0_reduce_a7_: array<f32, 32>;
@compute @workgroup_size(32)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 512u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 512u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  var a2_: f32 = f32(0.0);
  let o4_: i32 = i1_ * i32(256);
  for (var i3_: i32 = rw_thread; i3_ < 256; i3_ += 32) {
    let v5_: i32 = o4_ + i3_;
    let v6_: f32 = k0_b0_[v5_];
    a2_ = a2_ + v6_;
  }
  k0_0_reduce_a2_[rw_thread] = a2_;
  workgroupBarrier();
  for (var rw_s = 16; rw_s > 0; rw_s >>= 1u) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) {
      k0_0_reduce_a2_[rw_thread] = (k0_0_reduce_a2_[rw_thread] + k0_0_reduce_a2_[rw_thread + rw_s]);
    }
    workgroupBarrier();
  }
  a2_ = k0_0_reduce_a2_[0];
  workgroupBarrier();
  var a7_: f32 = f32(0.0);
  let o9_: i32 = i1_ * i32(256);
  let v12_: f32 = a2_ * f32(0.00390625);
  for (var i8_: i32 = rw_thread; i8_ < 256; i8_ += 32) {
    let v10_: i32 = o9_ + i8_;
    let v11_: f32 = k0_b0_[v10_];
    let v13_: f32 = v11_ - v12_;
    a7_ = v13_ * v13_ + a7_;
  }
  k0_0_reduce_a7_[rw_thread] = a7_;
  workgroupBarrier();
  for (var rw_s = 16; rw_s > 0; rw_s >>= 1u) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) {
      k0_0_reduce_a7_[rw_thread] = (k0_0_reduce_a7_[rw_thread] + k0_0_reduce_a7_[rw_thread + rw_s]);
    }
    workgroupBarrier();
  }
  a7_ = k0_0_reduce_a7_[0];
  workgroupBarrier();
  let o15_: i32 = i1_ * i32(256);
  let v19_: f32 = a7_ * f32(0.00390625);
  let v20_: f32 = v19_ + f32(1e-05);
  let v21_: f32 = rw_sqrt_f32(v20_);
  let v22_: f32 = 1 / v21_;
  for (var i14_: i32 = rw_thread; i14_ < 256; i14_ += 32) {
    let v16_: i32 = o15_ + i14_;
    let v17_: f32 = k0_b0_[v16_];
    let v18_: f32 = v17_ - v12_;
    let v23_: f32 = v18_ * v22_;
    let v24_: f32 = k0_b1_[i14_];
    let v25_: f32 = v23_ * v24_;
    let v26_: f32 = k0_b2_[i14_];
    let v27_: f32 = v25_ + v26_;
    k0_b3_[v16_] = v27_;
  }
}
