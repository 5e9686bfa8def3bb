/* Sorts of one form of elements; `orders.py` puts this text in once for each form.

   NAME(x) names a function of the form, ELEMENT is its type, KEY(e) the key of an element
   (64 bits) and BEFORE(a, b) a total order that agrees with keys; where elements carry
   their place, equal keys are in the order of places. */

/* In place, by moving each element down; for few. */
static void NAME(insert)(ELEMENT *a, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    ELEMENT e = a[i];
    int64_t j = i;
    for (; j && BEFORE(e, a[j - 1]); j--) a[j] = a[j - 1];
    a[j] = e;
  }
}

/* By digits of the bits in which keys differ, the least digit first; `b` is as long as
   `a`.  Returns which of the two holds the result. */
static ELEMENT *NAME(by_digits)(ELEMENT *restrict a, ELEMENT *restrict b, int64_t n) {
  if (n <= FEW) return NAME(insert)(a, n), a;
  uint64_t first = KEY(a[0]), differ = 0;
  for (int64_t i = 1; i < n; i++) differ |= KEY(a[i]) ^ first;
  if (!differ) return a;
  int low = __builtin_ctzll(differ), bits = 64 - low - __builtin_clzll(differ);
  int most = n < SHORT ? 8 : DIGIT, passes = (bits + most - 1) / most;
  int width = (bits + passes - 1) / passes;
  uint64_t mask = ((uint64_t)1 << width) - 1;
  uint32_t counts[8][1 << DIGIT];
  for (int p = 0; p < passes; p++) memset(counts[p], 0, sizeof(uint32_t) << width);
  for (int64_t i = 0; i < n; i++) {
    uint64_t key = KEY(a[i]) >> low;
    for (int p = 0; p < passes; p++) counts[p][key >> p * width & mask]++;
  }
  for (int p = 0; p < passes; p++) {
    uint32_t *place = counts[p], total = 0;
    for (uint64_t d = 0; d <= mask; d++) {
      uint32_t count = place[d];
      place[d] = total, total += count;
    }
    int shift = low + p * width;
    for (int64_t i = 0; i < n; i++) b[place[KEY(a[i]) >> shift & mask]++] = a[i];
    ELEMENT *other = a;
    a = b, b = other;
  }
  return a;
}

/* Elements of a stretch, shared out to the buckets of their keys.  A line of memory of
   each bucket is filled in the cache before it is stored. */
static void NAME(scatter)(const struct line *x, const struct split *s, int64_t begin,
                          int64_t end, uint32_t *place, ELEMENT *to) {
  enum { LINE = 64 / sizeof(ELEMENT) };
  static _Thread_local ELEMENT held[BUCKETS][LINE] __attribute__((aligned(64)));
  static _Thread_local uint8_t filled[BUCKETS];
  memset(filled, 0, s->buckets);
  uint64_t keys[BLOCK];
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t m = end - i < BLOCK ? end - i : BLOCK;
    encode(x, i, m, keys);
    for (int64_t j = 0; j < m; j++) {
      uint32_t b = s->bucket[(keys[j] - s->least) >> s->shift];
      int k = filled[b];
      held[b][k] = MAKE(keys[j], i + j);
      if (++k == LINE) {
        memcpy(to + place[b], held[b], sizeof held[b]);
        place[b] += LINE, k = 0;
      }
      filled[b] = k;
    }
  }
  for (uint32_t b = 0; b < s->buckets; b++)
    memcpy(to + place[b], held[b], filled[b] * sizeof(ELEMENT));
}

static void NAME(load)(const struct line *x, int64_t begin, int64_t n, ELEMENT *to) {
  uint64_t keys[BLOCK];
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t m = n - i < BLOCK ? n - i : BLOCK;
    encode(x, begin + i, m, keys);
    for (int64_t j = 0; j < m; j++) to[i + j] = MAKE(keys[j], begin + i + j);
  }
}

/* `n` elements to places `first` and following of the result. */
static void NAME(store)(const struct line *x, int64_t first, int64_t n, const ELEMENT *a) {
  uint64_t found[BLOCK];
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t m = n - i < BLOCK ? n - i : BLOCK;
    for (int64_t j = 0; j < m; j++) found[j] = PLACED ? PLACE(a[i + j]) : KEY(a[i + j]);
    if (PLACED) bring(x, first + i, m, found);
    else decode(x, first + i, m, found);
  }
}

#if PLACED
/* The `count` first of the elements from `begin` to `end`, in order, to `kept`, which
   holds 2 * count + ROOM elements, as does `other`: what is not before the last of the
   best so far is left out as it is read.  Returns how many there are, and where. */
static ELEMENT *NAME(top)(const struct line *x, int64_t begin, int64_t end,
                          ELEMENT *kept, ELEMENT *other, int64_t *found) {
  int64_t count = x->count, room = 2 * count + ROOM, n = 0;
  uint64_t keys[BLOCK], bound = UINT64_MAX;
  int full = 0;
  for (int64_t i = begin; i < end; i += BLOCK) {
    int64_t m = end - i < BLOCK ? end - i : BLOCK;
    if (full && !any_below(x, i, m, bound)) continue;
    encode(x, i, m, keys);
    for (int64_t j = 0; j < m; j++) {
      if (full && keys[j] >= bound) continue;
      if (count <= FEW && full) { /* the last of the best gives way */
        ELEMENT e = MAKE(keys[j], i + j);
        int64_t k = count - 1;
        for (; k && BEFORE(e, kept[k - 1]); k--) kept[k] = kept[k - 1];
        kept[k] = e, bound = KEY(kept[count - 1]);
        continue;
      }
      kept[n++] = MAKE(keys[j], i + j);
      if (n < (full || count > FEW ? room : count)) continue;
      ELEMENT *best = NAME(by_digits)(kept, other, n);
      if (best != kept) other = kept, kept = best;
      n = count, full = 1, bound = KEY(kept[count - 1]);
    }
  }
  ELEMENT *best = NAME(by_digits)(kept, other, n);
  *found = n < count ? n : count;
  return best;
}
#endif
