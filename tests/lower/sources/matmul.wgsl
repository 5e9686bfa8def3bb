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
  for (var i10_: i32 = rw_thread; i10_ < 1024; i10_ += 128) {
    let t11_: i32 = i10_ % i32(32);
    let t12_: i32 = i10_ / i32(32);
    let p13_: i32 = m4_ + t12_;
    let v14_: i32 = (p13_ * i32(128)) + t11_;
    let v15_: f32 = k0_b0_[v14_];
    k0_0_tile6_[(t11_ * i32(36)) + t12_] = v15_;
  }
  for (var i16_: i32 = rw_thread; i16_ < 1024; i16_ += 128) {
    let t17_: i32 = i16_ % i32(32);
    let t18_: i32 = i16_ / i32(32);
    let p19_: i32 = n5_ + t17_;
    let v20_: i32 = (t18_ * i32(192)) + p19_;
    let v21_: f32 = k0_b1_[v20_];
    k0_0_tile7_[(t18_ * i32(32)) + t17_] = v21_;
  }
  var held22_: array<f32, 8>;
  var held23_: array<f32, 8>;
  workgroupBarrier();
  storageBarrier();
  for (var i24_: i32 = 0; i24_ < 4; i24_ += 1) {
    let k25_: i32 = i24_ + i32(1);
    let ok26_: bool = k25_ < i32(4);
    if (ok26_) {
      let k27_: i32 = k25_ * i32(32);
      for (var i28_: i32 = rw_thread; i28_ < 128; i28_ += 128) {
        { let i29_: i32 = 0;
          let t30_: i32 = i28_ + (i29_ * i32(128));
          let t31_: i32 = t30_ % i32(32);
          let t32_: i32 = t30_ / i32(32);
          let p33_: i32 = m4_ + t32_;
          let p34_: i32 = k27_ + t31_;
          let v35_: i32 = (p33_ * i32(128)) + p34_;
          let v36_: f32 = k0_b0_[v35_];
          held22_[i29_] = v36_;
        }
        { let i29_: i32 = 1;
          let t30_: i32 = i28_ + (i29_ * i32(128));
          let t31_: i32 = t30_ % i32(32);
          let t32_: i32 = t30_ / i32(32);
          let p33_: i32 = m4_ + t32_;
          let p34_: i32 = k27_ + t31_;
          let v35_: i32 = (p33_ * i32(128)) + p34_;
          let v36_: f32 = k0_b0_[v35_];
          held22_[i29_] = v36_;
        }
        { let i29_: i32 = 2;
          let t30_: i32 = i28_ + (i29_ * i32(128));
          let t31_: i32 = t30_ % i32(32);
          let t32_: i32 = t30_ / i32(32);
          let p33_: i32 = m4_ + t32_;
          let p34_: i32 = k27_ + t31_;
          let v35_: i32 = (p33_ * i32(128)) + p34_;
          let v36_: f32 = k0_b0_[v35_];
          held22_[i29_] = v36_;
        }
        { let i29_: i32 = 3;
          let t30_: i32 = i28_ + (i29_ * i32(128));
          let t31_: i32 = t30_ % i32(32);
          let t32_: i32 = t30_ / i32(32);
          let p33_: i32 = m4_ + t32_;
          let p34_: i32 = k27_ + t31_;
          let v35_: i32 = (p33_ * i32(128)) + p34_;
          let v36_: f32 = k0_b0_[v35_];
          held22_[i29_] = v36_;
        }
        { let i29_: i32 = 4;
          let t30_: i32 = i28_ + (i29_ * i32(128));
          let t31_: i32 = t30_ % i32(32);
          let t32_: i32 = t30_ / i32(32);
          let p33_: i32 = m4_ + t32_;
          let p34_: i32 = k27_ + t31_;
          let v35_: i32 = (p33_ * i32(128)) + p34_;
          let v36_: f32 = k0_b0_[v35_];
          held22_[i29_] = v36_;
        }
        { let i29_: i32 = 5;
          let t30_: i32 = i28_ + (i29_ * i32(128));
          let t31_: i32 = t30_ % i32(32);
          let t32_: i32 = t30_ / i32(32);
          let p33_: i32 = m4_ + t32_;
          let p34_: i32 = k27_ + t31_;
          let v35_: i32 = (p33_ * i32(128)) + p34_;
          let v36_: f32 = k0_b0_[v35_];
          held22_[i29_] = v36_;
        }
        { let i29_: i32 = 6;
          let t30_: i32 = i28_ + (i29_ * i32(128));
          let t31_: i32 = t30_ % i32(32);
          let t32_: i32 = t30_ / i32(32);
          let p33_: i32 = m4_ + t32_;
          let p34_: i32 = k27_ + t31_;
          let v35_: i32 = (p33_ * i32(128)) + p34_;
          let v36_: f32 = k0_b0_[v35_];
          held22_[i29_] = v36_;
        }
        { let i29_: i32 = 7;
          let t30_: i32 = i28_ + (i29_ * i32(128));
          let t31_: i32 = t30_ % i32(32);
          let t32_: i32 = t30_ / i32(32);
          let p33_: i32 = m4_ + t32_;
          let p34_: i32 = k27_ + t31_;
          let v35_: i32 = (p33_ * i32(128)) + p34_;
          let v36_: f32 = k0_b0_[v35_];
          held22_[i29_] = v36_;
        }
      }
      for (var i37_: i32 = rw_thread; i37_ < 128; i37_ += 128) {
        { let i38_: i32 = 0;
          let t39_: i32 = i37_ + (i38_ * i32(128));
          let t40_: i32 = t39_ % i32(32);
          let t41_: i32 = t39_ / i32(32);
          let p42_: i32 = n5_ + t40_;
          let p43_: i32 = k27_ + t41_;
          let v44_: i32 = (p43_ * i32(192)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held23_[i38_] = v45_;
        }
        { let i38_: i32 = 1;
          let t39_: i32 = i37_ + (i38_ * i32(128));
          let t40_: i32 = t39_ % i32(32);
          let t41_: i32 = t39_ / i32(32);
          let p42_: i32 = n5_ + t40_;
          let p43_: i32 = k27_ + t41_;
          let v44_: i32 = (p43_ * i32(192)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held23_[i38_] = v45_;
        }
        { let i38_: i32 = 2;
          let t39_: i32 = i37_ + (i38_ * i32(128));
          let t40_: i32 = t39_ % i32(32);
          let t41_: i32 = t39_ / i32(32);
          let p42_: i32 = n5_ + t40_;
          let p43_: i32 = k27_ + t41_;
          let v44_: i32 = (p43_ * i32(192)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held23_[i38_] = v45_;
        }
        { let i38_: i32 = 3;
          let t39_: i32 = i37_ + (i38_ * i32(128));
          let t40_: i32 = t39_ % i32(32);
          let t41_: i32 = t39_ / i32(32);
          let p42_: i32 = n5_ + t40_;
          let p43_: i32 = k27_ + t41_;
          let v44_: i32 = (p43_ * i32(192)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held23_[i38_] = v45_;
        }
        { let i38_: i32 = 4;
          let t39_: i32 = i37_ + (i38_ * i32(128));
          let t40_: i32 = t39_ % i32(32);
          let t41_: i32 = t39_ / i32(32);
          let p42_: i32 = n5_ + t40_;
          let p43_: i32 = k27_ + t41_;
          let v44_: i32 = (p43_ * i32(192)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held23_[i38_] = v45_;
        }
        { let i38_: i32 = 5;
          let t39_: i32 = i37_ + (i38_ * i32(128));
          let t40_: i32 = t39_ % i32(32);
          let t41_: i32 = t39_ / i32(32);
          let p42_: i32 = n5_ + t40_;
          let p43_: i32 = k27_ + t41_;
          let v44_: i32 = (p43_ * i32(192)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held23_[i38_] = v45_;
        }
        { let i38_: i32 = 6;
          let t39_: i32 = i37_ + (i38_ * i32(128));
          let t40_: i32 = t39_ % i32(32);
          let t41_: i32 = t39_ / i32(32);
          let p42_: i32 = n5_ + t40_;
          let p43_: i32 = k27_ + t41_;
          let v44_: i32 = (p43_ * i32(192)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held23_[i38_] = v45_;
        }
        { let i38_: i32 = 7;
          let t39_: i32 = i37_ + (i38_ * i32(128));
          let t40_: i32 = t39_ % i32(32);
          let t41_: i32 = t39_ / i32(32);
          let p42_: i32 = n5_ + t40_;
          let p43_: i32 = k27_ + t41_;
          let v44_: i32 = (p43_ * i32(192)) + p42_;
          let v45_: f32 = k0_b1_[v44_];
          held23_[i38_] = v45_;
        }
      }
    }
    for (var i46_: i32 = rw_thread; i46_ < 128; i46_ += 128) {
      let y47_: i32 = i46_ / i32(16);
      let x48_: i32 = i46_ % i32(16);
      for (var i49_: i32 = 0; i49_ < 32; i49_ += 1) {
        let v50_: f32 = k0_0_tile6_[(i49_ * i32(36)) + (y47_ * i32(4))];
        let v51_: f32 = k0_0_tile6_[((i49_ * i32(36)) + (y47_ * i32(4))) + i32(1)];
        let v52_: f32 = k0_0_tile6_[((i49_ * i32(36)) + (y47_ * i32(4))) + i32(2)];
        let v53_: f32 = k0_0_tile6_[((i49_ * i32(36)) + (y47_ * i32(4))) + i32(3)];
        let v54_: f32 = k0_0_tile7_[(i49_ * i32(32)) + (x48_ * i32(2))];
        let v55_: f32 = k0_0_tile7_[((i49_ * i32(32)) + (x48_ * i32(2))) + i32(1)];
        sums8_[i32(0)] = v50_ * v54_ + sums8_[i32(0)];
        sums8_[i32(1)] = v50_ * v55_ + sums8_[i32(1)];
        sums8_[i32(2)] = v51_ * v54_ + sums8_[i32(2)];
        sums8_[i32(3)] = v51_ * v55_ + sums8_[i32(3)];
        sums8_[i32(4)] = v52_ * v54_ + sums8_[i32(4)];
        sums8_[i32(5)] = v52_ * v55_ + sums8_[i32(5)];
        sums8_[i32(6)] = v53_ * v54_ + sums8_[i32(6)];
        sums8_[i32(7)] = v53_ * v55_ + sums8_[i32(7)];
      }
    }
    workgroupBarrier();
    storageBarrier();
    if (ok26_) {
      for (var i56_: i32 = rw_thread; i56_ < 128; i56_ += 128) {
        { let i57_: i32 = 0;
          let t58_: i32 = i56_ + (i57_ * i32(128));
          let t59_: i32 = t58_ % i32(32);
          let t60_: i32 = t58_ / i32(32);
          k0_0_tile6_[(t59_ * i32(36)) + t60_] = held22_[i57_];
        }
        { let i57_: i32 = 1;
          let t58_: i32 = i56_ + (i57_ * i32(128));
          let t59_: i32 = t58_ % i32(32);
          let t60_: i32 = t58_ / i32(32);
          k0_0_tile6_[(t59_ * i32(36)) + t60_] = held22_[i57_];
        }
        { let i57_: i32 = 2;
          let t58_: i32 = i56_ + (i57_ * i32(128));
          let t59_: i32 = t58_ % i32(32);
          let t60_: i32 = t58_ / i32(32);
          k0_0_tile6_[(t59_ * i32(36)) + t60_] = held22_[i57_];
        }
        { let i57_: i32 = 3;
          let t58_: i32 = i56_ + (i57_ * i32(128));
          let t59_: i32 = t58_ % i32(32);
          let t60_: i32 = t58_ / i32(32);
          k0_0_tile6_[(t59_ * i32(36)) + t60_] = held22_[i57_];
        }
        { let i57_: i32 = 4;
          let t58_: i32 = i56_ + (i57_ * i32(128));
          let t59_: i32 = t58_ % i32(32);
          let t60_: i32 = t58_ / i32(32);
          k0_0_tile6_[(t59_ * i32(36)) + t60_] = held22_[i57_];
        }
        { let i57_: i32 = 5;
          let t58_: i32 = i56_ + (i57_ * i32(128));
          let t59_: i32 = t58_ % i32(32);
          let t60_: i32 = t58_ / i32(32);
          k0_0_tile6_[(t59_ * i32(36)) + t60_] = held22_[i57_];
        }
        { let i57_: i32 = 6;
          let t58_: i32 = i56_ + (i57_ * i32(128));
          let t59_: i32 = t58_ % i32(32);
          let t60_: i32 = t58_ / i32(32);
          k0_0_tile6_[(t59_ * i32(36)) + t60_] = held22_[i57_];
        }
        { let i57_: i32 = 7;
          let t58_: i32 = i56_ + (i57_ * i32(128));
          let t59_: i32 = t58_ % i32(32);
          let t60_: i32 = t58_ / i32(32);
          k0_0_tile6_[(t59_ * i32(36)) + t60_] = held22_[i57_];
        }
      }
      for (var i61_: i32 = rw_thread; i61_ < 128; i61_ += 128) {
        { let i62_: i32 = 0;
          let t63_: i32 = i61_ + (i62_ * i32(128));
          let t64_: i32 = t63_ % i32(32);
          let t65_: i32 = t63_ / i32(32);
          k0_0_tile7_[(t65_ * i32(32)) + t64_] = held23_[i62_];
        }
        { let i62_: i32 = 1;
          let t63_: i32 = i61_ + (i62_ * i32(128));
          let t64_: i32 = t63_ % i32(32);
          let t65_: i32 = t63_ / i32(32);
          k0_0_tile7_[(t65_ * i32(32)) + t64_] = held23_[i62_];
        }
        { let i62_: i32 = 2;
          let t63_: i32 = i61_ + (i62_ * i32(128));
          let t64_: i32 = t63_ % i32(32);
          let t65_: i32 = t63_ / i32(32);
          k0_0_tile7_[(t65_ * i32(32)) + t64_] = held23_[i62_];
        }
        { let i62_: i32 = 3;
          let t63_: i32 = i61_ + (i62_ * i32(128));
          let t64_: i32 = t63_ % i32(32);
          let t65_: i32 = t63_ / i32(32);
          k0_0_tile7_[(t65_ * i32(32)) + t64_] = held23_[i62_];
        }
        { let i62_: i32 = 4;
          let t63_: i32 = i61_ + (i62_ * i32(128));
          let t64_: i32 = t63_ % i32(32);
          let t65_: i32 = t63_ / i32(32);
          k0_0_tile7_[(t65_ * i32(32)) + t64_] = held23_[i62_];
        }
        { let i62_: i32 = 5;
          let t63_: i32 = i61_ + (i62_ * i32(128));
          let t64_: i32 = t63_ % i32(32);
          let t65_: i32 = t63_ / i32(32);
          k0_0_tile7_[(t65_ * i32(32)) + t64_] = held23_[i62_];
        }
        { let i62_: i32 = 6;
          let t63_: i32 = i61_ + (i62_ * i32(128));
          let t64_: i32 = t63_ % i32(32);
          let t65_: i32 = t63_ / i32(32);
          k0_0_tile7_[(t65_ * i32(32)) + t64_] = held23_[i62_];
        }
        { let i62_: i32 = 7;
          let t63_: i32 = i61_ + (i62_ * i32(128));
          let t64_: i32 = t63_ % i32(32);
          let t65_: i32 = t63_ / i32(32);
          k0_0_tile7_[(t65_ * i32(32)) + t64_] = held23_[i62_];
        }
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  for (var i66_: i32 = rw_thread; i66_ < 128; i66_ += 128) {
    let y67_: i32 = i66_ / i32(16);
    let x68_: i32 = i66_ % i32(16);
    { let i69_: i32 = 0;
      { let i71_: i32 = 0;
        let p72_: i32 = (m4_ + (y67_ * i32(4))) + i69_;
        let p73_: i32 = n5_ + ((x68_ * i32(2)) + i71_);
        let r74_: f32 = sums8_[(i69_ * i32(2)) + i71_];
        let v75_: i32 = (p72_ * i32(192)) + p73_;
        k0_b2_[v75_] = r74_;
      }
      { let i71_: i32 = 1;
        let p72_: i32 = (m4_ + (y67_ * i32(4))) + i69_;
        let p73_: i32 = n5_ + ((x68_ * i32(2)) + i71_);
        let r74_: f32 = sums8_[(i69_ * i32(2)) + i71_];
        let v75_: i32 = (p72_ * i32(192)) + p73_;
        k0_b2_[v75_] = r74_;
      }
    }
    { let i69_: i32 = 1;
      { let i71_: i32 = 0;
        let p72_: i32 = (m4_ + (y67_ * i32(4))) + i69_;
        let p73_: i32 = n5_ + ((x68_ * i32(2)) + i71_);
        let r74_: f32 = sums8_[(i69_ * i32(2)) + i71_];
        let v75_: i32 = (p72_ * i32(192)) + p73_;
        k0_b2_[v75_] = r74_;
      }
      { let i71_: i32 = 1;
        let p72_: i32 = (m4_ + (y67_ * i32(4))) + i69_;
        let p73_: i32 = n5_ + ((x68_ * i32(2)) + i71_);
        let r74_: f32 = sums8_[(i69_ * i32(2)) + i71_];
        let v75_: i32 = (p72_ * i32(192)) + p73_;
        k0_b2_[v75_] = r74_;
      }
    }
    { let i69_: i32 = 2;
      { let i71_: i32 = 0;
        let p72_: i32 = (m4_ + (y67_ * i32(4))) + i69_;
        let p73_: i32 = n5_ + ((x68_ * i32(2)) + i71_);
        let r74_: f32 = sums8_[(i69_ * i32(2)) + i71_];
        let v75_: i32 = (p72_ * i32(192)) + p73_;
        k0_b2_[v75_] = r74_;
      }
      { let i71_: i32 = 1;
        let p72_: i32 = (m4_ + (y67_ * i32(4))) + i69_;
        let p73_: i32 = n5_ + ((x68_ * i32(2)) + i71_);
        let r74_: f32 = sums8_[(i69_ * i32(2)) + i71_];
        let v75_: i32 = (p72_ * i32(192)) + p73_;
        k0_b2_[v75_] = r74_;
      }
    }
    { let i69_: i32 = 3;
      { let i71_: i32 = 0;
        let p72_: i32 = (m4_ + (y67_ * i32(4))) + i69_;
        let p73_: i32 = n5_ + ((x68_ * i32(2)) + i71_);
        let r74_: f32 = sums8_[(i69_ * i32(2)) + i71_];
        let v75_: i32 = (p72_ * i32(192)) + p73_;
        k0_b2_[v75_] = r74_;
      }
      { let i71_: i32 = 1;
        let p72_: i32 = (m4_ + (y67_ * i32(4))) + i69_;
        let p73_: i32 = n5_ + ((x68_ * i32(2)) + i71_);
        let r74_: f32 = sums8_[(i69_ * i32(2)) + i71_];
        let v75_: i32 = (p72_ * i32(192)) + p73_;
        k0_b2_[v75_] = r74_;
      }
    }
  }
}
