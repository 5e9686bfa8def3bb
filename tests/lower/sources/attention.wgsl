/* fold: mul matmul mul max mul sub exp sum recip mul mul matmul
   b0: f32[32768], b1: f32[32768], b2: f32[32768], writes b3: f32[32768] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;
@group(0) @binding(3) var<storage, read_write> k0_b3_: array<f32>;

var<workgroup> k0_0_right5_: array<f32, 4224>;
var<workgroup> k0_0_left6_: array<f32, 640>;
var<workgroup> k0_0_scores7_: array<f32, 2560>;
var<workgroup> k0_0_state8_: array<f32, 16>;
var<workgroup> k0_0_partial9_: array<f32, 256>;
var<workgroup> k0_0_now10_: array<f32, 16>;
var<workgroup> k0_0_state11_: array<f32, 16>;
var<workgroup> k0_0_partial12_: array<f32, 256>;
var<workgroup> k0_0_by13_: array<f32, 16>;
@compute @workgroup_size(256)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 32u + rw_group.x;
  let rw_thread = i32(rw_local);
  if (rw_number >= 32u) { return; }
  let rw_point = i32(rw_number);
  let i1_ = rw_point;
  let t2_: i32 = i1_ % i32(8);
  let p3_: i32 = i1_ / i32(8);
  let m4_: i32 = t2_ * i32(16);
  var sums14_: array<f32, 4>;
  { let i15_: i32 = 0;
    sums14_[i15_] = f32(0.0);
  }
  { let i15_: i32 = 1;
    sums14_[i15_] = f32(0.0);
  }
  { let i15_: i32 = 2;
    sums14_[i15_] = f32(0.0);
  }
  { let i15_: i32 = 3;
    sums14_[i15_] = f32(0.0);
  }
  for (var i16_: i32 = rw_thread; i16_ < 16; i16_ += 256) {
    k0_0_state8_[i16_] = -bitcast<f32>(rw_inf_bits);
    k0_0_state11_[i16_] = f32(0.0);
  }
  let o27_: i32 = p3_ * i32(8192);
  let o34_: i32 = p3_ * i32(8192);
  let o99_: i32 = p3_ * i32(8192);
  var sums18_: array<f32, 8>;
  { let i19_: i32 = 0;
    sums18_[i19_] = f32(0.0);
  }
  { let i19_: i32 = 1;
    sums18_[i19_] = f32(0.0);
  }
  { let i19_: i32 = 2;
    sums18_[i19_] = f32(0.0);
  }
  { let i19_: i32 = 3;
    sums18_[i19_] = f32(0.0);
  }
  { let i19_: i32 = 4;
    sums18_[i19_] = f32(0.0);
  }
  { let i19_: i32 = 5;
    sums18_[i19_] = f32(0.0);
  }
  { let i19_: i32 = 6;
    sums18_[i19_] = f32(0.0);
  }
  { let i19_: i32 = 7;
    sums18_[i19_] = f32(0.0);
  }
  for (var i20_: i32 = 0; i20_ < 2; i20_ += 1) {
    let k21_: i32 = i20_ * i32(32);
    for (var i22_: i32 = rw_thread; i22_ < 512; i22_ += 256) {
      let t23_: i32 = i22_ % i32(32);
      let t24_: i32 = i22_ / i32(32);
      let p25_: i32 = m4_ + t24_;
      let p26_: i32 = k21_ + t23_;
      let v28_: i32 = (o27_ + (p25_ * i32(64))) + p26_;
      let v29_: f32 = k0_b0_[v28_];
      k0_0_left6_[(t23_ * i32(20)) + t24_] = v29_;
    }
    for (var i30_: i32 = rw_thread; i30_ < 4096; i30_ += 256) {
      let t31_: i32 = i30_ % i32(32);
      let t32_: i32 = i30_ / i32(32);
      let p33_: i32 = k21_ + t31_;
      let v35_: i32 = (o34_ + (t32_ * i32(64))) + p33_;
      let v36_: f32 = k0_b1_[v35_];
      k0_0_right5_[(t31_ * i32(132)) + t32_] = v36_;
    }
    workgroupBarrier();
    storageBarrier();
    for (var i37_: i32 = rw_thread; i37_ < 256; i37_ += 256) {
      let y38_: i32 = i37_ / i32(32);
      let x39_: i32 = i37_ % i32(32);
      let o40_: i32 = y38_ * i32(2);
      for (var i41_: i32 = 0; i41_ < 32; i41_ += 1) {
        let o42_: i32 = o40_ + (i41_ * i32(20));
        let o43_: i32 = (i41_ * i32(132)) + (x39_ * i32(4));
        let v44_: f32 = k0_0_left6_[o42_];
        let v45_: f32 = k0_0_left6_[o42_ + i32(1)];
        let v46_: f32 = k0_0_right5_[o43_];
        let v47_: f32 = k0_0_right5_[o43_ + i32(1)];
        let v48_: f32 = k0_0_right5_[o43_ + i32(2)];
        let v49_: f32 = k0_0_right5_[o43_ + i32(3)];
        sums18_[i32(0)] = v44_ * v46_ + sums18_[i32(0)];
        sums18_[i32(1)] = v44_ * v47_ + sums18_[i32(1)];
        sums18_[i32(2)] = v44_ * v48_ + sums18_[i32(2)];
        sums18_[i32(3)] = v44_ * v49_ + sums18_[i32(3)];
        sums18_[i32(4)] = v45_ * v46_ + sums18_[i32(4)];
        sums18_[i32(5)] = v45_ * v47_ + sums18_[i32(5)];
        sums18_[i32(6)] = v45_ * v48_ + sums18_[i32(6)];
        sums18_[i32(7)] = v45_ * v49_ + sums18_[i32(7)];
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  for (var i50_: i32 = rw_thread; i50_ < 256; i50_ += 256) {
    let y51_: i32 = i50_ / i32(32);
    let x52_: i32 = i50_ % i32(32);
    let o53_: i32 = ((x52_ * i32(4)) * i32(20)) + (y51_ * i32(2));
    k0_0_scores7_[o53_] = sums18_[i32(0)];
    k0_0_scores7_[o53_ + i32(1)] = sums18_[i32(4)];
    let o54_: i32 = (((x52_ * i32(4)) + i32(1)) * i32(20)) + (y51_ * i32(2));
    k0_0_scores7_[o54_] = sums18_[i32(1)];
    k0_0_scores7_[o54_ + i32(1)] = sums18_[i32(5)];
    let o55_: i32 = (((x52_ * i32(4)) + i32(2)) * i32(20)) + (y51_ * i32(2));
    k0_0_scores7_[o55_] = sums18_[i32(2)];
    k0_0_scores7_[o55_ + i32(1)] = sums18_[i32(6)];
    let o56_: i32 = (((x52_ * i32(4)) + i32(3)) * i32(20)) + (y51_ * i32(2));
    k0_0_scores7_[o56_] = sums18_[i32(3)];
    k0_0_scores7_[o56_ + i32(1)] = sums18_[i32(7)];
  }
  workgroupBarrier();
  storageBarrier();
  for (var i57_: i32 = rw_thread; i57_ < 256; i57_ += 256) {
    let i58_: i32 = i57_ / i32(16);
    let t59_: i32 = i57_ % i32(16);
    let p60_: i32 = m4_ + i58_;
    var a61_: f32 = -bitcast<f32>(rw_inf_bits);
    for (var i62_: i32 = 0; i62_ < 8; i62_ += 1) {
      let j63_: i32 = (i62_ * i32(16)) + t59_;
      let o64_: i32 = (j63_ * i32(20)) + i58_;
      let s65_: f32 = k0_0_scores7_[o64_];
      a61_ = rw_max_f32(a61_, s65_);
    }
    let o66_: i32 = (t59_ * i32(16)) + i58_;
    k0_0_partial9_[o66_] = a61_;
  }
  workgroupBarrier();
  storageBarrier();
  for (var i67_: i32 = rw_thread; i67_ < 16; i67_ += 256) {
    let p68_: i32 = m4_ + i67_;
    var a69_: f32 = k0_0_partial9_[i67_];
    for (var i70_: i32 = 0; i70_ < 15; i70_ += 1) {
      let s71_: f32 = k0_0_partial9_[((i70_ + i32(1)) * i32(16)) + i67_];
      a69_ = rw_max_f32(a69_, s71_);
    }
    k0_0_state8_[i67_] = a69_;
    k0_0_now10_[i67_] = a69_;
  }
  workgroupBarrier();
  storageBarrier();
  for (var i72_: i32 = rw_thread; i72_ < 256; i72_ += 256) {
    let i73_: i32 = i72_ / i32(16);
    let t74_: i32 = i72_ % i32(16);
    let p75_: i32 = m4_ + i73_;
    let s76_: f32 = k0_0_now10_[i73_];
    var a77_: f32 = f32(0.0);
    let v83_: f32 = s76_ * f32(0.125);
    for (var i78_: i32 = 0; i78_ < 8; i78_ += 1) {
      let j79_: i32 = (i78_ * i32(16)) + t74_;
      let o80_: i32 = (j79_ * i32(20)) + i73_;
      let s81_: f32 = k0_0_scores7_[o80_];
      let v82_: f32 = s81_ * f32(0.125);
      let v84_: f32 = v82_ - v83_;
      let v85_: f32 = rw_exp_f32(v84_);
      a77_ = a77_ + v85_;
      k0_0_scores7_[o80_] = v85_;
    }
    let o86_: i32 = (t74_ * i32(16)) + i73_;
    k0_0_partial12_[o86_] = a77_;
  }
  workgroupBarrier();
  storageBarrier();
  for (var i87_: i32 = rw_thread; i87_ < 16; i87_ += 256) {
    let p88_: i32 = m4_ + i87_;
    let s89_: f32 = k0_0_now10_[i87_];
    var a90_: f32 = k0_0_partial12_[i87_];
    for (var i91_: i32 = 0; i91_ < 15; i91_ += 1) {
      let s92_: f32 = k0_0_partial12_[((i91_ + i32(1)) * i32(16)) + i87_];
      a90_ = a90_ + s92_;
    }
    k0_0_state11_[i87_] = a90_;
  }
  for (var i93_: i32 = 0; i93_ < 4; i93_ += 1) {
    let k94_: i32 = i93_ * i32(32);
    for (var i95_: i32 = rw_thread; i95_ < 2048; i95_ += 256) {
      let t96_: i32 = i95_ % i32(64);
      let t97_: i32 = i95_ / i32(64);
      let p98_: i32 = k94_ + t97_;
      let v100_: i32 = (o99_ + (p98_ * i32(64))) + t96_;
      let v101_: f32 = k0_b2_[v100_];
      k0_0_right5_[(t97_ * i32(68)) + t96_] = v101_;
    }
    let o102_: i32 = k94_ * i32(20);
    workgroupBarrier();
    storageBarrier();
    for (var i103_: i32 = rw_thread; i103_ < 256; i103_ += 256) {
      let y104_: i32 = i103_ / i32(32);
      let x105_: i32 = i103_ % i32(32);
      let o106_: i32 = o102_ + (y104_ * i32(2));
      for (var i107_: i32 = 0; i107_ < 32; i107_ += 1) {
        let o108_: i32 = o106_ + (i107_ * i32(20));
        let o109_: i32 = (i107_ * i32(68)) + (x105_ * i32(2));
        let v110_: f32 = k0_0_scores7_[o108_];
        let v111_: f32 = k0_0_scores7_[o108_ + i32(1)];
        let v112_: f32 = k0_0_right5_[o109_];
        let v113_: f32 = k0_0_right5_[o109_ + i32(1)];
        sums14_[i32(0)] = v110_ * v112_ + sums14_[i32(0)];
        sums14_[i32(1)] = v110_ * v113_ + sums14_[i32(1)];
        sums14_[i32(2)] = v111_ * v112_ + sums14_[i32(2)];
        sums14_[i32(3)] = v111_ * v113_ + sums14_[i32(3)];
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  let o127_: i32 = p3_ * i32(8192);
  for (var i114_: i32 = rw_thread; i114_ < 256; i114_ += 256) {
    let y115_: i32 = i114_ / i32(32);
    let x116_: i32 = i114_ % i32(32);
    { let i117_: i32 = 0;
      let i118_: i32 = (y115_ * i32(2)) + i117_;
      let p119_: i32 = m4_ + i118_;
      let s120_: f32 = k0_0_state8_[i118_];
      let s121_: f32 = k0_0_state11_[i118_];
      let v122_: f32 = 1 / s121_;
      let o128_: i32 = o127_ + (p119_ * i32(64));
      { let i124_: i32 = 0;
        let p125_: i32 = (x116_ * i32(2)) + i124_;
        let r126_: f32 = sums14_[(i117_ * i32(2)) + i124_] * v122_;
        let v129_: i32 = o128_ + p125_;
        k0_b3_[v129_] = r126_;
      }
      { let i124_: i32 = 1;
        let p125_: i32 = (x116_ * i32(2)) + i124_;
        let r126_: f32 = sums14_[(i117_ * i32(2)) + i124_] * v122_;
        let v129_: i32 = o128_ + p125_;
        k0_b3_[v129_] = r126_;
      }
    }
    { let i117_: i32 = 1;
      let i118_: i32 = (y115_ * i32(2)) + i117_;
      let p119_: i32 = m4_ + i118_;
      let s120_: f32 = k0_0_state8_[i118_];
      let s121_: f32 = k0_0_state11_[i118_];
      let v122_: f32 = 1 / s121_;
      let o128_: i32 = o127_ + (p119_ * i32(64));
      { let i124_: i32 = 0;
        let p125_: i32 = (x116_ * i32(2)) + i124_;
        let r126_: f32 = sums14_[(i117_ * i32(2)) + i124_] * v122_;
        let v129_: i32 = o128_ + p125_;
        k0_b3_[v129_] = r126_;
      }
      { let i124_: i32 = 1;
        let p125_: i32 = (x116_ * i32(2)) + i124_;
        let r126_: f32 = sums14_[(i117_ * i32(2)) + i124_] * v122_;
        let v129_: i32 = o128_ + p125_;
        k0_b3_[v129_] = r126_;
      }
    }
  }
}
