/* contract: mul matmul mul
   b0: f32[32768], b1: f32[32768], writes b2: f32[65536] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;

var<workgroup> k0_0_tile7_: array<f32, 1152>;
var<workgroup> k0_0_tile8_: array<f32, 1152>;
@compute @workgroup_size(128)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 64u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 64u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  let t2_: i32 = i1_ % i32(4);
  let t3_: i32 = (i1_ / i32(4)) % i32(4);
  let p4_: i32 = (i1_ / i32(4)) / i32(4);
  let m5_: i32 = t3_ * i32(32);
  let n6_: i32 = t2_ * i32(32);
  var sums9_: array<f32, 8>;
  { let i10_: i32 = 0;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 1;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 2;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 3;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 4;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 5;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 6;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 7;
    sums9_[i10_] = f32(0.0);
  }
  let o18_: i32 = p4_ * i32(8192);
  let o26_: i32 = p4_ * i32(8192);
  for (var i11_: i32 = 0; i11_ < 2; i11_ += 1) {
    let k12_: i32 = i11_ * i32(32);
    for (var i13_: i32 = rw_thread; i13_ < 1024; i13_ += 128) {
      let t14_: i32 = i13_ % i32(32);
      let t15_: i32 = i13_ / i32(32);
      let p16_: i32 = m5_ + t15_;
      let p17_: i32 = k12_ + t14_;
      let v19_: i32 = (o18_ + (p16_ * i32(64))) + p17_;
      let v20_: f32 = k0_b0_[v19_];
      k0_0_tile7_[(t14_ * i32(36)) + t15_] = v20_;
    }
    for (var i21_: i32 = rw_thread; i21_ < 1024; i21_ += 128) {
      let t22_: i32 = i21_ % i32(32);
      let t23_: i32 = i21_ / i32(32);
      let p24_: i32 = n6_ + t23_;
      let p25_: i32 = k12_ + t22_;
      let v27_: i32 = (o26_ + (p24_ * i32(64))) + p25_;
      let v28_: f32 = k0_b1_[v27_];
      k0_0_tile8_[(t22_ * i32(36)) + t23_] = v28_;
    }
    workgroupBarrier();
    storageBarrier();
    for (var i29_: i32 = rw_thread; i29_ < 128; i29_ += 128) {
      let y30_: i32 = i29_ / i32(16);
      let x31_: i32 = i29_ % i32(16);
      for (var i32_: i32 = 0; i32_ < 32; i32_ += 1) {
        let v33_: f32 = k0_0_tile7_[(i32_ * i32(36)) + (y30_ * i32(4))];
        let v34_: f32 = k0_0_tile7_[((i32_ * i32(36)) + (y30_ * i32(4))) + i32(1)];
        let v35_: f32 = k0_0_tile7_[((i32_ * i32(36)) + (y30_ * i32(4))) + i32(2)];
        let v36_: f32 = k0_0_tile7_[((i32_ * i32(36)) + (y30_ * i32(4))) + i32(3)];
        let v37_: f32 = k0_0_tile8_[(i32_ * i32(36)) + x31_];
        let v38_: f32 = k0_0_tile8_[((i32_ * i32(36)) + x31_) + i32(16)];
        sums9_[i32(0)] = v33_ * v37_ + sums9_[i32(0)];
        sums9_[i32(1)] = v33_ * v38_ + sums9_[i32(1)];
        sums9_[i32(2)] = v34_ * v37_ + sums9_[i32(2)];
        sums9_[i32(3)] = v34_ * v38_ + sums9_[i32(3)];
        sums9_[i32(4)] = v35_ * v37_ + sums9_[i32(4)];
        sums9_[i32(5)] = v35_ * v38_ + sums9_[i32(5)];
        sums9_[i32(6)] = v36_ * v37_ + sums9_[i32(6)];
        sums9_[i32(7)] = v36_ * v38_ + sums9_[i32(7)];
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  let o48_: i32 = p4_ * i32(16384);
  for (var i39_: i32 = rw_thread; i39_ < 128; i39_ += 128) {
    let y40_: i32 = i39_ / i32(16);
    let x41_: i32 = i39_ % i32(16);
    { let i42_: i32 = 0;
      { let i43_: i32 = 0;
        let p44_: i32 = (m5_ + (y40_ * i32(4))) + i42_;
        let p45_: i32 = (n6_ + x41_) + (i43_ * i32(16));
        let r46_: f32 = sums9_[(i42_ * i32(2)) + i43_];
        let v47_: f32 = r46_ * f32(0.125);
        let v49_: i32 = (o48_ + (p44_ * i32(128))) + p45_;
        k0_b2_[v49_] = v47_;
      }
      { let i43_: i32 = 1;
        let p44_: i32 = (m5_ + (y40_ * i32(4))) + i42_;
        let p45_: i32 = (n6_ + x41_) + (i43_ * i32(16));
        let r46_: f32 = sums9_[(i42_ * i32(2)) + i43_];
        let v47_: f32 = r46_ * f32(0.125);
        let v49_: i32 = (o48_ + (p44_ * i32(128))) + p45_;
        k0_b2_[v49_] = v47_;
      }
    }
    { let i42_: i32 = 1;
      { let i43_: i32 = 0;
        let p44_: i32 = (m5_ + (y40_ * i32(4))) + i42_;
        let p45_: i32 = (n6_ + x41_) + (i43_ * i32(16));
        let r46_: f32 = sums9_[(i42_ * i32(2)) + i43_];
        let v47_: f32 = r46_ * f32(0.125);
        let v49_: i32 = (o48_ + (p44_ * i32(128))) + p45_;
        k0_b2_[v49_] = v47_;
      }
      { let i43_: i32 = 1;
        let p44_: i32 = (m5_ + (y40_ * i32(4))) + i42_;
        let p45_: i32 = (n6_ + x41_) + (i43_ * i32(16));
        let r46_: f32 = sums9_[(i42_ * i32(2)) + i43_];
        let v47_: f32 = r46_ * f32(0.125);
        let v49_: i32 = (o48_ + (p44_ * i32(128))) + p45_;
        k0_b2_[v49_] = v47_;
      }
    }
    { let i42_: i32 = 2;
      { let i43_: i32 = 0;
        let p44_: i32 = (m5_ + (y40_ * i32(4))) + i42_;
        let p45_: i32 = (n6_ + x41_) + (i43_ * i32(16));
        let r46_: f32 = sums9_[(i42_ * i32(2)) + i43_];
        let v47_: f32 = r46_ * f32(0.125);
        let v49_: i32 = (o48_ + (p44_ * i32(128))) + p45_;
        k0_b2_[v49_] = v47_;
      }
      { let i43_: i32 = 1;
        let p44_: i32 = (m5_ + (y40_ * i32(4))) + i42_;
        let p45_: i32 = (n6_ + x41_) + (i43_ * i32(16));
        let r46_: f32 = sums9_[(i42_ * i32(2)) + i43_];
        let v47_: f32 = r46_ * f32(0.125);
        let v49_: i32 = (o48_ + (p44_ * i32(128))) + p45_;
        k0_b2_[v49_] = v47_;
      }
    }
    { let i42_: i32 = 3;
      { let i43_: i32 = 0;
        let p44_: i32 = (m5_ + (y40_ * i32(4))) + i42_;
        let p45_: i32 = (n6_ + x41_) + (i43_ * i32(16));
        let r46_: f32 = sums9_[(i42_ * i32(2)) + i43_];
        let v47_: f32 = r46_ * f32(0.125);
        let v49_: i32 = (o48_ + (p44_ * i32(128))) + p45_;
        k0_b2_[v49_] = v47_;
      }
      { let i43_: i32 = 1;
        let p44_: i32 = (m5_ + (y40_ * i32(4))) + i42_;
        let p45_: i32 = (n6_ + x41_) + (i43_ * i32(16));
        let r46_: f32 = sums9_[(i42_ * i32(2)) + i43_];
        let v47_: f32 = r46_ * f32(0.125);
        let v49_: i32 = (o48_ + (p44_ * i32(128))) + p45_;
        k0_b2_[v49_] = v47_;
      }
    }
  }
}

/* row: max sub exp sum recip
   b0: f32[65536], writes b1: f32[65536], writes b2: f32[512] */

