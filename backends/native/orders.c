/* Sorted lines: all of their elements or the first ones, as values or as places.

   Elements are mapped to keys, unsigned integers in the same order.  A line that fits
   into a processor's own cache is sorted there by digits, the least one first.  A long
   line is shared out first: a histogram of the leading bits says where to cut it into
   buckets of about one size, whatever the values are; threads take parts of the line,
   then buckets.  Of few first elements, a line is read once and most of it left out. */

#include <stdint.h>
#include <string.h>

enum {
  FEW = 32,         /* elements that are sorted by moving them */
  SHORT = 4096,     /* below, digits of eight bits */
  DIGIT = 11,       /* bits */
  BLOCK = 256,      /* elements that become keys at once */
  LEADING = 16,     /* bits of a key, of which buckets are runs */
  BUCKETS = 1024,   /* at most */
  ROOM = 1024,      /* candidates beside the best so far */
  OWN = 192 << 10   /* bytes of a bucket; two of them stay in a processor's cache */
};

enum kind { F64, F32, F16, BF16, F8E4M3, F8E5M2, I8, I16, I32, I64, U8, U16, U32, U64 };

typedef void (*rw_span)(void *const *buffers, int64_t begin, int64_t end);
typedef void (*rw_pool)(rw_span run, void *const *buffers, int64_t count, int64_t least);

/* A line of `n` elements `step` apart, of which the `count` first in order are wanted:
   their values, or their places in integers of `width` bytes. */
struct line {
  const char *source;
  int64_t step, n, count;
  enum kind kind;
  int descending, width; /* 0: values */
  char *out;
  int64_t out_step;
};

/* Buckets of keys by (key - least) >> shift. */
struct split {
  uint64_t least;
  int shift;
  uint32_t buckets;
  uint16_t *bucket; /* by leading bits */
};

/* ---- keys ---- */

#define EACH(TYPE, VALUE)                                                        \
  do {                                                                           \
    const TYPE *a = (const TYPE *)x->source + begin * x->step;                   \
    if (x->step == 1)                                                            \
      for (int64_t i = 0; i < n; i++) { TYPE v = a[i]; keys[i] = (VALUE) ^ flip; } \
    else                                                                         \
      for (int64_t i = 0; i < n; i++) {                                          \
        TYPE v = a[i * x->step];                                                 \
        keys[i] = (VALUE) ^ flip;                                                \
      }                                                                          \
  } while (0)

/* Bits of a float: of negative ones all turned, of others the sign; both zeros are one,
   and all that is beyond infinity is the greatest. */
#define FLOATS(TYPE, ORDERED, BITS, INFINITE)                                    \
  EACH(TYPE, ((v & (TYPE)~((TYPE)1 << (BITS - 1))) > (TYPE)(INFINITE))           \
                 ? (TYPE)~(TYPE)0                                                \
             : (v & (TYPE)~((TYPE)1 << (BITS - 1))) == 0                         \
                 ? (TYPE)((TYPE)1 << (BITS - 1))                                 \
                 : (TYPE)(v ^ (TYPE)((TYPE)((ORDERED)v >> (BITS - 1)) |          \
                                     (TYPE)((TYPE)1 << (BITS - 1)))))

static inline uint64_t all_bits(enum kind kind) {
  switch (kind) {
    case F64: case I64: case U64: return UINT64_MAX;
    case F32: case I32: case U32: return UINT32_MAX;
    case F16: case BF16: case I16: case U16: return UINT16_MAX;
    default: return UINT8_MAX;
  }
}

static inline int64_t bytes_of(enum kind kind) {
  uint64_t ones = all_bits(kind);
  return ones == UINT64_MAX ? 8 : ones == UINT32_MAX ? 4 : ones == UINT16_MAX ? 2 : 1;
}

static inline int wide(enum kind kind) { return kind == F64 || kind == I64 || kind == U64; }

