/* contract: mul matmul sub
   b0: f32[16384], b1: f32[512], b2: f32[2048], writes b3: f32[2048] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;
@group(0) @binding(3) var<storage, read_write> k0_b3_: array<f32>;

var<workgroup> k0_0_tile4_: array<f32, 320>;
var<workgroup> k0_0_tile5_: array<f32, 256>;
@compute @workgroup_size(64)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 16u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 16u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  let t2_: i32 = i1_ % i32(16);
  let m3_: i32 = t2_ * i32(16);
  var sums6_: array<f32, 4>;
  { let i7_: i32 = 0;
    sums6_[i7_] = f32(0.0);
  }
  { let i7_: i32 = 1;
    sums6_[i7_] = f32(0.0);
  }
  { let i7_: i32 = 2;
    sums6_[i7_] = f32(0.0);
  }
  { let i7_: i32 = 3;
    sums6_[i7_] = f32(0.0);
  }
  for (var i8_: i32 = rw_thread; i8_ < 256; i8_ += 64) {
    let t9_: i32 = i8_ % i32(16);
    let t10_: i32 = i8_ / i32(16);
    let p11_: i32 = m3_ + t10_;
    let v12_: i32 = (p11_ * i32(64)) + t9_;
    let v13_: f32 = k0_b0_[v12_];
    k0_0_tile4_[(t9_ * i32(20)) + t10_] = v13_;
  }
  for (var i14_: i32 = rw_thread; i14_ < 256; i14_ += 64) {
    let t15_: i32 = i14_ % i32(16);
    let t16_: i32 = i14_ / i32(16);
    let ok17_: bool = t15_ <= i32(7);
    let p18_: i32 = rw_min_i32(t15_, i32(7));
    let v19_: i32 = (t16_ * i32(8)) + p18_;
    let v20_: f32 = k0_b1_[v19_];
    k0_0_tile5_[(t16_ * i32(16)) + t15_] = select(f32(0.0), v20_, ok17_);
  }
  var held21_: array<f32, 4>;
  var held22_: array<f32, 4>;
  workgroupBarrier();
  storageBarrier();
  for (var i23_: i32 = 0; i23_ < 4; i23_ += 1) {
    let k24_: i32 = i23_ + i32(1);
    let ok25_: bool = k24_ < i32(4);
    if (ok25_) {
      let k26_: i32 = k24_ * i32(16);
      for (var i27_: i32 = rw_thread; i27_ < 64; i27_ += 64) {
        { let i28_: i32 = 0;
          let t29_: i32 = i27_ + (i28_ * i32(64));
          let t30_: i32 = t29_ % i32(16);
          let t31_: i32 = t29_ / i32(16);
          let p32_: i32 = m3_ + t31_;
          let p33_: i32 = k26_ + t30_;
          let v34_: i32 = (p32_ * i32(64)) + p33_;
          let v35_: f32 = k0_b0_[v34_];
          held21_[i28_] = v35_;
        }
        { let i28_: i32 = 1;
          let t29_: i32 = i27_ + (i28_ * i32(64));
          let t30_: i32 = t29_ % i32(16);
          let t31_: i32 = t29_ / i32(16);
          let p32_: i32 = m3_ + t31_;
          let p33_: i32 = k26_ + t30_;
          let v34_: i32 = (p32_ * i32(64)) + p33_;
          let v35_: f32 = k0_b0_[v34_];
          held21_[i28_] = v35_;
        }
        { let i28_: i32 = 2;
          let t29_: i32 = i27_ + (i28_ * i32(64));
          let t30_: i32 = t29_ % i32(16);
          let t31_: i32 = t29_ / i32(16);
          let p32_: i32 = m3_ + t31_;
          let p33_: i32 = k26_ + t30_;
          let v34_: i32 = (p32_ * i32(64)) + p33_;
          let v35_: f32 = k0_b0_[v34_];
          held21_[i28_] = v35_;
        }
        { let i28_: i32 = 3;
          let t29_: i32 = i27_ + (i28_ * i32(64));
          let t30_: i32 = t29_ % i32(16);
          let t31_: i32 = t29_ / i32(16);
          let p32_: i32 = m3_ + t31_;
          let p33_: i32 = k26_ + t30_;
          let v34_: i32 = (p32_ * i32(64)) + p33_;
          let v35_: f32 = k0_b0_[v34_];
          held21_[i28_] = v35_;
        }
      }
      for (var i36_: i32 = rw_thread; i36_ < 64; i36_ += 64) {
        { let i37_: i32 = 0;
          let t38_: i32 = i36_ + (i37_ * i32(64));
          let t39_: i32 = t38_ % i32(16);
          let t40_: i32 = t38_ / i32(16);
          let ok41_: bool = t39_ <= i32(7);
          let p42_: i32 = rw_min_i32(t39_, i32(7));
          let p43_: i32 = k26_ + t40_;
          let v44_: i32 = (p43_ * i32(8)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held22_[i37_] = select(f32(0.0), v45_, ok41_);
        }
        { let i37_: i32 = 1;
          let t38_: i32 = i36_ + (i37_ * i32(64));
          let t39_: i32 = t38_ % i32(16);
          let t40_: i32 = t38_ / i32(16);
          let ok41_: bool = t39_ <= i32(7);
          let p42_: i32 = rw_min_i32(t39_, i32(7));
          let p43_: i32 = k26_ + t40_;
          let v44_: i32 = (p43_ * i32(8)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held22_[i37_] = select(f32(0.0), v45_, ok41_);
        }
        { let i37_: i32 = 2;
          let t38_: i32 = i36_ + (i37_ * i32(64));
          let t39_: i32 = t38_ % i32(16);
          let t40_: i32 = t38_ / i32(16);
          let ok41_: bool = t39_ <= i32(7);
          let p42_: i32 = rw_min_i32(t39_, i32(7));
          let p43_: i32 = k26_ + t40_;
          let v44_: i32 = (p43_ * i32(8)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held22_[i37_] = select(f32(0.0), v45_, ok41_);
        }
        { let i37_: i32 = 3;
          let t38_: i32 = i36_ + (i37_ * i32(64));
          let t39_: i32 = t38_ % i32(16);
          let t40_: i32 = t38_ / i32(16);
          let ok41_: bool = t39_ <= i32(7);
          let p42_: i32 = rw_min_i32(t39_, i32(7));
          let p43_: i32 = k26_ + t40_;
          let v44_: i32 = (p43_ * i32(8)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held22_[i37_] = select(f32(0.0), v45_, ok41_);
        }
      }
    }
    for (var i46_: i32 = rw_thread; i46_ < 64; i46_ += 64) {
      let y47_: i32 = i46_ / i32(8);
      let x48_: i32 = i46_ % i32(8);
      for (var i49_: i32 = 0; i49_ < 16; i49_ += 1) {
        let v50_: f32 = k0_0_tile4_[(i49_ * i32(20)) + (y47_ * i32(2))];
        let v51_: f32 = k0_0_tile4_[((i49_ * i32(20)) + (y47_ * i32(2))) + i32(1)];
        let v52_: f32 = k0_0_tile5_[(i49_ * i32(16)) + (x48_ * i32(2))];
        let v53_: f32 = k0_0_tile5_[((i49_ * i32(16)) + (x48_ * i32(2))) + i32(1)];
        sums6_[i32(0)] = v50_ * v52_ + sums6_[i32(0)];
        sums6_[i32(1)] = v50_ * v53_ + sums6_[i32(1)];
        sums6_[i32(2)] = v51_ * v52_ + sums6_[i32(2)];
        sums6_[i32(3)] = v51_ * v53_ + sums6_[i32(3)];
      }
    }
    workgroupBarrier();
    storageBarrier();
    if (ok25_) {
      for (var i54_: i32 = rw_thread; i54_ < 64; i54_ += 64) {
        { let i55_: i32 = 0;
          let t56_: i32 = i54_ + (i55_ * i32(64));
          let t57_: i32 = t56_ % i32(16);
          let t58_: i32 = t56_ / i32(16);
          k0_0_tile4_[(t57_ * i32(20)) + t58_] = held21_[i55_];
        }
        { let i55_: i32 = 1;
          let t56_: i32 = i54_ + (i55_ * i32(64));
          let t57_: i32 = t56_ % i32(16);
          let t58_: i32 = t56_ / i32(16);
          k0_0_tile4_[(t57_ * i32(20)) + t58_] = held21_[i55_];
        }
        { let i55_: i32 = 2;
          let t56_: i32 = i54_ + (i55_ * i32(64));
          let t57_: i32 = t56_ % i32(16);
          let t58_: i32 = t56_ / i32(16);
          k0_0_tile4_[(t57_ * i32(20)) + t58_] = held21_[i55_];
        }
        { let i55_: i32 = 3;
          let t56_: i32 = i54_ + (i55_ * i32(64));
          let t57_: i32 = t56_ % i32(16);
          let t58_: i32 = t56_ / i32(16);
          k0_0_tile4_[(t57_ * i32(20)) + t58_] = held21_[i55_];
        }
      }
      for (var i59_: i32 = rw_thread; i59_ < 64; i59_ += 64) {
        { let i60_: i32 = 0;
          let t61_: i32 = i59_ + (i60_ * i32(64));
          let t62_: i32 = t61_ % i32(16);
          let t63_: i32 = t61_ / i32(16);
          k0_0_tile5_[(t63_ * i32(16)) + t62_] = held22_[i60_];
        }
        { let i60_: i32 = 1;
          let t61_: i32 = i59_ + (i60_ * i32(64));
          let t62_: i32 = t61_ % i32(16);
          let t63_: i32 = t61_ / i32(16);
          k0_0_tile5_[(t63_ * i32(16)) + t62_] = held22_[i60_];
        }
        { let i60_: i32 = 2;
          let t61_: i32 = i59_ + (i60_ * i32(64));
          let t62_: i32 = t61_ % i32(16);
          let t63_: i32 = t61_ / i32(16);
          k0_0_tile5_[(t63_ * i32(16)) + t62_] = held22_[i60_];
        }
        { let i60_: i32 = 3;
          let t61_: i32 = i59_ + (i60_ * i32(64));
          let t62_: i32 = t61_ % i32(16);
          let t63_: i32 = t61_ / i32(16);
          k0_0_tile5_[(t63_ * i32(16)) + t62_] = held22_[i60_];
        }
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  for (var i64_: i32 = rw_thread; i64_ < 64; i64_ += 64) {
    let y65_: i32 = i64_ / i32(8);
    let x66_: i32 = i64_ % i32(8);
    { let i67_: i32 = 0;
      { let i69_: i32 = 0;
        let p70_: i32 = (m3_ + (y65_ * i32(2))) + i67_;
        let p71_: i32 = (x66_ * i32(2)) + i69_;
        if (p71_ < i32(8)) {
          let r72_: f32 = sums6_[(i67_ * i32(2)) + i69_];
          let v73_: i32 = (p70_ * i32(8)) + p71_;
          let v74_: f32 = k0_b2_[v73_];
          let v75_: f32 = r72_ - v74_;
          let v76_: i32 = (p71_ * i32(256)) + p70_;
          k0_b3_[v76_] = v75_;
        }
      }
      { let i69_: i32 = 1;
        let p70_: i32 = (m3_ + (y65_ * i32(2))) + i67_;
        let p71_: i32 = (x66_ * i32(2)) + i69_;
        if (p71_ < i32(8)) {
          let r72_: f32 = sums6_[(i67_ * i32(2)) + i69_];
          let v73_: i32 = (p70_ * i32(8)) + p71_;
          let v74_: f32 = k0_b2_[v73_];
          let v75_: f32 = r72_ - v74_;
          let v76_: i32 = (p71_ * i32(256)) + p70_;
          k0_b3_[v76_] = v75_;
        }
      }
    }
    { let i67_: i32 = 1;
      { let i69_: i32 = 0;
        let p70_: i32 = (m3_ + (y65_ * i32(2))) + i67_;
        let p71_: i32 = (x66_ * i32(2)) + i69_;
        if (p71_ < i32(8)) {
          let r72_: f32 = sums6_[(i67_ * i32(2)) + i69_];
          let v73_: i32 = (p70_ * i32(8)) + p71_;
          let v74_: f32 = k0_b2_[v73_];
          let v75_: f32 = r72_ - v74_;
          let v76_: i32 = (p71_ * i32(256)) + p70_;
          k0_b3_[v76_] = v75_;
        }
      }
      { let i69_: i32 = 1;
        let p70_: i32 = (m3_ + (y65_ * i32(2))) + i67_;
        let p71_: i32 = (x66_ * i32(2)) + i69_;
        if (p71_ < i32(8)) {
          let r72_: f32 = sums6_[(i67_ * i32(2)) + i69_];
          let v73_: i32 = (p70_ * i32(8)) + p71_;
          let v74_: f32 = k0_b2_[v73_];
          let v75_: f32 = r72_ - v74_;
          let v76_: i32 = (p71_ * i32(256)) + p70_;
          k0_b3_[v76_] = v75_;
        }
      }
    }
  }
}

/* contract: mul matmul mul sub
   b0: f32[512], b1: f32[16384], b2: f32[2048], writes b3: f32[512] */

