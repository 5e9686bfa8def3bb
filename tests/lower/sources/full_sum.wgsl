/* full: mul sum
   b0: f32[262144], writes b1: f32[1], scratch s0: f32[256] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_s0_: array<f32>;

var<workgroup> k0_0_reduce_a2_: array<f32, 128>;
@compute @workgroup_size(128)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 256u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 256u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  var a2_: f32 = f32(0.0);
  let o4_: i32 = i1_ * i32(1024);
  for (var i3_: i32 = rw_thread; i3_ < 1024; i3_ += 128) {
    let v5_: i32 = o4_ + i3_;
    let v6_: f32 = k0_b0_[v5_];
    a2_ = v6_ * v6_ + a2_;
  }
  k0_0_reduce_a2_[rw_thread] = a2_;
  workgroupBarrier();
  for (var rw_s = 64; rw_s > 0; rw_s >>= 1u) {
    if (rw_thread < rw_s && rw_thread + rw_s < 128) {
      k0_0_reduce_a2_[rw_thread] = (k0_0_reduce_a2_[rw_thread] + k0_0_reduce_a2_[rw_thread + rw_s]);
    }
    workgroupBarrier();
  }
  a2_ = k0_0_reduce_a2_[0];
  workgroupBarrier();
  for (var i7_: i32 = rw_thread; i7_ < 1; i7_ += 128) {
    k0_s0_[i1_] = a2_;
  }
}

var<workgroup> k0_1_reduce_a2_: array<f32, 128>;
@compute @workgroup_size(128)
fn k0_1(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 1u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 1u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  var a2_: f32 = f32(0.0);
  for (var i3_: i32 = rw_thread; i3_ < 256; i3_ += 128) {
    let v4_: f32 = k0_s0_[i3_];
    a2_ = a2_ + v4_;
  }
  k0_1_reduce_a2_[rw_thread] = a2_;
  workgroupBarrier();
  for (var rw_s = 64; rw_s > 0; rw_s >>= 1u) {
    if (rw_thread < rw_s && rw_thread + rw_s < 128) {
      k0_1_reduce_a2_[rw_thread] = (k0_1_reduce_a2_[rw_thread] + k0_1_reduce_a2_[rw_thread + rw_s]);
    }
    workgroupBarrier();
  }
  a2_ = k0_1_reduce_a2_[0];
  workgroupBarrier();
  for (var i5_: i32 = rw_thread; i5_ < 1; i5_ += 128) {
    k0_b1_[i32(0)] = a2_;
  }
}