static void encode(const struct line *x, int64_t begin, int64_t n, uint64_t *keys) {
  uint64_t flip = x->descending ? all_bits(x->kind) : 0;
  switch (x->kind) {
    case F64: FLOATS(uint64_t, int64_t, 64, 0x7ff0000000000000); break;
    case F32: FLOATS(uint32_t, int32_t, 32, 0x7f800000); break;
    case F16: FLOATS(uint16_t, int16_t, 16, 0x7c00); break;
    case BF16: FLOATS(uint16_t, int16_t, 16, 0x7f80); break;
    case F8E4M3: FLOATS(uint8_t, int8_t, 8, 0x7e); break; /* which has no infinity */
    case F8E5M2: FLOATS(uint8_t, int8_t, 8, 0x7c); break;
    case I8: EACH(int8_t, (uint8_t)(v ^ INT8_MIN)); break;
    case I16: EACH(int16_t, (uint16_t)(v ^ INT16_MIN)); break;
    case I32: EACH(int32_t, (uint32_t)v ^ (uint32_t)INT32_MIN); break;
    case I64: EACH(int64_t, (uint64_t)v ^ (uint64_t)INT64_MIN); break;
    case U8: EACH(uint8_t, v); break;
    case U16: EACH(uint16_t, v); break;
    case U32: EACH(uint32_t, v); break;
    case U64: EACH(uint64_t, v); break;
  }
}

/* Whether a key of a block is below a bound; of floats beside each other that is asked
   of themselves. */
static int any_below(const struct line *x, int64_t begin, int64_t n, uint64_t bound) {
  int found = 0;
  if (x->kind == F32 && x->step == 1) {
    const uint32_t *a = (const uint32_t *)x->source + begin;
    uint32_t flip = x->descending ? UINT32_MAX : 0, least = (uint32_t)bound;
    for (int64_t i = 0; i < n; i++) {
      uint32_t v = a[i], key = v ^ ((uint32_t)((int32_t)v >> 31) | 0x80000000u);
      uint32_t size = v & 0x7fffffffu;
      key = size > 0x7f800000u ? UINT32_MAX : size == 0 ? 0x80000000u : key;
      found |= (key ^ flip) < least;
    }
    return found;
  }
  uint64_t keys[BLOCK];
  encode(x, begin, n, keys);
  for (int64_t i = 0; i < n; i++) found |= keys[i] < bound;
  return found;
}

#define OUT(TYPE, VALUE)                                                         \
  do {                                                                           \
    TYPE *to = (TYPE *)x->out + first * x->out_step;                             \
    for (int64_t i = 0; i < n; i++) {                                            \
      uint64_t k = keys[i] ^ flip;                                               \
      to[i * x->out_step] = (TYPE)(VALUE);                                       \
    }                                                                            \
  } while (0)
#define OUT_FLOATS(TYPE, BITS, NAN)                                              \
  OUT(TYPE, (TYPE)k == (TYPE)~(TYPE)0 ? (TYPE)(NAN)                              \
            : k >> (BITS - 1) ? (TYPE)(k ^ ((uint64_t)1 << (BITS - 1)))          \
                              : (TYPE)~(TYPE)k)

static void decode(const struct line *x, int64_t first, int64_t n, const uint64_t *keys) {
  uint64_t flip = x->descending ? all_bits(x->kind) : 0;
  switch (x->kind) {
    case F64: OUT_FLOATS(uint64_t, 64, 0x7ff8000000000000); break;
    case F32: OUT_FLOATS(uint32_t, 32, 0x7fc00000); break;
    case F16: OUT_FLOATS(uint16_t, 16, 0x7e00); break;
    case BF16: OUT_FLOATS(uint16_t, 16, 0x7fc0); break;
    case F8E4M3: OUT_FLOATS(uint8_t, 8, 0x7f); break;
    case F8E5M2: OUT_FLOATS(uint8_t, 8, 0x7e); break;
    case I8: OUT(uint8_t, k ^ 0x80); break;
    case I16: OUT(uint16_t, k ^ 0x8000); break;
    case I32: OUT(uint32_t, k ^ 0x80000000u); break;
    case I64: OUT(uint64_t, k ^ 0x8000000000000000u); break;
    case U8: OUT(uint8_t, k); break;
    case U16: OUT(uint16_t, k); break;
    case U32: OUT(uint32_t, k); break;
    case U64: OUT(uint64_t, k); break;
  }
}

