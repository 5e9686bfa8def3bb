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
  for (var i8_: i32 = 0; i8_ < 4; i8_ += 1) {
    let k9_: i32 = i8_ * i32(16);
    for (var i10_: i32 = rw_thread; i10_ < 256; i10_ += 64) {
      let t11_: i32 = i10_ % i32(16);
      let t12_: i32 = i10_ / i32(16);
      let p13_: i32 = m3_ + t12_;
      let p14_: i32 = k9_ + t11_;
      let v15_: i32 = (p13_ * i32(64)) + p14_;
      let v16_: f32 = k0_b0_[v15_];
      k0_0_tile4_[(t11_ * i32(20)) + t12_] = v16_;
    }
    for (var i17_: i32 = rw_thread; i17_ < 256; i17_ += 64) {
      let t18_: i32 = i17_ % i32(16);
      let t19_: i32 = i17_ / i32(16);
      let ok20_: bool = t18_ <= i32(7);
      let p21_: i32 = rw_min_i32(t18_, i32(7));
      let p22_: i32 = k9_ + t19_;
      let v23_: i32 = (p22_ * i32(8)) + p21_;
      let v24_: f32 = k0_b1_[v23_];
      k0_0_tile5_[(t19_ * i32(16)) + t18_] = select(f32(0.0), v24_, ok20_);
    }
    workgroupBarrier();
    storageBarrier();
    for (var i25_: i32 = rw_thread; i25_ < 64; i25_ += 64) {
      let y26_: i32 = i25_ / i32(8);
      let x27_: i32 = i25_ % i32(8);
      for (var i28_: i32 = 0; i28_ < 16; i28_ += 1) {
        let v29_: f32 = k0_0_tile4_[(i28_ * i32(20)) + (y26_ * i32(2))];
        let v30_: f32 = k0_0_tile4_[((i28_ * i32(20)) + (y26_ * i32(2))) + i32(1)];
        let v31_: f32 = k0_0_tile5_[(i28_ * i32(16)) + (x27_ * i32(2))];
        let v32_: f32 = k0_0_tile5_[((i28_ * i32(16)) + (x27_ * i32(2))) + i32(1)];
        sums6_[i32(0)] = v29_ * v31_ + sums6_[i32(0)];
        sums6_[i32(1)] = v29_ * v32_ + sums6_[i32(1)];
        sums6_[i32(2)] = v30_ * v31_ + sums6_[i32(2)];
        sums6_[i32(3)] = v30_ * v32_ + sums6_[i32(3)];
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  for (var i33_: i32 = rw_thread; i33_ < 64; i33_ += 64) {
    let y34_: i32 = i33_ / i32(8);
    let x35_: i32 = i33_ % i32(8);
    { let i36_: i32 = 0;
      { let i38_: i32 = 0;
        let p39_: i32 = (m3_ + (y34_ * i32(2))) + i36_;
        let p40_: i32 = (x35_ * i32(2)) + i38_;
        if (p40_ < i32(8)) {
          let r41_: f32 = sums6_[(i36_ * i32(2)) + i38_];
          let v42_: i32 = (p39_ * i32(8)) + p40_;
          let v43_: f32 = k0_b2_[v42_];
          let v44_: f32 = r41_ - v43_;
          let v45_: i32 = (p40_ * i32(256)) + p39_;
          k0_b3_[v45_] = v44_;
        }
      }
      { let i38_: i32 = 1;
        let p39_: i32 = (m3_ + (y34_ * i32(2))) + i36_;
        let p40_: i32 = (x35_ * i32(2)) + i38_;
        if (p40_ < i32(8)) {
          let r41_: f32 = sums6_[(i36_ * i32(2)) + i38_];
          let v42_: i32 = (p39_ * i32(8)) + p40_;
          let v43_: f32 = k0_b2_[v42_];
          let v44_: f32 = r41_ - v43_;
          let v45_: i32 = (p40_ * i32(256)) + p39_;
          k0_b3_[v45_] = v44_;
        }
      }
    }
    { let i36_: i32 = 1;
      { let i38_: i32 = 0;
        let p39_: i32 = (m3_ + (y34_ * i32(2))) + i36_;
        let p40_: i32 = (x35_ * i32(2)) + i38_;
        if (p40_ < i32(8)) {
          let r41_: f32 = sums6_[(i36_ * i32(2)) + i38_];
          let v42_: i32 = (p39_ * i32(8)) + p40_;
          let v43_: f32 = k0_b2_[v42_];
          let v44_: f32 = r41_ - v43_;
          let v45_: i32 = (p40_ * i32(256)) + p39_;
          k0_b3_[v45_] = v44_;
        }
      }
      { let i38_: i32 = 1;
        let p39_: i32 = (m3_ + (y34_ * i32(2))) + i36_;
        let p40_: i32 = (x35_ * i32(2)) + i38_;
        if (p40_ < i32(8)) {
          let r41_: f32 = sums6_[(i36_ * i32(2)) + i38_];
          let v42_: i32 = (p39_ * i32(8)) + p40_;
          let v43_: f32 = k0_b2_[v42_];
          let v44_: f32 = r41_ - v43_;
          let v45_: i32 = (p40_ * i32(256)) + p39_;
          k0_b3_[v45_] = v44_;
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
  for (var i8_: i32 = 0; i8_ < 16; i8_ += 1) {
    let k9_: i32 = i8_ * i32(16);
    for (var i10_: i32 = rw_thread; i10_ < 256; i10_ += 64) {
      let t11_: i32 = i10_ % i32(16);
      let t12_: i32 = i10_ / i32(16);
      let ok13_: bool = t12_ <= i32(7);
      let p14_: i32 = rw_min_i32(t12_, i32(7));
      let p15_: i32 = k9_ + t11_;
      let v16_: i32 = (p14_ * i32(256)) + p15_;
      let v17_: f32 = k1_b2_[v16_];
      k1_0_tile4_[(t11_ * i32(20)) + t12_] = select(f32(0.0), v17_, ok13_);
    }
    for (var i18_: i32 = rw_thread; i18_ < 256; i18_ += 64) {
      let t19_: i32 = i18_ % i32(16);
      let t20_: i32 = i18_ / i32(16);
      let p21_: i32 = n3_ + t19_;
      let p22_: i32 = k9_ + t20_;
      let v23_: i32 = (p22_ * i32(64)) + p21_;
      let v24_: f32 = k1_b1_[v23_];
      k1_0_tile5_[(t20_ * i32(16)) + t19_] = v24_;
    }
    workgroupBarrier();
    storageBarrier();
    for (var i25_: i32 = rw_thread; i25_ < 64; i25_ += 64) {
      let y26_: i32 = i25_ / i32(8);
      let x27_: i32 = i25_ % i32(8);
      for (var i28_: i32 = 0; i28_ < 16; i28_ += 1) {
        let v29_: f32 = k1_0_tile4_[(i28_ * i32(20)) + (y26_ * i32(2))];
        let v30_: f32 = k1_0_tile4_[((i28_ * i32(20)) + (y26_ * i32(2))) + i32(1)];
        let v31_: f32 = k1_0_tile5_[(i28_ * i32(16)) + (x27_ * i32(2))];
        let v32_: f32 = k1_0_tile5_[((i28_ * i32(16)) + (x27_ * i32(2))) + i32(1)];
        sums6_[i32(0)] = v29_ * v31_ + sums6_[i32(0)];
        sums6_[i32(1)] = v29_ * v32_ + sums6_[i32(1)];
        sums6_[i32(2)] = v30_ * v31_ + sums6_[i32(2)];
        sums6_[i32(3)] = v30_ * v32_ + sums6_[i32(3)];
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  for (var i33_: i32 = rw_thread; i33_ < 64; i33_ += 64) {
    let y34_: i32 = i33_ / i32(8);
    let x35_: i32 = i33_ % i32(8);
    { let i36_: i32 = 0;
      { let i38_: i32 = 0;
        let p39_: i32 = (y34_ * i32(2)) + i36_;
        let p40_: i32 = n3_ + ((x35_ * i32(2)) + i38_);
        if (p39_ < i32(8)) {
          let r41_: f32 = sums6_[(i36_ * i32(2)) + i38_];
          let v42_: i32 = (p40_ * i32(8)) + p39_;
          let v43_: f32 = k1_b0_[v42_];
          let v44_: f32 = f32(0.001) * r41_;
          let v45_: f32 = v43_ - v44_;
          k1_b3_[v42_] = v45_;
        }
      }
      { let i38_: i32 = 1;
        let p39_: i32 = (y34_ * i32(2)) + i36_;
        let p40_: i32 = n3_ + ((x35_ * i32(2)) + i38_);
        if (p39_ < i32(8)) {
          let r41_: f32 = sums6_[(i36_ * i32(2)) + i38_];
          let v42_: i32 = (p40_ * i32(8)) + p39_;
          let v43_: f32 = k1_b0_[v42_];
          let v44_: f32 = f32(0.001) * r41_;
          let v45_: f32 = v43_ - v44_;
          k1_b3_[v42_] = v45_;
        }
      }
    }
    { let i36_: i32 = 1;
      { let i38_: i32 = 0;
        let p39_: i32 = (y34_ * i32(2)) + i36_;
        let p40_: i32 = n3_ + ((x35_ * i32(2)) + i38_);
        if (p39_ < i32(8)) {
          let r41_: f32 = sums6_[(i36_ * i32(2)) + i38_];
          let v42_: i32 = (p40_ * i32(8)) + p39_;
          let v43_: f32 = k1_b0_[v42_];
          let v44_: f32 = f32(0.001) * r41_;
          let v45_: f32 = v43_ - v44_;
          k1_b3_[v42_] = v45_;
        }
      }
      { let i38_: i32 = 1;
        let p39_: i32 = (y34_ * i32(2)) + i36_;
        let p40_: i32 = n3_ + ((x35_ * i32(2)) + i38_);
        if (p39_ < i32(8)) {
          let r41_: f32 = sums6_[(i36_ * i32(2)) + i38_];
          let v42_: i32 = (p40_ * i32(8)) + p39_;
          let v43_: f32 = k1_b0_[v42_];
          let v44_: f32 = f32(0.001) * r41_;
          let v45_: f32 = v43_ - v44_;
          k1_b3_[v42_] = v45_;
        }
      }
    }
  }
}
