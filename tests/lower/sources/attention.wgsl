/* fold: mul matmul mul max mul sub exp sum recip mul mul matmul
   b0: f32[32768], b1: f32[32768], b2: f32[32768], writes b3: f32[32768] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;
@group(0) @binding(3) var<storage, read_write> k0_b3_: array<f32>;

var<workgroup> k0_0_right5_: array<f32, 1088>;
var<workgroup> k0_0_left6_: array<f32, 576>;
var<workgroup> k0_0_scores7_: array<f32, 2304>;
var<workgroup> k0_0_state8_: array<f32, 32>;
var<workgroup> k0_0_partial9_: array<f32, 256>;
var<workgroup> k0_0_now10_: array<f32, 32>;
var<workgroup> k0_0_was11_: array<f32, 32>;
var<workgroup> k0_0_state12_: array<f32, 32>;
var<workgroup> k0_0_partial13_: array<f32, 256>;
var<workgroup> k0_0_by14_: array<f32, 32>;
@compute @workgroup_size(256)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 16u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 16u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  let t2_: i32 = i1_ % i32(4);
  let p3_: i32 = i1_ / i32(4);
  let m4_: i32 = t2_ * i32(32);
  var sums15_: array<f32, 8>;
  { let i16_: i32 = 0;
    sums15_[i16_] = f32(0.0);
  }
  { let i16_: i32 = 1;
    sums15_[i16_] = f32(0.0);
  }
  { let i16_: i32 = 2;
    sums15_[i16_] = f32(0.0);
  }
  { let i16_: i32 = 3;
    sums15_[i16_] = f32(0.0);
  }
  { let i16_: i32 = 4;
    sums15_[i16_] = f32(0.0);
  }
  { let i16_: i32 = 5;
    sums15_[i16_] = f32(0.0);
  }
  { let i16_: i32 = 6;
    sums15_[i16_] = f32(0.0);
  }
  { let i16_: i32 = 7;
    sums15_[i16_] = f32(0.0);
  }
  for (var i17_: i32 = rw_thread; i17_ < 32; i17_ += 256) {
    k0_0_state8_[i17_] = -bitcast<f32>(rw_inf_bits);
    k0_0_state12_[i17_] = f32(0.0);
  }
  let o29_: i32 = p3_ * i32(8192);
  let o37_: i32 = p3_ * i32(8192);
  let o124_: i32 = p3_ * i32(8192);
  for (var i18_: i32 = 0; i18_ < 2; i18_ += 1) {
    let j19_: i32 = i18_ * i32(64);
    var sums20_: array<f32, 8>;
    { let i21_: i32 = 0;
      sums20_[i21_] = f32(0.0);
    }
    { let i21_: i32 = 1;
      sums20_[i21_] = f32(0.0);
    }
    { let i21_: i32 = 2;
      sums20_[i21_] = f32(0.0);
    }
    { let i21_: i32 = 3;
      sums20_[i21_] = f32(0.0);
    }
    { let i21_: i32 = 4;
      sums20_[i21_] = f32(0.0);
    }
    { let i21_: i32 = 5;
      sums20_[i21_] = f32(0.0);
    }
    { let i21_: i32 = 6;
      sums20_[i21_] = f32(0.0);
    }
    { let i21_: i32 = 7;
      sums20_[i21_] = f32(0.0);
    }
    for (var i22_: i32 = 0; i22_ < 4; i22_ += 1) {
      let k23_: i32 = i22_ * i32(16);
      for (var i24_: i32 = rw_thread; i24_ < 512; i24_ += 256) {
        let t25_: i32 = i24_ % i32(16);
        let t26_: i32 = i24_ / i32(16);
        let p27_: i32 = m4_ + t26_;
        let p28_: i32 = k23_ + t25_;
        let v30_: i32 = (o29_ + (p27_ * i32(64))) + p28_;
        let v31_: f32 = k0_b0_[v30_];
        k0_0_left6_[(t25_ * i32(36)) + t26_] = v31_;
      }
      for (var i32_: i32 = rw_thread; i32_ < 1024; i32_ += 256) {
        let t33_: i32 = i32_ % i32(16);
        let t34_: i32 = i32_ / i32(16);
        let p35_: i32 = j19_ + t34_;
        let p36_: i32 = k23_ + t33_;
        let v38_: i32 = (o37_ + (p35_ * i32(64))) + p36_;
        let v39_: f32 = k0_b1_[v38_];
        k0_0_right5_[(t33_ * i32(68)) + t34_] = v39_;
      }
      workgroupBarrier();
      storageBarrier();
      for (var i40_: i32 = rw_thread; i40_ < 256; i40_ += 256) {
        let y41_: i32 = i40_ / i32(16);
        let x42_: i32 = i40_ % i32(16);
        let o43_: i32 = y41_ * i32(2);
        for (var i44_: i32 = 0; i44_ < 16; i44_ += 1) {
          let o45_: i32 = o43_ + (i44_ * i32(36));
          let o46_: i32 = (i44_ * i32(68)) + (x42_ * i32(4));
          let v47_: f32 = k0_0_left6_[o45_];
          let v48_: f32 = k0_0_left6_[o45_ + i32(1)];
          let v49_: f32 = k0_0_right5_[o46_];
          let v50_: f32 = k0_0_right5_[o46_ + i32(1)];
          let v51_: f32 = k0_0_right5_[o46_ + i32(2)];
          let v52_: f32 = k0_0_right5_[o46_ + i32(3)];
          sums20_[i32(0)] = v47_ * v49_ + sums20_[i32(0)];
          sums20_[i32(1)] = v47_ * v50_ + sums20_[i32(1)];
          sums20_[i32(2)] = v47_ * v51_ + sums20_[i32(2)];
          sums20_[i32(3)] = v47_ * v52_ + sums20_[i32(3)];
          sums20_[i32(4)] = v48_ * v49_ + sums20_[i32(4)];
          sums20_[i32(5)] = v48_ * v50_ + sums20_[i32(5)];
          sums20_[i32(6)] = v48_ * v51_ + sums20_[i32(6)];
          sums20_[i32(7)] = v48_ * v52_ + sums20_[i32(7)];
        }
      }
      workgroupBarrier();
      storageBarrier();
    }
    for (var i53_: i32 = rw_thread; i53_ < 256; i53_ += 256) {
      let y54_: i32 = i53_ / i32(16);
      let x55_: i32 = i53_ % i32(16);
      let o56_: i32 = ((x55_ * i32(4)) * i32(36)) + (y54_ * i32(2));
      k0_0_scores7_[o56_] = sums20_[i32(0)];
      k0_0_scores7_[o56_ + i32(1)] = sums20_[i32(4)];
      let o57_: i32 = (((x55_ * i32(4)) + i32(1)) * i32(36)) + (y54_ * i32(2));
      k0_0_scores7_[o57_] = sums20_[i32(1)];
      k0_0_scores7_[o57_ + i32(1)] = sums20_[i32(5)];
      let o58_: i32 = (((x55_ * i32(4)) + i32(2)) * i32(36)) + (y54_ * i32(2));
      k0_0_scores7_[o58_] = sums20_[i32(2)];
      k0_0_scores7_[o58_ + i32(1)] = sums20_[i32(6)];
      let o59_: i32 = (((x55_ * i32(4)) + i32(3)) * i32(36)) + (y54_ * i32(2));
      k0_0_scores7_[o59_] = sums20_[i32(3)];
      k0_0_scores7_[o59_ + i32(1)] = sums20_[i32(7)];
    }
    workgroupBarrier();
    storageBarrier();
    for (var i60_: i32 = rw_thread; i60_ < 256; i60_ += 256) {
      let i61_: i32 = i60_ / i32(8);
      let t62_: i32 = i60_ % i32(8);
      let p63_: i32 = m4_ + i61_;
      var a64_: f32 = -bitcast<f32>(rw_inf_bits);
      for (var i65_: i32 = 0; i65_ < 8; i65_ += 1) {
        let j66_: i32 = (i65_ * i32(8)) + t62_;
        let o67_: i32 = (j66_ * i32(36)) + i61_;
        let p68_: i32 = j19_ + j66_;
        let s69_: f32 = k0_0_scores7_[o67_];
        a64_ = rw_max_f32(a64_, s69_);
      }
      let o70_: i32 = (t62_ * i32(32)) + i61_;
      k0_0_partial9_[o70_] = a64_;
    }
    workgroupBarrier();
    storageBarrier();
    for (var i71_: i32 = rw_thread; i71_ < 32; i71_ += 256) {
      let p72_: i32 = m4_ + i71_;
      var a73_: f32 = k0_0_partial9_[i71_];
      for (var i74_: i32 = 0; i74_ < 7; i74_ += 1) {
        let s75_: f32 = k0_0_partial9_[((i74_ + i32(1)) * i32(32)) + i71_];
        a73_ = rw_max_f32(a73_, s75_);
      }
      let s76_: f32 = k0_0_state8_[i71_];
      let n77_: f32 = f32(j19_);
      k0_0_was11_[i71_] = s76_;
      let s78_: f32 = rw_max_f32(s76_, a73_);
      k0_0_state8_[i71_] = s78_;
      k0_0_now10_[i71_] = select(s78_, f32(0.0), (s78_ == (-bitcast<f32>(rw_inf_bits))));
    }
    workgroupBarrier();
    storageBarrier();
    for (var i79_: i32 = rw_thread; i79_ < 256; i79_ += 256) {
      let i80_: i32 = i79_ / i32(8);
      let t81_: i32 = i79_ % i32(8);
      let p82_: i32 = m4_ + i80_;
      let s83_: f32 = k0_0_now10_[i80_];
      var a84_: f32 = f32(0.0);
      let v91_: f32 = s83_ * f32(0.125);
      for (var i85_: i32 = 0; i85_ < 8; i85_ += 1) {
        let j86_: i32 = (i85_ * i32(8)) + t81_;
        let o87_: i32 = (j86_ * i32(36)) + i80_;
        let p88_: i32 = j19_ + j86_;
        let s89_: f32 = k0_0_scores7_[o87_];
        let v90_: f32 = s89_ * f32(0.125);
        let v92_: f32 = v90_ - v91_;
        let v93_: f32 = rw_exp_f32(v92_);
        a84_ = a84_ + v93_;
        k0_0_scores7_[o87_] = v93_;
      }
      let o94_: i32 = (t81_ * i32(32)) + i80_;
      k0_0_partial13_[o94_] = a84_;
    }
    workgroupBarrier();
    storageBarrier();
    for (var i95_: i32 = rw_thread; i95_ < 32; i95_ += 256) {
      let p96_: i32 = m4_ + i95_;
      let s97_: f32 = k0_0_now10_[i95_];
      let s98_: f32 = k0_0_was11_[i95_];
      let n99_: f32 = f32(j19_);
      var a100_: f32 = k0_0_partial13_[i95_];
      for (var i101_: i32 = 0; i101_ < 7; i101_ += 1) {
        let s102_: f32 = k0_0_partial13_[((i101_ + i32(1)) * i32(32)) + i95_];
        a100_ = a100_ + s102_;
      }
      let s103_: f32 = k0_0_state12_[i95_];
      let n104_: f32 = f32(j19_);
      let v105_: f32 = s97_ * f32(0.125);
      let r106_: f32 = select(s98_, f32(0.0), (s98_ == (-bitcast<f32>(rw_inf_bits))));
      let v107_: f32 = r106_ * f32(0.125);
      let m108_: f32 = select((s103_ * rw_exp_f32((-(v105_ - v107_)))), s103_, (s103_ == f32(0.0)));
      let s109_: f32 = m108_ + a100_;
      k0_0_state12_[i95_] = s109_;
      let r110_: f32 = select(s98_, f32(0.0), (s98_ == (-bitcast<f32>(rw_inf_bits))));
      let v111_: f32 = r110_ * f32(0.125);
      k0_0_by14_[i95_] = rw_exp_f32((-(v105_ - v111_)));
    }
    workgroupBarrier();
    storageBarrier();
    for (var i112_: i32 = rw_thread; i112_ < 256; i112_ += 256) {
      let y113_: i32 = i112_ / i32(16);
      let x114_: i32 = i112_ % i32(16);
      { let i115_: i32 = 0;
        let c116_: f32 = k0_0_by14_[(y113_ * i32(2)) + i115_];
        if (!(c116_ == f32(1.0))) {
          { let i117_: i32 = 0;
            sums15_[(i115_ * i32(4)) + i117_] = select((sums15_[(i115_ * i32(4)) + i117_] * c116_), sums15_[(i115_ * i32(4)) + i117_], (sums15_[(i115_ * i32(4)) + i117_] == f32(0.0)));
          }
          { let i117_: i32 = 1;
            sums15_[(i115_ * i32(4)) + i117_] = select((sums15_[(i115_ * i32(4)) + i117_] * c116_), sums15_[(i115_ * i32(4)) + i117_], (sums15_[(i115_ * i32(4)) + i117_] == f32(0.0)));
          }
          { let i117_: i32 = 2;
            sums15_[(i115_ * i32(4)) + i117_] = select((sums15_[(i115_ * i32(4)) + i117_] * c116_), sums15_[(i115_ * i32(4)) + i117_], (sums15_[(i115_ * i32(4)) + i117_] == f32(0.0)));
          }
          { let i117_: i32 = 3;
            sums15_[(i115_ * i32(4)) + i117_] = select((sums15_[(i115_ * i32(4)) + i117_] * c116_), sums15_[(i115_ * i32(4)) + i117_], (sums15_[(i115_ * i32(4)) + i117_] == f32(0.0)));
          }
        }
      }
      { let i115_: i32 = 1;
        let c116_: f32 = k0_0_by14_[(y113_ * i32(2)) + i115_];
        if (!(c116_ == f32(1.0))) {
          { let i117_: i32 = 0;
            sums15_[(i115_ * i32(4)) + i117_] = select((sums15_[(i115_ * i32(4)) + i117_] * c116_), sums15_[(i115_ * i32(4)) + i117_], (sums15_[(i115_ * i32(4)) + i117_] == f32(0.0)));
          }
          { let i117_: i32 = 1;
            sums15_[(i115_ * i32(4)) + i117_] = select((sums15_[(i115_ * i32(4)) + i117_] * c116_), sums15_[(i115_ * i32(4)) + i117_], (sums15_[(i115_ * i32(4)) + i117_] == f32(0.0)));
          }
          { let i117_: i32 = 2;
            sums15_[(i115_ * i32(4)) + i117_] = select((sums15_[(i115_ * i32(4)) + i117_] * c116_), sums15_[(i115_ * i32(4)) + i117_], (sums15_[(i115_ * i32(4)) + i117_] == f32(0.0)));
          }
          { let i117_: i32 = 3;
            sums15_[(i115_ * i32(4)) + i117_] = select((sums15_[(i115_ * i32(4)) + i117_] * c116_), sums15_[(i115_ * i32(4)) + i117_], (sums15_[(i115_ * i32(4)) + i117_] == f32(0.0)));
          }
        }
      }
    }
    for (var i118_: i32 = 0; i118_ < 4; i118_ += 1) {
      let k119_: i32 = i118_ * i32(16);
      for (var i120_: i32 = rw_thread; i120_ < 1024; i120_ += 256) {
        let t121_: i32 = i120_ % i32(64);
        let t122_: i32 = i120_ / i32(64);
        let p123_: i32 = (j19_ + k119_) + t122_;
        let v125_: i32 = (o124_ + (p123_ * i32(64))) + t121_;
        let v126_: f32 = k0_b2_[v125_];
        k0_0_right5_[(t122_ * i32(68)) + t121_] = v126_;
      }
      let o127_: i32 = k119_ * i32(36);
      workgroupBarrier();
      storageBarrier();
      for (var i128_: i32 = rw_thread; i128_ < 256; i128_ += 256) {
        let y129_: i32 = i128_ / i32(16);
        let x130_: i32 = i128_ % i32(16);
        let o131_: i32 = o127_ + (y129_ * i32(2));
        for (var i132_: i32 = 0; i132_ < 16; i132_ += 1) {
          let o133_: i32 = o131_ + (i132_ * i32(36));
          let o134_: i32 = (i132_ * i32(68)) + (x130_ * i32(4));
          let v135_: f32 = k0_0_scores7_[o133_];
          let v136_: f32 = k0_0_scores7_[o133_ + i32(1)];
          let v137_: f32 = k0_0_right5_[o134_];
          let v138_: f32 = k0_0_right5_[o134_ + i32(1)];
          let v139_: f32 = k0_0_right5_[o134_ + i32(2)];
          let v140_: f32 = k0_0_right5_[o134_ + i32(3)];
          sums15_[i32(0)] = v135_ * v137_ + sums15_[i32(0)];
          sums15_[i32(1)] = v135_ * v138_ + sums15_[i32(1)];
          sums15_[i32(2)] = v135_ * v139_ + sums15_[i32(2)];
          sums15_[i32(3)] = v135_ * v140_ + sums15_[i32(3)];
          sums15_[i32(4)] = v136_ * v137_ + sums15_[i32(4)];
          sums15_[i32(5)] = v136_ * v138_ + sums15_[i32(5)];
          sums15_[i32(6)] = v136_ * v139_ + sums15_[i32(6)];
          sums15_[i32(7)] = v136_ * v140_ + sums15_[i32(7)];
        }
      }
      workgroupBarrier();
      storageBarrier();
    }
  }
  let o161_: i32 = p3_ * i32(8192);
  for (var i141_: i32 = rw_thread; i141_ < 256; i141_ += 256) {
    let y142_: i32 = i141_ / i32(16);
    let x143_: i32 = i141_ % i32(16);
    { let i144_: i32 = 0;
      let i145_: i32 = (y142_ * i32(2)) + i144_;
      let p146_: i32 = m4_ + i145_;
      let s147_: f32 = k0_0_state8_[i145_];
      let s148_: f32 = k0_0_state12_[i145_];
      let v149_: f32 = s147_ * f32(0.125);
      let r150_: f32 = select(s147_, f32(0.0), (s147_ == (-bitcast<f32>(rw_inf_bits))));
      let v151_: f32 = r150_ * f32(0.125);
      let m152_: f32 = s148_ * rw_exp_f32((-(v149_ - v151_)));
      let r153_: f32 = select(s147_, f32(0.0), (s147_ == (-bitcast<f32>(rw_inf_bits))));
      let v154_: f32 = r153_ * f32(0.125);
      let v155_: f32 = 1 / m152_;
      let c156_: f32 = rw_exp_f32((-(v149_ - v154_)));
      let o162_: i32 = o161_ + (p146_ * i32(64));
      { let i158_: i32 = 0;
        let p159_: i32 = (x143_ * i32(4)) + i158_;
        let r160_: f32 = (sums15_[(i144_ * i32(4)) + i158_] * c156_) * v155_;
        let v163_: i32 = o162_ + p159_;
        k0_b3_[v163_] = r160_;
      }
      { let i158_: i32 = 1;
        let p159_: i32 = (x143_ * i32(4)) + i158_;
        let r160_: f32 = (sums15_[(i144_ * i32(4)) + i158_] * c156_) * v155_;
        let v163_: i32 = o162_ + p159_;
        k0_b3_[v163_] = r160_;
      }
      { let i158_: i32 = 2;
        let p159_: i32 = (x143_ * i32(4)) + i158_;
        let r160_: f32 = (sums15_[(i144_ * i32(4)) + i158_] * c156_) * v155_;
        let v163_: i32 = o162_ + p159_;
        k0_b3_[v163_] = r160_;
      }
      { let i158_: i32 = 3;
        let p159_: i32 = (x143_ * i32(4)) + i158_;
        let r160_: f32 = (sums15_[(i144_ * i32(4)) + i158_] * c156_) * v155_;
        let v163_: i32 = o162_ + p159_;
        k0_b3_[v163_] = r160_;
      }
    }
    { let i144_: i32 = 1;
      let i145_: i32 = (y142_ * i32(2)) + i144_;
      let p146_: i32 = m4_ + i145_;
      let s147_: f32 = k0_0_state8_[i145_];
      let s148_: f32 = k0_0_state12_[i145_];
      let v149_: f32 = s147_ * f32(0.125);
      let r150_: f32 = select(s147_, f32(0.0), (s147_ == (-bitcast<f32>(rw_inf_bits))));
      let v151_: f32 = r150_ * f32(0.125);
      let m152_: f32 = s148_ * rw_exp_f32((-(v149_ - v151_)));
      let r153_: f32 = select(s147_, f32(0.0), (s147_ == (-bitcast<f32>(rw_inf_bits))));
      let v154_: f32 = r153_ * f32(0.125);
      let v155_: f32 = 1 / m152_;
      let c156_: f32 = rw_exp_f32((-(v149_ - v154_)));
      let o162_: i32 = o161_ + (p146_ * i32(64));
      { let i158_: i32 = 0;
        let p159_: i32 = (x143_ * i32(4)) + i158_;
        let r160_: f32 = (sums15_[(i144_ * i32(4)) + i158_] * c156_) * v155_;
        let v163_: i32 = o162_ + p159_;
        k0_b3_[v163_] = r160_;
      }
      { let i158_: i32 = 1;
        let p159_: i32 = (x143_ * i32(4)) + i158_;
        let r160_: f32 = (sums15_[(i144_ * i32(4)) + i158_] * c156_) * v155_;
        let v163_: i32 = o162_ + p159_;
        k0_b3_[v163_] = r160_;
      }
      { let i158_: i32 = 2;
        let p159_: i32 = (x143_ * i32(4)) + i158_;
        let r160_: f32 = (sums15_[(i144_ * i32(4)) + i158_] * c156_) * v155_;
        let v163_: i32 = o162_ + p159_;
        k0_b3_[v163_] = r160_;
      }
      { let i158_: i32 = 3;
        let p159_: i32 = (x143_ * i32(4)) + i158_;
        let r160_: f32 = (sums15_[(i144_ * i32(4)) + i158_] * c156_) * v155_;
        let v163_: i32 = o162_ + p159_;
        k0_b3_[v163_] = r160_;
      }
    }
  }
}