@group(0) @binding(0) var<storage, read_write> k1_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k1_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k1_b2_: array<f32>;

var<workgroup> k1_0_reduce_a2_: array<f32, 32>;
var<workgroup> k1_0_row7_: array<f32, 128>;
var<workgroup> k1_0_reduce_a8_: array<f32, 32>;
@compute @workgroup_size(32)
fn k1_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 512u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 512u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  var a2_: f32 = -bitcast<f32>(rw_inf_bits);
  let o4_: i32 = i1_ * i32(128);
  for (var i3_: i32 = rw_thread; i3_ < 128; i3_ += 32) {
    let v5_: i32 = o4_ + i3_;
    let v6_: f32 = k1_b0_[v5_];
    a2_ = rw_max_f32(a2_, v6_);
  }
  k1_0_reduce_a2_[rw_thread] = a2_;
  workgroupBarrier();
  for (var rw_s = 16; rw_s > 0; rw_s >>= 1u) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) {
      k1_0_reduce_a2_[rw_thread] = rw_max_f32(k1_0_reduce_a2_[rw_thread], k1_0_reduce_a2_[rw_thread + rw_s]);
    }
    workgroupBarrier();
  }
  a2_ = k1_0_reduce_a2_[0];
  workgroupBarrier();
  var a8_: f32 = f32(0.0);
  let o10_: i32 = i1_ * i32(128);
  for (var i9_: i32 = rw_thread; i9_ < 128; i9_ += 32) {
    let v11_: i32 = o10_ + i9_;
    let v12_: f32 = k1_b0_[v11_];
    let v13_: f32 = v12_ - a2_;
    let v14_: f32 = rw_exp_f32(v13_);
    a8_ = a8_ + v14_;
    k1_0_row7_[i9_] = v14_;
  }
  k1_0_reduce_a8_[rw_thread] = a8_;
  workgroupBarrier();
  for (var rw_s = 16; rw_s > 0; rw_s >>= 1u) {
    if (rw_thread < rw_s && rw_thread + rw_s < 32) {
      k1_0_reduce_a8_[rw_thread] = (k1_0_reduce_a8_[rw_thread] + k1_0_reduce_a8_[rw_thread + rw_s]);
    }
    workgroupBarrier();
  }
  a8_ = k1_0_reduce_a8_[0];
  workgroupBarrier();
  workgroupBarrier();
  storageBarrier();
  let o17_: i32 = i1_ * i32(128);
  for (var i15_: i32 = rw_thread; i15_ < 128; i15_ += 32) {
    let v16_: f32 = k1_0_row7_[i15_];
    let v18_: i32 = o17_ + i15_;
    k1_b1_[v18_] = v16_;
  }
  let v20_: f32 = 1 / a8_;
  for (var i19_: i32 = rw_thread; i19_ < 1; i19_ += 32) {
    k1_b2_[i1_] = v20_;
  }
}