@group(0) @binding(0) var<storage, read_write> k1_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k1_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k1_b2_: array<f32>;
@group(0) @binding(3) var<storage, read_write> k1_b3_: array<f32>;

var<workgroup> k1_0_tile4_: array<f32, 320>;
var<workgroup> k1_0_tile5_: array<f32, 256>;
@compute @workgroup_size(64)
fn k1_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 4u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 4u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  let t2_: i32 = i1_ % i32(4);
  let n3_: i32 = t2_ * i32(16);
  var sums6_: array<f32, 4>;
  { let i7_: i32 = 0;
    sums6_[i7_] = f32(0.0);
  }
  { let i7_: i32 = 1;
    sums6_[i7_] = f32(0.0);
  }
  { let i7_: i32 = 2;
    sums6_[i7_] = f32(0.0);
  }
  { let i7_: i32 = 3;
    sums6_[i7_] = f32(0.0);
  }
  for (var i8_: i32 = rw_thread; i8_ < 256; i8_ += 64) {
    let t9_: i32 = i8_ % i32(16);
    let t10_: i32 = i8_ / i32(16);
    let ok11_: bool = t10_ <= i32(7);
    let p12_: i32 = rw_min_i32(t10_, i32(7));
    let v13_: i32 = (p12_ * i32(256)) + t9_;
    let v14_: f32 = k1_b2_[v13_];
    k1_0_tile4_[(t9_ * i32(20)) + t10_] = select(f32(0.0), v14_, ok11_);
  }
  for (var i15_: i32 = rw_thread; i15_ < 256; i15_ += 64) {
    let t16_: i32 = i15_ % i32(16);
    let t17_: i32 = i15_ / i32(16);
    let p18_: i32 = n3_ + t16_;
    let v19_: i32 = (t17_ * i32(64)) + p18_;
    let v20_: f32 = k1_b1_[v19_];
    k1_0_tile5_[(t17_ * i32(16)) + t16_] = v20_;
  }
  var held21_: array<f32, 4>;
  var held22_: array<f32, 4>;
  workgroupBarrier();
  storageBarrier();
  for (var i23_: i32 = 0; i23_ < 16; i23_ += 1) {
    let k24_: i32 = i23_ + i32(1);
    let ok25_: bool = k24_ < i32(16);
    if (ok25_) {
      let k26_: i32 = k24_ * i32(16);
      for (var i27_: i32 = rw_thread; i27_ < 64; i27_ += 64) {
        { let i28_: i32 = 0;
          let t29_: i32 = i27_ + (i28_ * i32(64));
          let t30_: i32 = t29_ % i32(16);
          let t31_: i32 = t29_ / i32(16);
          let ok32_: bool = t31_ <= i32(7);
          let p33_: i32 = rw_min_i32(t31_, i32(7));
          let p34_: i32 = k26_ + t30_;
          let v35_: i32 = (p33_ * i32(256)) + p34_;
          let v36_: f32 = k1_b2_[v35_];
          held21_[i28_] = select(f32(0.0), v36_, ok32_);
        }
        { let i28_: i32 = 1;
          let t29_: i32 = i27_ + (i28_ * i32(64));
          let t30_: i32 = t29_ % i32(16);
          let t31_: i32 = t29_ / i32(16);
          let ok32_: bool = t31_ <= i32(7);
          let p33_: i32 = rw_min_i32(t31_, i32(7));
          let p34_: i32 = k26_ + t30_;
          let v35_: i32 = (p33_ * i32(256)) + p34_;
          let v36_: f32 = k1_b2_[v35_];
          held21_[i28_] = select(f32(0.0), v36_, ok32_);
        }
        { let i28_: i32 = 2;
          let t29_: i32 = i27_ + (i28_ * i32(64));
          let t30_: i32 = t29_ % i32(16);
          let t31_: i32 = t29_ / i32(16);
          let ok32_: bool = t31_ <= i32(7);
          let p33_: i32 = rw_min_i32(t31_, i32(7));
          let p34_: i32 = k26_ + t30_;
          let v35_: i32 = (p33_ * i32(256)) + p34_;
          let v36_: f32 = k1_b2_[v35_];
          held21_[i28_] = select(f32(0.0), v36_, ok32_);
        }
        { let i28_: i32 = 3;
          let t29_: i32 = i27_ + (i28_ * i32(64));
          let t30_: i32 = t29_ % i32(16);
          let t31_: i32 = t29_ / i32(16);
          let ok32_: bool = t31_ <= i32(7);
          let p33_: i32 = rw_min_i32(t31_, i32(7));
          let p34_: i32 = k26_ + t30_;
          let v35_: i32 = (p33_ * i32(256)) + p34_;
          let v36_: f32 = k1_b2_[v35_];
          held21_[i28_] = select(f32(0.0), v36_, ok32_);
        }
      }
      for (var i37_: i32 = rw_thread; i37_ < 64; i37_ += 64) {
        { let i38_: i32 = 0;
          let t39_: i32 = i37_ + (i38_ * i32(64));
          let t40_: i32 = t39_ % i32(16);
          let t41_: i32 = t39_ / i32(16);
          let p42_: i32 = n3_ + t40_;
          let p43_: i32 = k26_ + t41_;
          let v44_: i32 = (p43_ * i32(64)) + p42_;
          let v45_: f32 = k1_b1_[v44_];
          held22_[i38_] = v45_;
        }
        { let i38_: i32 = 1;
          let t39_: i32 = i37_ + (i38_ * i32(64));
          let t40_: i32 = t39_ % i32(16);
          let t41_: i32 = t39_ / i32(16);
          let p42_: i32 = n3_ + t40_;
          let p43_: i32 = k26_ + t41_;
          let v44_: i32 = (p43_ * i32(64)) + p42_;
          let v45_: f32 = k1_b1_[v44_];
          held22_[i38_] = v45_;
        }
        { let i38_: i32 = 2;
          let t39_: i32 = i37_ + (i38_ * i32(64));
          let t40_: i32 = t39_ % i32(16);
          let t41_: i32 = t39_ / i32(16);
          let p42_: i32 = n3_ + t40_;
          let p43_: i32 = k26_ + t41_;
          let v44_: i32 = (p43_ * i32(64)) + p42_;
          let v45_: f32 = k1_b1_[v44_];
          held22_[i38_] = v45_;
        }
        { let i38_: i32 = 3;
          let t39_: i32 = i37_ + (i38_ * i32(64));
          let t40_: i32 = t39_ % i32(16);
          let t41_: i32 = t39_ / i32(16);
          let p42_: i32 = n3_ + t40_;
          let p43_: i32 = k26_ + t41_;
          let v44_: i32 = (p43_ * i32(64)) + p42_;
          let v45_: f32 = k1_b1_[v44_];
          held22_[i38_] = v45_;
        }
      }
    }
    for (var i46_: i32 = rw_thread; i46_ < 64; i46_ += 64) {
      let y47_: i32 = i46_ / i32(8);
      let x48_: i32 = i46_ % i32(8);
      for (var i49_: i32 = 0; i49_ < 16; i49_ += 1) {
        let v50_: f32 = k1_0_tile4_[(i49_ * i32(20)) + (y47_ * i32(2))];
        let v51_: f32 = k1_0_tile4_[((i49_ * i32(20)) + (y47_ * i32(2))) + i32(1)];
        let v52_: f32 = k1_0_tile5_[(i49_ * i32(16)) + (x48_ * i32(2))];
        let v53_: f32 = k1_0_tile5_[((i49_ * i32(16)) + (x48_ * i32(2))) + i32(1)];
        sums6_[i32(0)] = v50_ * v52_ + sums6_[i32(0)];
        sums6_[i32(1)] = v50_ * v53_ + sums6_[i32(1)];
        sums6_[i32(2)] = v51_ * v52_ + sums6_[i32(2)];
        sums6_[i32(3)] = v51_ * v53_ + sums6_[i32(3)];
      }
    }
    workgroupBarrier();
    storageBarrier();
    if (ok25_) {
      for (var i54_: i32 = rw_thread; i54_ < 64; i54_ += 64) {
        { let i55_: i32 = 0;
          let t56_: i32 = i54_ + (i55_ * i32(64));
          let t57_: i32 = t56_ % i32(16);
          let t58_: i32 = t56_ / i32(16);
          k1_0_tile4_[(t57_ * i32(20)) + t58_] = held21_[i55_];
        }
        { let i55_: i32 = 1;
          let t56_: i32 = i54_ + (i55_ * i32(64));
          let t57_: i32 = t56_ % i32(16);
          let t58_: i32 = t56_ / i32(16);
          k1_0_tile4_[(t57_ * i32(20)) + t58_] = held21_[i55_];
        }
        { let i55_: i32 = 2;
          let t56_: i32 = i54_ + (i55_ * i32(64));
          let t57_: i32 = t56_ % i32(16);
          let t58_: i32 = t56_ / i32(16);
          k1_0_tile4_[(t57_ * i32(20)) + t58_] = held21_[i55_];
        }
        { let i55_: i32 = 3;
          let t56_: i32 = i54_ + (i55_ * i32(64));
          let t57_: i32 = t56_ % i32(16);
          let t58_: i32 = t56_ / i32(16);
          k1_0_tile4_[(t57_ * i32(20)) + t58_] = held21_[i55_];
        }
      }
      for (var i59_: i32 = rw_thread; i59_ < 64; i59_ += 64) {
        { let i60_: i32 = 0;
          let t61_: i32 = i59_ + (i60_ * i32(64));
          let t62_: i32 = t61_ % i32(16);
          let t63_: i32 = t61_ / i32(16);
          k1_0_tile5_[(t63_ * i32(16)) + t62_] = held22_[i60_];
        }
        { let i60_: i32 = 1;
          let t61_: i32 = i59_ + (i60_ * i32(64));
          let t62_: i32 = t61_ % i32(16);
          let t63_: i32 = t61_ / i32(16);
          k1_0_tile5_[(t63_ * i32(16)) + t62_] = held22_[i60_];
        }
        { let i60_: i32 = 2;
          let t61_: i32 = i59_ + (i60_ * i32(64));
          let t62_: i32 = t61_ % i32(16);
          let t63_: i32 = t61_ / i32(16);
          k1_0_tile5_[(t63_ * i32(16)) + t62_] = held22_[i60_];
        }
        { let i60_: i32 = 3;
          let t61_: i32 = i59_ + (i60_ * i32(64));
          let t62_: i32 = t61_ % i32(16);
          let t63_: i32 = t61_ / i32(16);
          k1_0_tile5_[(t63_ * i32(16)) + t62_] = held22_[i60_];
        }
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  for (var i64_: i32 = rw_thread; i64_ < 64; i64_ += 64) {
    let y65_: i32 = i64_ / i32(8);
    let x66_: i32 = i64_ % i32(8);
    { let i67_: i32 = 0;
      { let i69_: i32 = 0;
        let p70_: i32 = (y65_ * i32(2)) + i67_;
        let p71_: i32 = n3_ + ((x66_ * i32(2)) + i69_);
        if (p70_ < i32(8)) {
          let r72_: f32 = sums6_[(i67_ * i32(2)) + i69_];
          let v73_: i32 = (p71_ * i32(8)) + p70_;
          let v74_: f32 = k1_b0_[v73_];
          let v75_: f32 = f32(0.001) * r72_;
          let v76_: f32 = v74_ - v75_;
          k1_b3_[v73_] = v76_;
        }
      }
      { let i69_: i32 = 1;
        let p70_: i32 = (y65_ * i32(2)) + i67_;
        let p71_: i32 = n3_ + ((x66_ * i32(2)) + i69_);
        if (p70_ < i32(8)) {
          let r72_: f32 = sums6_[(i67_ * i32(2)) + i69_];
          let v73_: i32 = (p71_ * i32(8)) + p70_;
          let v74_: f32 = k1_b0_[v73_];
          let v75_: f32 = f32(0.001) * r72_;
          let v76_: f32 = v74_ - v75_;
          k1_b3_[v73_] = v76_;
        }
      }
    }
    { let i67_: i32 = 1;
      { let i69_: i32 = 0;
        let p70_: i32 = (y65_ * i32(2)) + i67_;
        let p71_: i32 = n3_ + ((x66_ * i32(2)) + i69_);
        if (p70_ < i32(8)) {
          let r72_: f32 = sums6_[(i67_ * i32(2)) + i69_];
          let v73_: i32 = (p71_ * i32(8)) + p70_;
          let v74_: f32 = k1_b0_[v73_];
          let v75_: f32 = f32(0.001) * r72_;
          let v76_: f32 = v74_ - v75_;
          k1_b3_[v73_] = v76_;
        }
      }
      { let i69_: i32 = 1;
        let p70_: i32 = (y65_ * i32(2)) + i67_;
        let p71_: i32 = n3_ + ((x66_ * i32(2)) + i69_);
        if (p70_ < i32(8)) {
          let r72_: f32 = sums6_[(i67_ * i32(2)) + i69_];
          let v73_: i32 = (p71_ * i32(8)) + p70_;
          let v74_: f32 = k1_b0_[v73_];
          let v75_: f32 = f32(0.001) * r72_;
          let v76_: f32 = v74_ - v75_;
          k1_b3_[v73_] = v76_;
        }
      }
    }
  }
}
