/* row: select max sub exp sum recip mul
   b0: bool[131072], b1: f32[131072], writes b2: f32[131072] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<u32>;
fn k0_b0__get(i: i32) -> u32 { return (k0_b0_[u32(i) / 4u] >> ((u32(i) % 4u) * 8u)) & 255u; }
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;

var<workgroup> k0_0_reduce_a2_: array<f32, 32>;
var<workgroup> k0_0_row9_: array<f32, 256>;
var<workgroup> k0_0_reduce_a10_: array<f32, 32>;
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
    let v6_: bool = k0_b0__get(v5_) != 0u;
    let v7_: f32 = k0_b1_[v5_];
    let v8_: f32 = select(f32(-1e+30), v7_, v6_);
    a2_ = rw_max_f32(a2_, v8_);
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
  var a10_: f32 = f32(0.0);
  let o12_: i32 = i1_ * i32(256);
  for (var i11_: i32 = rw_thread; i11_ < 256; i11_ += 32) {
    let v13_: i32 = o12_ + i11_;
    let v14_: bool = k0_b0__get(v13_) != 0u;
    let v15_: f32 = k0_b1_[v13_];
    let v16_: f32 = select(f32(-1e+30), v15_, v14_);
    let v17_: f32 = v16_ - a2_;
    let v18_: f32 = rw_exp_f32(v17_);
    a10_ = a10_ + v18_;
    k0_0_row9_[i11_] = v18_;
  }
  k0_0_reduce_a10_[rw_thread] = a10_;
  workgroupBarrier();
  for (var rw_s = 16; rw_s > 0; rw_s >>= 1u) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) {
      k0_0_reduce_a10_[rw_thread] = (k0_0_reduce_a10_[rw_thread] + k0_0_reduce_a10_[rw_thread + rw_s]);
    }
    workgroupBarrier();
  }
  a10_ = k0_0_reduce_a10_[0];
  workgroupBarrier();
  let v20_: f32 = 1 / a10_;
  let o23_: i32 = i1_ * i32(256);
  for (var i19_: i32 = rw_thread; i19_ < 256; i19_ += 32) {
    let v21_: f32 = k0_0_row9_[i19_];
    let v22_: f32 = v21_ * v20_;
    let v24_: i32 = o23_ + i19_;
    k0_b2_[v24_] = v22_;
  }
}