/* contract: mul mul matmul
   b0: f32[65536], b1: f32[512], b2: f32[32768], writes b3: f32[32768] */

@group(0) @binding(0) var<storage, read_write> k2_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k2_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k2_b2_: array<f32>;
@group(0) @binding(3) var<storage, read_write> k2_b3_: array<f32>;

var<workgroup> k2_0_tile7_: array<f32, 1152>;
var<workgroup> k2_0_tile8_: array<f32, 1024>;
@compute @workgroup_size(128)
fn k2_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 32u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 32u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  let t2_: i32 = i1_ % i32(2);
  let t3_: i32 = (i1_ / i32(2)) % i32(4);
  let p4_: i32 = (i1_ / i32(2)) / i32(4);
  let m5_: i32 = t3_ * i32(32);
  let n6_: i32 = t2_ * i32(32);
  var sums9_: array<f32, 8>;
  { let i10_: i32 = 0;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 1;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 2;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 3;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 4;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 5;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 6;
    sums9_[i10_] = f32(0.0);
  }
  { let i10_: i32 = 7;
    sums9_[i10_] = f32(0.0);
  }
  let o18_: i32 = p4_ * i32(16384);
  let o21_: i32 = p4_ * i32(128);
  let o29_: i32 = p4_ * i32(8192);
  for (var i11_: i32 = 0; i11_ < 4; i11_ += 1) {
    let k12_: i32 = i11_ * i32(32);
    for (var i13_: i32 = rw_thread; i13_ < 1024; i13_ += 128) {
      let t14_: i32 = i13_ % i32(32);
      let t15_: i32 = i13_ / i32(32);
      let p16_: i32 = m5_ + t15_;
      let p17_: i32 = k12_ + t14_;
      let v19_: i32 = (o18_ + (p16_ * i32(128))) + p17_;
      let v20_: f32 = k2_b0_[v19_];
      let v22_: i32 = o21_ + p16_;
      let v23_: f32 = k2_b1_[v22_];
      k2_0_tile7_[(t14_ * i32(36)) + t15_] = v20_ * v23_;
    }
    for (var i24_: i32 = rw_thread; i24_ < 1024; i24_ += 128) {
      let t25_: i32 = i24_ % i32(32);
      let t26_: i32 = i24_ / i32(32);
      let p27_: i32 = n6_ + t25_;
      let p28_: i32 = k12_ + t26_;
      let v30_: i32 = (o29_ + (p28_ * i32(64))) + p27_;
      let v31_: f32 = k2_b2_[v30_];
      k2_0_tile8_[(t26_ * i32(32)) + t25_] = v31_;
    }
    workgroupBarrier();
    storageBarrier();
    for (var i32_: i32 = rw_thread; i32_ < 128; i32_ += 128) {
      let y33_: i32 = i32_ / i32(16);
      let x34_: i32 = i32_ % i32(16);
      for (var i35_: i32 = 0; i35_ < 32; i35_ += 1) {
        let v36_: f32 = k2_0_tile7_[(i35_ * i32(36)) + (y33_ * i32(4))];
        let v37_: f32 = k2_0_tile7_[((i35_ * i32(36)) + (y33_ * i32(4))) + i32(1)];
        let v38_: f32 = k2_0_tile7_[((i35_ * i32(36)) + (y33_ * i32(4))) + i32(2)];
        let v39_: f32 = k2_0_tile7_[((i35_ * i32(36)) + (y33_ * i32(4))) + i32(3)];
        let v40_: f32 = k2_0_tile8_[(i35_ * i32(32)) + x34_];
        let v41_: f32 = k2_0_tile8_[((i35_ * i32(32)) + x34_) + i32(16)];
        sums9_[i32(0)] = v36_ * v40_ + sums9_[i32(0)];
        sums9_[i32(1)] = v36_ * v41_ + sums9_[i32(1)];
        sums9_[i32(2)] = v37_ * v40_ + sums9_[i32(2)];
        sums9_[i32(3)] = v37_ * v41_ + sums9_[i32(3)];
        sums9_[i32(4)] = v38_ * v40_ + sums9_[i32(4)];
        sums9_[i32(5)] = v38_ * v41_ + sums9_[i32(5)];
        sums9_[i32(6)] = v39_ * v40_ + sums9_[i32(6)];
        sums9_[i32(7)] = v39_ * v41_ + sums9_[i32(7)];
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  let o50_: i32 = p4_ * i32(8192);
  for (var i42_: i32 = rw_thread; i42_ < 128; i42_ += 128) {
    let y43_: i32 = i42_ / i32(16);
    let x44_: i32 = i42_ % i32(16);
    { let i45_: i32 = 0;
      { let i46_: i32 = 0;
        let p47_: i32 = (m5_ + (y43_ * i32(4))) + i45_;
        let p48_: i32 = (n6_ + x44_) + (i46_ * i32(16));
        let r49_: f32 = sums9_[(i45_ * i32(2)) + i46_];
        let v51_: i32 = (o50_ + (p47_ * i32(64))) + p48_;
        k2_b3_[v51_] = r49_;
      }
      { let i46_: i32 = 1;
        let p47_: i32 = (m5_ + (y43_ * i32(4))) + i45_;
        let p48_: i32 = (n6_ + x44_) + (i46_ * i32(16));
        let r49_: f32 = sums9_[(i45_ * i32(2)) + i46_];
        let v51_: i32 = (o50_ + (p47_ * i32(64))) + p48_;
        k2_b3_[v51_] = r49_;
      }
    }
    { let i45_: i32 = 1;
      { let i46_: i32 = 0;
        let p47_: i32 = (m5_ + (y43_ * i32(4))) + i45_;
        let p48_: i32 = (n6_ + x44_) + (i46_ * i32(16));
        let r49_: f32 = sums9_[(i45_ * i32(2)) + i46_];
        let v51_: i32 = (o50_ + (p47_ * i32(64))) + p48_;
        k2_b3_[v51_] = r49_;
      }
      { let i46_: i32 = 1;
        let p47_: i32 = (m5_ + (y43_ * i32(4))) + i45_;
        let p48_: i32 = (n6_ + x44_) + (i46_ * i32(16));
        let r49_: f32 = sums9_[(i45_ * i32(2)) + i46_];
        let v51_: i32 = (o50_ + (p47_ * i32(64))) + p48_;
        k2_b3_[v51_] = r49_;
      }
    }
    { let i45_: i32 = 2;
      { let i46_: i32 = 0;
        let p47_: i32 = (m5_ + (y43_ * i32(4))) + i45_;
        let p48_: i32 = (n6_ + x44_) + (i46_ * i32(16));
        let r49_: f32 = sums9_[(i45_ * i32(2)) + i46_];
        let v51_: i32 = (o50_ + (p47_ * i32(64))) + p48_;
        k2_b3_[v51_] = r49_;
      }
      { let i46_: i32 = 1;
        let p47_: i32 = (m5_ + (y43_ * i32(4))) + i45_;
        let p48_: i32 = (n6_ + x44_) + (i46_ * i32(16));
        let r49_: f32 = sums9_[(i45_ * i32(2)) + i46_];
        let v51_: i32 = (o50_ + (p47_ * i32(64))) + p48_;
        k2_b3_[v51_] = r49_;
      }
    }
    { let i45_: i32 = 3;
      { let i46_: i32 = 0;
        let p47_: i32 = (m5_ + (y43_ * i32(4))) + i45_;
        let p48_: i32 = (n6_ + x44_) + (i46_ * i32(16));
        let r49_: f32 = sums9_[(i45_ * i32(2)) + i46_];
        let v51_: i32 = (o50_ + (p47_ * i32(64))) + p48_;
        k2_b3_[v51_] = r49_;
      }
      { let i46_: i32 = 1;
        let p47_: i32 = (m5_ + (y43_ * i32(4))) + i45_;
        let p48_: i32 = (n6_ + x44_) + (i46_ * i32(16));
        let r49_: f32 = sums9_[(i45_ * i32(2)) + i46_];
        let v51_: i32 = (o50_ + (p47_ * i32(64))) + p48_;
        k2_b3_[v51_] = r49_;
      }
    }
  }
}
