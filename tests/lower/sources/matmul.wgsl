/* contract: mul matmul
   b0: f32[32768], b1: f32[24576], writes b2: f32[49152] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;

var<workgroup> k0_0_tile6_: array<f32, 1152>;
var<workgroup> k0_0_tile7_: array<f32, 1024>;
@compute @workgroup_size(128)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 48u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 48u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  let t2_: i32 = i1_ % i32(6);
  let t3_: i32 = (i1_ / i32(6)) % i32(8);
  let m4_: i32 = t3_ * i32(32);
  let n5_: i32 = t2_ * i32(32);
  var sums8_: array<f32, 8>;
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
  { let i9_: i32 = 4;
    sums8_[i9_] = f32(0.0);
  }
  { let i9_: i32 = 5;
    sums8_[i9_] = f32(0.0);
  }
  { let i9_: i32 = 6;
    sums8_[i9_] = f32(0.0);
  }
  { let i9_: i32 = 7;
    sums8_[i9_] = f32(0.0);
  }
  for (var i10_: i32 = 0; i10_ < 4; i10_ += 1) {
    let k11_: i32 = i10_ * i32(32);
    for (var i12_: i32 = rw_thread; i12_ < 1024; i12_ += 128) {
      let t13_: i32 = i12_ % i32(32);
      let t14_: i32 = i12_ / i32(32);
      let p15_: i32 = m4_ + t14_;
      let p16_: i32 = k11_ + t13_;
      let v17_: i32 = (p15_ * i32(128)) + p16_;
      let v18_: f32 = k0_b0_[v17_];
      k0_0_tile6_[(t13_ * i32(36)) + t14_] = v18_;
    }
    for (var i19_: i32 = rw_thread; i19_ < 1024; i19_ += 128) {
      let t20_: i32 = i19_ % i32(32);
      let t21_: i32 = i19_ / i32(32);
      let p22_: i32 = n5_ + t20_;
      let p23_: i32 = k11_ + t21_;
      let v24_: i32 = (p23_ * i32(192)) + p22_;
      let v25_: f32 = k0_b1_[v24_];
      k0_0_tile7_[(t21_ * i32(32)) + t20_] = v25_;
    }
    workgroupBarrier();
    storageBarrier();
    for (var i26_: i32 = rw_thread; i26_ < 128; i26_ += 128) {
      let y27_: i32 = i26_ / i32(16);
      let x28_: i32 = i26_ % i32(16);
      for (var i29_: i32 = 0; i29_ < 32; i29_ += 1) {
        let v30_: f32 = k0_0_tile6_[(i29_ * i32(36)) + (y27_ * i32(4))];
        let v31_: f32 = k0_0_tile6_[((i29_ * i32(36)) + (y27_ * i32(4))) + i32(1)];
        let v32_: f32 = k0_0_tile6_[((i29_ * i32(36)) + (y27_ * i32(4))) + i32(2)];
        let v33_: f32 = k0_0_tile6_[((i29_ * i32(36)) + (y27_ * i32(4))) + i32(3)];
        let v34_: f32 = k0_0_tile7_[(i29_ * i32(32)) + (x28_ * i32(2))];
        let v35_: f32 = k0_0_tile7_[((i29_ * i32(32)) + (x28_ * i32(2))) + i32(1)];
        sums8_[i32(0)] = v30_ * v34_ + sums8_[i32(0)];
        sums8_[i32(1)] = v30_ * v35_ + sums8_[i32(1)];
        sums8_[i32(2)] = v31_ * v34_ + sums8_[i32(2)];
        sums8_[i32(3)] = v31_ * v35_ + sums8_[i32(3)];
        sums8_[i32(4)] = v32_ * v34_ + sums8_[i32(4)];
        sums8_[i32(5)] = v32_ * v35_ + sums8_[i32(5)];
        sums8_[i32(6)] = v33_ * v34_ + sums8_[i32(6)];
        sums8_[i32(7)] = v33_ * v35_ + sums8_[i32(7)];
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  for (var i36_: i32 = rw_thread; i36_ < 128; i36_ += 128) {
    let y37_: i32 = i36_ / i32(16);
    let x38_: i32 = i36_ % i32(16);
    { let i39_: i32 = 0;
      { let i41_: i32 = 0;
        let p42_: i32 = (m4_ + (y37_ * i32(4))) + i39_;
        let p43_: i32 = n5_ + ((x38_ * i32(2)) + i41_);
        let r44_: f32 = sums8_[(i39_ * i32(2)) + i41_];
        let v45_: i32 = (p42_ * i32(192)) + p43_;
        k0_b2_[v45_] = r44_;
      }
      { let i41_: i32 = 1;
        let p42_: i32 = (m4_ + (y37_ * i32(4))) + i39_;
        let p43_: i32 = n5_ + ((x38_ * i32(2)) + i41_);
        let r44_: f32 = sums8_[(i39_ * i32(2)) + i41_];
        let v45_: i32 = (p42_ * i32(192)) + p43_;
        k0_b2_[v45_] = r44_;
      }
    }
    { let i39_: i32 = 1;
      { let i41_: i32 = 0;
        let p42_: i32 = (m4_ + (y37_ * i32(4))) + i39_;
        let p43_: i32 = n5_ + ((x38_ * i32(2)) + i41_);
        let r44_: f32 = sums8_[(i39_ * i32(2)) + i41_];
        let v45_: i32 = (p42_ * i32(192)) + p43_;
        k0_b2_[v45_] = r44_;
      }
      { let i41_: i32 = 1;
        let p42_: i32 = (m4_ + (y37_ * i32(4))) + i39_;
        let p43_: i32 = n5_ + ((x38_ * i32(2)) + i41_);
        let r44_: f32 = sums8_[(i39_ * i32(2)) + i41_];
        let v45_: i32 = (p42_ * i32(192)) + p43_;
        k0_b2_[v45_] = r44_;
      }
    }
    { let i39_: i32 = 2;
      { let i41_: i32 = 0;
        let p42_: i32 = (m4_ + (y37_ * i32(4))) + i39_;
        let p43_: i32 = n5_ + ((x38_ * i32(2)) + i41_);
        let r44_: f32 = sums8_[(i39_ * i32(2)) + i41_];
        let v45_: i32 = (p42_ * i32(192)) + p43_;
        k0_b2_[v45_] = r44_;
      }
      { let i41_: i32 = 1;
        let p42_: i32 = (m4_ + (y37_ * i32(4))) + i39_;
        let p43_: i32 = n5_ + ((x38_ * i32(2)) + i41_);
        let r44_: f32 = sums8_[(i39_ * i32(2)) + i41_];
        let v45_: i32 = (p42_ * i32(192)) + p43_;
        k0_b2_[v45_] = r44_;
      }
    }
    { let i39_: i32 = 3;
      { let i41_: i32 = 0;
        let p42_: i32 = (m4_ + (y37_ * i32(4))) + i39_;
        let p43_: i32 = n5_ + ((x38_ * i32(2)) + i41_);
        let r44_: f32 = sums8_[(i39_ * i32(2)) + i41_];
        let v45_: i32 = (p42_ * i32(192)) + p43_;
        k0_b2_[v45_] = r44_;
      }
      { let i41_: i32 = 1;
        let p42_: i32 = (m4_ + (y37_ * i32(4))) + i39_;
        let p43_: i32 = n5_ + ((x38_ * i32(2)) + i41_);
        let r44_: f32 = sums8_[(i39_ * i32(2)) + i41_];
        let v45_: i32 = (p42_ * i32(192)) + p43_;
        k0_b2_[v45_] = r44_;
      }
    }
  }
}
