#include "checksum.h"

#include <string.h>

static const uint64_t prime1 = 0x9e3779b185ebca87u, prime2 = 0xc2b2ae3d27d4eb4fu, prime3 = 0x165667b19e3779f9u,
                      prime4 = 0x85ebca77c2b2ae63u, prime5 = 0x27d4eb2f165667c5u;

static uint64_t rotate(uint64_t value, unsigned left) { return value << left | value >> (64 - left); }

static uint64_t word64(const unsigned char* at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

static uint32_t word32(const unsigned char* at) {
  uint32_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

/* One lane takes a word in. */
static uint64_t mix(uint64_t lane, uint64_t word) { return rotate(lane + word * prime2, 31) * prime1; }

/* The stripes of 32 bytes, four lanes side by side, and the lanes into one. */
static uint64_t stripes(const unsigned char** at, const unsigned char* end) {
  uint64_t lanes[4] = {prime1 + prime2, prime2, 0, 0 - prime1};
  for (; end - *at >= 32; *at += 32)
    for (int i = 0; i < 4; i++) lanes[i] = mix(lanes[i], word64(*at + 8 * i));
  uint64_t sum = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
  for (int i = 0; i < 4; i++) sum = (sum ^ mix(0, lanes[i])) * prime1 + prime4;
  return sum;
}

uint64_t checksum(const void* bytes, size_t count) {
  const unsigned char* at = bytes;
  const unsigned char* end = at + count;
  uint64_t sum = (count >= 32 ? stripes(&at, end) : prime5) + count;
  for (; end - at >= 8; at += 8) sum = rotate(sum ^ mix(0, word64(at)), 27) * prime1 + prime4;
  if (end - at >= 4) {
    sum = rotate(sum ^ word32(at) * prime1, 23) * prime2 + prime3;
    at += 4;
  }
  for (; at < end; at++) sum = rotate(sum ^ *at * prime5, 11) * prime1;
  sum = (sum ^ sum >> 33) * prime2;
  sum = (sum ^ sum >> 29) * prime3;
  return sum ^ sum >> 32;
}
