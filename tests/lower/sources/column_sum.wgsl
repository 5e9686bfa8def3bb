/* full: sum
   b0: f32[262144], writes b1: f32[256], scratch s0: f32[16384] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_s0_: array<f32>;

@compute @workgroup_size(64)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 256u + rw_group.x;
  let rw_item = rw_number * 64u + rw_local;
  if (rw_item >= 16384u) { return; }
  let rw_point = i32(rw_item);
  let i1_ = rw_point;
  let p2_: i32 = i1_ % i32(256);
  let p3_: i32 = i1_ / i32(256);
  var a4_: f32 = f32(0.0);
  let o6_: i32 = (p3_ * i32(4096)) + p2_;
  for (var i5_: i32 = 0; i5_ < 16; i5_ += 1) {
    let v7_: i32 = o6_ + (i5_ * i32(256));
    let v8_: f32 = k0_b0_[v7_];
    a4_ = a4_ + v8_;
  }
  k0_s0_[i1_] = a4_;
}

var<workgroup> k0_1_reduce_a2_: array<f32, 32>;
@compute @workgroup_size(32)
fn k0_1(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 256u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 256u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  var a2_: f32 = f32(0.0);
  for (var i3_: i32 = rw_thread; i3_ < 64; i3_ += 32) {
    let v4_: i32 = i1_ + (i3_ * i32(256));
    let v5_: f32 = k0_s0_[v4_];
    a2_ = a2_ + v5_;
  }
  k0_1_reduce_a2_[rw_thread] = a2_;
  workgroupBarrier();
  for (var rw_s = 16; rw_s > 0; rw_s >>= 1u) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) {
      k0_1_reduce_a2_[rw_thread] = (k0_1_reduce_a2_[rw_thread] + k0_1_reduce_a2_[rw_thread + rw_s]);
    }
    workgroupBarrier();
  }
  a2_ = k0_1_reduce_a2_[0];
  workgroupBarrier();
  for (var i6_: i32 = rw_thread; i6_ < 1; i6_ += 32) {
    k0_b1_[i1_] = a2_;
  }
}
