var<private> rw_inf_bits: u32 = 0x7f800000u;
var<private> rw_nan_bits: u32 = 0x7fc00000u;

fn rw_abs_f32(a: f32) -> f32 { return abs(a); }

fn rw_round_f32(a: f32) -> f32 { return round(a); }

fn rw_exp_f32(a_: f32) -> f32 {
  let x_ = select(select(a_, f32(-105.0), (a_ < f32(-105.0))), f32(89.0), (f32(89.0) < a_));
  let n_ = rw_round_f32((x_ * f32(1.442695)));
  let r_ = (n_ * f32(-1.4286068e-06) + (n_ * f32(-0.69314575) + x_));
  let p_ = (((r_ * r_) * (((((f32(0.00019916595) * r_ + f32(0.0013946148)) * r_ + f32(0.008333268)) * r_ + f32(0.04166627)) * r_ + f32(0.16666667)) * r_ + f32(0.5)) + r_) + f32(1.0));
  let i_ = i32(select(f32(0.0), n_, (n_ == n_)));
  let half_ = (i_ >> u32(i32(1)));
  return ((p_ * bitcast<f32>(((half_ + i32(127)) << u32(i32(23))))) * select(bitcast<f32>((((i_ - half_) + i32(127)) << u32(i32(23)))), f32(0.0), (a_ < f32(-104.0))));
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