/* The elements at these places, or the places themselves. */
static void bring(const struct line *x, int64_t first, int64_t n, const uint64_t *keys) {
  const uint64_t flip = 0;
#define TAKEN(TYPE) OUT(TYPE, ((const TYPE *)x->source)[k * x->step])
  if (x->width)
    switch (x->width) {
      case 1: OUT(uint8_t, k); break;
      case 2: OUT(uint16_t, k); break;
      case 4: OUT(uint32_t, k); break;
      default: OUT(uint64_t, k); break;
    }
  else
    switch (all_bits(x->kind)) {
      case UINT8_MAX: TAKEN(uint8_t); break;
      case UINT16_MAX: TAKEN(uint16_t); break;
      case UINT32_MAX: TAKEN(uint32_t); break;
      default: TAKEN(uint64_t); break;
    }
}

/* The place in a sorted line of the first key that is not below `key`, or above it. */
static int64_t first_from(const struct line *sorted, uint64_t key, int above) {
  int64_t low = 0, high = sorted->n;
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    uint64_t found;
    encode(sorted, mid, 1, &found);
    if (found < key || (above && found == key)) low = mid + 1;
    else high = mid;
  }
  return low;
}

/* Zeros are one key and were stored without their signs: now in the order in which they
   stand in the line. */
static void sign_zeros(const struct line *x) {
  if (x->kind > F8E5M2) return;
  uint64_t ones = all_bits(x->kind), zero = ones - (ones >> 1), keys[BLOCK];
  if (x->descending) zero ^= ones;
  struct line made = *x;
  made.source = x->out, made.step = x->out_step, made.n = x->count;
  int64_t at = first_from(&made, zero, 0), end = first_from(&made, zero, 1);
  int64_t size = bytes_of(x->kind);
  for (int64_t i = 0; at < end; i += BLOCK) {
    int64_t m = x->n - i < BLOCK ? x->n - i : BLOCK;
    encode(x, i, m, keys);
    for (int64_t j = 0; j < m && at < end; j++)
      if (keys[j] == zero) {
        const char *from = x->source + (i + j) * x->step * size;
        memcpy(x->out + at++ * x->out_step * size, from, size);
      }
  }
}

/* ---- forms of elements ---- */

struct placed {
  uint64_t key, place;
};

RADIX

/* Does it in the form that holds the keys, with their places if `placed`. */
#define FORM(PLACED, CALL)                                                       \
  do {                                                                           \
    if (wide(x->kind)) {                                                         \
      if (PLACED) CALL(pairs, struct placed);                                    \
      else CALL(longs, uint64_t);                                                \
    } else if (PLACED) CALL(packed, uint64_t);                                   \
    else CALL(words, uint32_t);                                                  \
  } while (0)

static int64_t element_size(const struct line *x, int placed) {
  return (wide(x->kind) ? 8 : 4) * (placed ? 2 : 1);
}

/* Whether so few are wanted that most elements are left out as they are read. */
static int few(const struct line *x) { return x->count <= 4 || x->count * 16 <= x->n; }

/* ---- one line by one thread ---- */

static void whole_alone(const struct line *x, char *work) {
#define ALONE(FORM_, T)                                                          \
  do {                                                                           \
    T *a = (T *)work;                                                            \
    FORM_##_load(x, 0, x->n, a);                                                 \
    FORM_##_store(x, 0, x->count, FORM_##_by_digits(a, a + x->n, x->n));         \
  } while (0)
  FORM(x->width, ALONE);
}

static void top_alone(const struct line *x, char *work) {
  int64_t n, room = 2 * x->count + ROOM;
#define TOP(FORM_, T)                                                            \
  do {                                                                           \
    T *a = (T *)work;                                                            \
    a = FORM_##_top(x, 0, x->n, a, a + room, &n);                                \
    FORM_##_store(x, 0, n, a);                                                      \
  } while (0)
  if (wide(x->kind)) TOP(pairs, struct placed);
  else TOP(packed, uint64_t);
}

/* ---- one line by all threads ---- */

struct range {
  uint64_t least, most;
};

struct shared {
  const struct line *x;
  int64_t chunks, n; /* elements of a chunk */
  struct split split;
  struct range *ranges;            /* by chunk */
  uint32_t *counts;                /* by chunk and leading bits */
  uint32_t *places;                /* by chunk and bucket */
  uint32_t first[BUCKETS + 1];     /* by bucket */
  char *elements, *others;
  int64_t *found;                  /* by chunk: how many, and from where */
};

