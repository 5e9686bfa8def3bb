/* A digest of the bytes of several buffers, to see whether they have changed.

   Multilinear hashing (Lemire and Kaser, "Strongly universal string hashing is fast",
   2014): the sum of 32-bit words times fixed random keys, modulo 2^64, a block at a
   time; sums of blocks, and of buffers, are the digits of a polynomial.  Two contents
   that were not made to meet have one digest in about one of 2^32 cases.  It is limited
   by memory, and no defence against who looks for a collision. */

#include <stdint.h>
#include <string.h>

enum { BLOCK = 1024 }; /* words of 4 bytes */

static const uint64_t BASE = UINT64_C(0x9E3779B97F4A7C15); /* odd: no digit is lost */

static uint64_t mixed(uint64_t x) { /* SplitMix64 */
  x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
  return x ^ (x >> 31);
}

static uint64_t digit(const unsigned char *at, const uint32_t *keys) {
  uint64_t sum = 0;
  for (int k = 0; k < BLOCK; k++) {
    uint32_t word;
    memcpy(&word, at + 4 * k, 4);
    sum += (uint64_t)word * keys[k];
  }
  return sum;
}

uint64_t rw_digest(const void *const *buffers, const int64_t *sizes, int64_t count) {
  uint32_t keys[BLOCK];
  for (uint64_t k = 0; k < BLOCK; k++) keys[k] = (uint32_t)(mixed((k + 1) * BASE) >> 32);
  uint64_t total = 0;
  for (int64_t b = 0; b < count; b++) {
    const unsigned char *at = buffers[b];
    int64_t left = sizes[b];
    for (; left >= 4 * BLOCK; left -= 4 * BLOCK, at += 4 * BLOCK)
      total = total * BASE + digit(at, keys);
    unsigned char rest[4 * BLOCK] = {0};
    if (left > 0) memcpy(rest, at, (size_t)left);
    total = total * BASE + digit(rest, keys);
    total = total * BASE + (uint64_t)sizes[b];
  }
  return total;
}
