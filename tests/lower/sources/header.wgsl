var<private> rw_inf_bits: u32 = 0x7f800000u;
var<private> rw_nan_bits: u32 = 0x7fc00000u;

fn rw_abs_f32(a: f32) -> f32 { return abs(a); }

fn rw_exp_f32(a_: f32) -> f32 {
  let n_ = (bitcast<i32>((a_ * f32(1.442695) + f32(1.2582912e+07))) - i32(1262485504));
  let whole_ = f32(n_);
  let r_ = (whole_ * f32(-1.4286068e-06) + (whole_ * f32(-0.69314575) + a_));
  let p_ = (r_ * (r_ * ((((f32(0.001381454) * r_ + f32(0.008368745)) * r_ + f32(0.04166839)) * r_ + f32(0.16666521)) * r_ + f32(0.49999994)) + f32(1.0)) + f32(1.0));
  return select(select(((p_ * bitcast<f32>(((n_ + select(i32(126), i32(190), (a_ < f32(-86.0)))) << u32(i32(23))))) * select(f32(2.0), f32(1.0842022e-19), (a_ < f32(-86.0)))), f32(0.0), (a_ < f32(-104.0))), (bitcast<f32>(rw_inf_bits)), (f32(89.0) < a_));
}

fn rw_copysign_f32(a_: f32, b_: f32) -> f32 {
  return bitcast<f32>(((bitcast<u32>(a_) & 2147483647u) | (bitcast<u32>(b_) & 2147483648u)));
}

fn rw_erf_f32(a_: f32) -> f32 {
  let x_ = rw_abs_f32(a_);
  let s_ = (x_ * x_);
  let near_ = (x_ * ((((((f32(8.538836e-05) * s_ + f32(-0.00081819267)) * s_ + f32(0.005204436)) * s_ + f32(-0.026860753)) * s_ + f32(0.112837195)) * s_ + f32(-0.37612635)) * s_ + f32(0.12837917)) + x_);
  let far_ = (f32(1.0) - rw_exp_f32((-(((((((f32(2.0629333e-05) * select(select(x_, f32(0.0), (x_ < f32(0.0))), f32(4.0), (f32(4.0) < x_)) + f32(-0.0004290861)) * select(select(x_, f32(0.0), (x_ < f32(0.0))), f32(4.0), (f32(4.0) < x_)) + f32(0.0041450686)) * select(select(x_, f32(0.0), (x_ < f32(0.0))), f32(4.0), (f32(4.0) < x_)) + f32(-0.025051175)) * select(select(x_, f32(0.0), (x_ < f32(0.0))), f32(4.0), (f32(4.0) < x_)) + f32(0.10817493)) * select(select(x_, f32(0.0), (x_ < f32(0.0))), f32(4.0), (f32(4.0) < x_)) + f32(0.63344204)) * select(select(x_, f32(0.0), (x_ < f32(0.0))), f32(4.0), (f32(4.0) < x_)) + f32(1.1294681)) * select(select(x_, f32(0.0), (x_ < f32(0.0))), f32(4.0), (f32(4.0) < x_)) + f32(-0.00016500933)))));
  return rw_copysign_f32(select(far_, near_, (x_ < f32(0.9))), a_);
}

/* A name is a word and a number.  b, s: buffers, scratch.  i: where a loop stands;
   t: the number of a tile; m, n, k: where a product stands; p, o: positions, offsets.
   v: a value; c: a condition, or an accumulator of a tile; r: a reduction's result.
   acc, sum, row, tile, left, right, state: arrays.  rw_: the same in every kernel. */