static int64_t chunk_end(const struct shared *s, int64_t c) {
  int64_t end = (c + 1) * s->n;
  return end < s->x->n ? end : s->x->n;
}

static void find_ranges(void *const *buffers, int64_t begin, int64_t end) {
  const struct shared *s = (const void *)buffers;
  uint64_t keys[BLOCK];
  for (int64_t c = begin; c < end; c++) {
    uint64_t least = UINT64_MAX, most = 0;
    for (int64_t i = c * s->n, stop = chunk_end(s, c); i < stop; i += BLOCK) {
      int64_t m = stop - i < BLOCK ? stop - i : BLOCK;
      encode(s->x, i, m, keys);
      for (int64_t j = 0; j < m; j++) {
        least = keys[j] < least ? keys[j] : least;
        most = keys[j] > most ? keys[j] : most;
      }
    }
    s->ranges[c] = (struct range){least, most};
  }
}

static void count_leading(void *const *buffers, int64_t begin, int64_t end) {
  const struct shared *s = (const void *)buffers;
  uint64_t keys[BLOCK];
  for (int64_t c = begin; c < end; c++) {
    uint32_t *counts = s->counts + (c << LEADING);
    memset(counts, 0, sizeof *counts << LEADING);
    for (int64_t i = c * s->n, stop = chunk_end(s, c); i < stop; i += BLOCK) {
      int64_t m = stop - i < BLOCK ? stop - i : BLOCK;
      encode(s->x, i, m, keys);
      for (int64_t j = 0; j < m; j++) counts[(keys[j] - s->split.least) >> s->split.shift]++;
    }
  }
}

/* Runs of leading bits with about `wanted` elements; what one value of them has alone
   more than that is a bucket of its own. */
static void cut(struct shared *s, int64_t wanted) {
  uint32_t b = 0;
  int64_t in_bucket = 0, total = 0;
  memset(s->places, 0, sizeof(uint32_t) * BUCKETS * s->chunks);
  s->first[0] = 0;
  for (uint32_t lead = 0; lead < 1u << LEADING; lead++) {
    int64_t here = 0;
    for (int64_t c = 0; c < s->chunks; c++) here += s->counts[(c << LEADING) + lead];
    if (in_bucket && in_bucket + here > wanted) s->first[++b] = (uint32_t)total, in_bucket = 0;
    s->split.bucket[lead] = (uint16_t)b;
    in_bucket += here, total += here;
    for (int64_t c = 0; here && c < s->chunks; c++)
      s->places[c * BUCKETS + b] += s->counts[(c << LEADING) + lead];
  }
  s->split.buckets = b + 1, s->first[b + 1] = (uint32_t)total;
  for (b = 0; b < s->split.buckets; b++) {
    uint32_t at = s->first[b];
    for (int64_t c = 0; c < s->chunks; c++) {
      uint32_t count = s->places[c * BUCKETS + b];
      s->places[c * BUCKETS + b] = at, at += count;
    }
  }
}

static void share_out(void *const *buffers, int64_t begin, int64_t end) {
  const struct shared *s = (const void *)buffers;
  const struct line *x = s->x;
#define SHARE(FORM_, T)                                                          \
  FORM_##_scatter(x, &s->split, c * s->n, chunk_end(s, c), s->places + c * BUCKETS, \
                  (T *)s->elements)
  for (int64_t c = begin; c < end; c++) FORM(x->width, SHARE);
}

static void sort_buckets(void *const *buffers, int64_t begin, int64_t end) {
  static _Thread_local char own[2 * OWN] __attribute__((aligned(64)));
  const struct shared *s = (const void *)buffers;
  const struct line *x = s->x;
  int64_t size = element_size(x, x->width);
#define BUCKET(FORM_, T)                                                         \
  do {                                                                           \
    T *a = (T *)s->elements + first;                                             \
    T *other = n * size <= 2 * OWN ? (T *)own : (T *)s->others + first;          \
    FORM_##_store(x, first, kept, FORM_##_by_digits(a, other, n));               \
  } while (0)
  for (int64_t b = begin; b < end; b++) {
    int64_t first = s->first[b], n = s->first[b + 1] - first;
    int64_t kept = x->count - first < n ? x->count - first : n;
    if (kept > 0) FORM(x->width, BUCKET);
  }
}

