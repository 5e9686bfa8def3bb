/* contract: mul matmul add relu
   b0: f32[8192], b1: f32[8192], b2: f32[128], writes b3: f32[16384] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;
@group(0) @binding(3) var<storage, read_write> k0_b3_: array<f32>;

var<workgroup> k0_0_tile6_: array<f32, 256>;
var<workgroup> k0_0_tile7_: array<f32, 256>;
@compute @workgroup_size(64)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 64u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 64u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  let t2_: i32 = i1_ % i32(8);
  let t3_: i32 = (i1_ / i32(8)) % i32(8);
  let m4_: i32 = t3_ * i32(16);
  let n5_: i32 = t2_ * i32(16);
  var sums8_: array<f32, 4>;
  { let i9_: i32 = 0;
    sums8_[i9_] = f32(0.0);
  }
  { let i9_: i32 = 1;
    sums8_[i9_] = f32(0.0);
  }
  { let i9_: i32 = 2;
    sums8_[i9_] = f32(0.0);
  }
  { let i9_: i32 = 3;
    sums8_[i9_] = f32(0.0);
  }
  for (var i10_: i32 = 0; i10_ < 4; i10_ += 1) {
    let k11_: i32 = i10_ * i32(16);
    for (var i12_: i32 = rw_thread; i12_ < 256; i12_ += 64) {
      let t13_: i32 = i12_ % i32(16);
      let t14_: i32 = i12_ / i32(16);
      let p15_: i32 = m4_ + t14_;
      let p16_: i32 = k11_ + t13_;
      let v17_: i32 = (p15_ * i32(64)) + p16_;
      let v18_: f32 = k0_b0_[v17_];
      k0_0_tile6_[(t13_ * i32(16)) + t14_] = v18_;
    }
    for (var i19_: i32 = rw_thread; i19_ < 256; i19_ += 64) {
      let t20_: i32 = i19_ % i32(16);
      let t21_: i32 = i19_ / i32(16);
      let p22_: i32 = n5_ + t20_;
      let p23_: i32 = k11_ + t21_;
      let v24_: i32 = (p23_ * i32(128)) + p22_;
      let v25_: f32 = k0_b1_[v24_];
      k0_0_tile7_[(t21_ * i32(16)) + t20_] = v25_;
    }
    workgroupBarrier();
    storageBarrier();
    for (var i26_: i32 = rw_thread; i26_ < 64; i26_ += 64) {
      let y27_: i32 = i26_ / i32(8);
      let x28_: i32 = i26_ % i32(8);
      for (var i29_: i32 = 0; i29_ < 16; i29_ += 1) {
        let v30_: f32 = k0_0_tile6_[(i29_ * i32(16)) + (y27_ * i32(2))];
        let v31_: f32 = k0_0_tile6_[((i29_ * i32(16)) + (y27_ * i32(2))) + i32(1)];
        let v32_: f32 = k0_0_tile7_[(i29_ * i32(16)) + x28_];
        let v33_: f32 = k0_0_tile7_[((i29_ * i32(16)) + x28_) + i32(8)];
        sums8_[i32(0)] = v30_ * v32_ + sums8_[i32(0)];
        sums8_[i32(1)] = v30_ * v33_ + sums8_[i32(1)];
        sums8_[i32(2)] = v31_ * v32_ + sums8_[i32(2)];
        sums8_[i32(3)] = v31_ * v33_ + sums8_[i32(3)];
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  for (var i34_: i32 = rw_thread; i34_ < 64; i34_ += 64) {
    let y35_: i32 = i34_ / i32(8);
    let x36_: i32 = i34_ % i32(8);
    { let i37_: i32 = 0;
      { let i38_: i32 = 0;
        let p39_: i32 = (m4_ + (y35_ * i32(2))) + i37_;
        let p40_: i32 = (n5_ + x36_) + (i38_ * i32(8));
        let r41_: f32 = sums8_[(i37_ * i32(2)) + i38_];
        let v42_: f32 = k0_b2_[p40_];
        let v43_: f32 = r41_ + v42_;
        let v44_: f32 = rw_max_f32(v43_, f32(0.0));
        let v45_: i32 = (p39_ * i32(128)) + p40_;
        k0_b3_[v45_] = v44_;
      }
      { let i38_: i32 = 1;
        let p39_: i32 = (m4_ + (y35_ * i32(2))) + i37_;
        let p40_: i32 = (n5_ + x36_) + (i38_ * i32(8));
        let r41_: f32 = sums8_[(i37_ * i32(2)) + i38_];
        let v42_: f32 = k0_b2_[p40_];
        let v43_: f32 = r41_ + v42_;
        let v44_: f32 = rw_max_f32(v43_, f32(0.0));
        let v45_: i32 = (p39_ * i32(128)) + p40_;
        k0_b3_[v45_] = v44_;
      }
    }
    { let i37_: i32 = 1;
      { let i38_: i32 = 0;
        let p39_: i32 = (m4_ + (y35_ * i32(2))) + i37_;
        let p40_: i32 = (n5_ + x36_) + (i38_ * i32(8));
        let r41_: f32 = sums8_[(i37_ * i32(2)) + i38_];
        let v42_: f32 = k0_b2_[p40_];
        let v43_: f32 = r41_ + v42_;
        let v44_: f32 = rw_max_f32(v43_, f32(0.0));
        let v45_: i32 = (p39_ * i32(128)) + p40_;
        k0_b3_[v45_] = v44_;
      }
      { let i38_: i32 = 1;
        let p39_: i32 = (m4_ + (y35_ * i32(2))) + i37_;
        let p40_: i32 = (n5_ + x36_) + (i38_ * i32(8));
        let r41_: f32 = sums8_[(i37_ * i32(2)) + i38_];
        let v42_: f32 = k0_b2_[p40_];
        let v43_: f32 = r41_ + v42_;
        let v44_: f32 = rw_max_f32(v43_, f32(0.0));
        let v45_: i32 = (p39_ * i32(128)) + p40_;
        k0_b3_[v45_] = v44_;
      }
    }
  }
}
