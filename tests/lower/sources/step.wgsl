/* column: mul matmul
   b0: f32[16384], b1: f32[512], writes b2: f32[2048] */

@group(0) @binding(0) var<storage, read_write> k0_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k0_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k0_b2_: array<f32>;

@compute @workgroup_size(64)
fn k0_0(@builtin(workgroup_id) rw_group: vec3<u32>,
    @builtin(local_invocation_index) rw_local: u32) {
  let rw_number = rw_group.y * 32u + rw_group.x;
  let rw_item = rw_number * 64u + rw_local;
  if (rw_item >= 2048u) { return; }
  let rw_point = i32(rw_item);
  let i1_ = rw_point;
  let p2_: i32 = i1_ % i32(8);
  let p3_: i32 = i1_ / i32(8);
  var a4_: f32 = f32(0.0);
  let o6_: i32 = p3_ * i32(64);
  for (var i5_: i32 = 0; i5_ < 64; i5_ += 1) {
    let v7_: i32 = o6_ + i5_;
    let v8_: f32 = k0_b0_[v7_];
    let v9_: i32 = p2_ + (i5_ * i32(8));
    let v10_: f32 = k0_b1_[v9_];
    a4_ = v8_ * v10_ + a4_;
  }
  k0_b2_[i1_] = a4_;
}

/* contract: sub mul matmul mul sub
   b0: f32[512], b1: f32[16384], b2: f32[2048], b3: f32[2048], writes b4: f32[512] */

@group(0) @binding(0) var<storage, read_write> k1_b0_: array<f32>;
@group(0) @binding(1) var<storage, read_write> k1_b1_: array<f32>;
@group(0) @binding(2) var<storage, read_write> k1_b2_: array<f32>;
@group(0) @binding(3) var<storage, read_write> k1_b3_: array<f32>;
@group(0) @binding(4) var<storage, read_write> k1_b4_: array<f32>;

var<workgroup> k1_0_tile4_: array<f32, 256>;
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
      let ok13_: bool = t11_ <= i32(7);
      let p14_: i32 = rw_min_i32(t11_, i32(7));
      let p15_: i32 = k9_ + t12_;
      let v16_: i32 = (p15_ * i32(8)) + p14_;
      let v17_: f32 = k1_b2_[v16_];
      let v18_: f32 = k1_b3_[v16_];
      let v19_: f32 = v17_ - v18_;
      k1_0_tile4_[(t12_ * i32(16)) + t11_] = select(f32(0.0), v19_, ok13_);
    }
    for (var i20_: i32 = rw_thread; i20_ < 256; i20_ += 64) {
      let t21_: i32 = i20_ % i32(16);
      let t22_: i32 = i20_ / i32(16);
      let p23_: i32 = n3_ + t21_;
      let p24_: i32 = k9_ + t22_;
      let v25_: i32 = (p24_ * i32(64)) + p23_;
      let v26_: f32 = k1_b1_[v25_];
      k1_0_tile5_[(t22_ * i32(16)) + t21_] = v26_;
    }
    workgroupBarrier();
    storageBarrier();
    for (var i27_: i32 = rw_thread; i27_ < 64; i27_ += 64) {
      let y28_: i32 = i27_ / i32(8);
      let x29_: i32 = i27_ % i32(8);
      for (var i30_: i32 = 0; i30_ < 16; i30_ += 1) {
        let v31_: f32 = k1_0_tile4_[(i30_ * i32(16)) + (y28_ * i32(2))];
        let v32_: f32 = k1_0_tile4_[((i30_ * i32(16)) + (y28_ * i32(2))) + i32(1)];
        let v33_: f32 = k1_0_tile5_[(i30_ * i32(16)) + (x29_ * i32(2))];
        let v34_: f32 = k1_0_tile5_[((i30_ * i32(16)) + (x29_ * i32(2))) + i32(1)];
        sums6_[i32(0)] = v31_ * v33_ + sums6_[i32(0)];
        sums6_[i32(1)] = v31_ * v34_ + sums6_[i32(1)];
        sums6_[i32(2)] = v32_ * v33_ + sums6_[i32(2)];
        sums6_[i32(3)] = v32_ * v34_ + sums6_[i32(3)];
      }
    }
    workgroupBarrier();
    storageBarrier();
  }
  for (var i35_: i32 = rw_thread; i35_ < 64; i35_ += 64) {
    let y36_: i32 = i35_ / i32(8);
    let x37_: i32 = i35_ % i32(8);
    { let i38_: i32 = 0;
      { let i40_: i32 = 0;
        let p41_: i32 = (y36_ * i32(2)) + i38_;
        let p42_: i32 = n3_ + ((x37_ * i32(2)) + i40_);
        if (p41_ < i32(8)) {
          let r43_: f32 = sums6_[(i38_ * i32(2)) + i40_];
          let v44_: i32 = (p42_ * i32(8)) + p41_;
          let v45_: f32 = k1_b0_[v44_];
          let v46_: f32 = f32(0.001) * r43_;
          let v47_: f32 = v45_ - v46_;
          k1_b4_[v44_] = v47_;
        }
      }
      { let i40_: i32 = 1;
        let p41_: i32 = (y36_ * i32(2)) + i38_;
        let p42_: i32 = n3_ + ((x37_ * i32(2)) + i40_);
        if (p41_ < i32(8)) {
          let r43_: f32 = sums6_[(i38_ * i32(2)) + i40_];
          let v44_: i32 = (p42_ * i32(8)) + p41_;
          let v45_: f32 = k1_b0_[v44_];
          let v46_: f32 = f32(0.001) * r43_;
          let v47_: f32 = v45_ - v46_;
          k1_b4_[v44_] = v47_;
        }
      }
    }
    { let i38_: i32 = 1;
      { let i40_: i32 = 0;
        let p41_: i32 = (y36_ * i32(2)) + i38_;
        let p42_: i32 = n3_ + ((x37_ * i32(2)) + i40_);
        if (p41_ < i32(8)) {
          let r43_: f32 = sums6_[(i38_ * i32(2)) + i40_];
          let v44_: i32 = (p42_ * i32(8)) + p41_;
          let v45_: f32 = k1_b0_[v44_];
          let v46_: f32 = f32(0.001) * r43_;
          let v47_: f32 = v45_ - v46_;
          k1_b4_[v44_] = v47_;
        }
      }
      { let i40_: i32 = 1;
        let p41_: i32 = (y36_ * i32(2)) + i38_;
        let p42_: i32 = n3_ + ((x37_ * i32(2)) + i40_);
        if (p41_ < i32(8)) {
          let r43_: f32 = sums6_[(i38_ * i32(2)) + i40_];
          let v44_: i32 = (p42_ * i32(8)) + p41_;
          let v45_: f32 = k1_b0_[v44_];
          let v46_: f32 = f32(0.001) * r43_;
          let v47_: f32 = v45_ - v46_;
          k1_b4_[v44_] = v47_;
        }
      }
    }
  }
}