static rw_pool pool;

static int64_t ahead(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

static void whole_shared(struct shared *s, char *work) {
  const struct line *x = s->x;
  int64_t size = element_size(x, x->width);
  void *const *all = (void *const *)(void *)s;
  s->counts = (uint32_t *)work, work += ahead((sizeof(uint32_t) << LEADING) * s->chunks);
  s->split.bucket = (uint16_t *)work, work += ahead(sizeof(uint16_t) << LEADING);
  s->places = (uint32_t *)work, work += ahead(sizeof(uint32_t) * BUCKETS * s->chunks);
  s->ranges = (struct range *)work, work += ahead(sizeof(struct range) * s->chunks);
  s->elements = work, s->others = work + ahead(size * x->n);
  pool(find_ranges, all, s->chunks, 1);
  struct range of = s->ranges[0];
  for (int64_t c = 1; c < s->chunks; c++) {
    if (s->ranges[c].least < of.least) of.least = s->ranges[c].least;
    if (s->ranges[c].most > of.most) of.most = s->ranges[c].most;
  }
  int bits = of.most > of.least ? 64 - __builtin_clzll(of.most - of.least) : 0;
  s->split.least = of.least, s->split.shift = bits > LEADING ? bits - LEADING : 0;
  pool(count_leading, all, s->chunks, 1);
  int64_t wanted = OWN / size, least = x->n / (BUCKETS / 4);
  cut(s, wanted > least ? wanted : least);
  pool(share_out, all, s->chunks, 1);
  pool(sort_buckets, all, s->split.buckets, 1);
}

static void find_top(void *const *buffers, int64_t begin, int64_t end) {
  const struct shared *s = (const void *)buffers;
  const struct line *x = s->x;
  int64_t room = 2 * x->count + ROOM;
#define CHUNK(FORM_, T)                                                          \
  do {                                                                           \
    T *a = (T *)s->elements + 2 * room * c, *best;                               \
    best = FORM_##_top(x, c * s->n, chunk_end(s, c), a, a + room, s->found + c); \
    memcpy((T *)s->others + x->count * c, best, s->found[c] * sizeof(T));        \
  } while (0)
  for (int64_t c = begin; c < end; c++)
    if (wide(x->kind)) CHUNK(pairs, struct placed);
    else CHUNK(packed, uint64_t);
}

static void top_shared(struct shared *s, char *work) {
  const struct line *x = s->x;
  int64_t size = element_size(x, 1), room = 2 * x->count + ROOM, n = 0;
  s->found = (int64_t *)work, work += ahead(sizeof(int64_t) * s->chunks);
  s->elements = work, s->others = work + ahead(size * 2 * room * s->chunks);
  pool(find_top, (void *const *)(void *)s, s->chunks, 1);
#define MEET(FORM_, T)                                                           \
  do {                                                                           \
    T *a = (T *)s->others;                                                       \
    for (int64_t c = 0; c < s->chunks; n += s->found[c++])                       \
      memmove(a + n, a + x->count * c, s->found[c] * sizeof(T));                 \
    FORM_##_store(x, 0, x->count, FORM_##_by_digits(a, (T *)s->elements, n));       \
  } while (0)
  if (wide(x->kind)) MEET(pairs, struct placed);
  else MEET(packed, uint64_t);
}

/* ---- what kernels call ---- */

void rw_order_join(rw_pool threads) { pool = threads; }

/* A line in order, in the memory that `lower/orders.py` counts: see `struct line`.  With `chunks`, by all threads in so many parts. */
void rw_order_line(int kind, const void *source, int64_t step, int64_t n, int64_t count,
                   int descending, int width, void *out, int64_t out_step, void *work,
                   int64_t chunks) {
  struct line x = {source, step, n, count, kind, descending, width, out, out_step};
  if (count < 1) return;
  if (!chunks) {
    if (few(&x)) top_alone(&x, work);
    else whole_alone(&x, work);
  } else {
    struct shared s = {.x = &x, .chunks = chunks, .n = (n + chunks - 1) / chunks};
    s.chunks = (n + s.n - 1) / s.n;
    if (few(&x)) top_shared(&s, work);
    else whole_shared(&s, work);
  }
  if (!width && !few(&x)) sign_zeros(&x);
}
