/* transpose: mul
   b0: f32[131072], writes b1: f32[131072] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;

var<workgroup> k0_0_tile6_: array<f32, 1056>;
@compute @workgroup_size(256)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 128u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 128u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  let t2_: i32 = i1_ % i32(8);
  let t3_: i32 = (i1_ / i32(8)) % i32(16);
  let o4_: i32 = t3_ * i32(32);
  let o5_: i32 = t2_ * i32(32);
  for (var i7_: i32 = rw_thread; i7_ < 1024; i7_ += 256) {
    let p8_: i32 = o4_ + (i7_ % i32(32));
    let p9_: i32 = o5_ + (i7_ / i32(32));
    let v10_: i32 = (p9_ * i32(512)) + p8_;
    let v11_: f32 = k0_b0_[v10_];
    k0_0_tile6_[((i7_ / i32(32)) * i32(33)) + (i7_ % i32(32))] = v11_;
  }
  workgroupBarrier();
  storageBarrier();
  for (var i12_: i32 = rw_thread; i12_ < 1024; i12_ += 256) {
    let o13_: i32 = ((i12_ % i32(32)) * i32(33)) + (i12_ / i32(32));
    let p14_: i32 = o4_ + (i12_ / i32(32));
    let p15_: i32 = o5_ + (i12_ % i32(32));
    let v16_: f32 = k0_0_tile6_[o13_];
    let v17_: f32 = v16_ * f32(2.0);
    let v18_: i32 = (p14_ * i32(256)) + p15_;
    k0_b1_[v18_] = v17_;
  }
}
