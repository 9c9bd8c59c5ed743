#include "particles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"

enum { float_variables = 7, pid_variable = 7, block = 4096 };
static const char* const names[variables] = {"xx", "yy", "zz", "vx", "vy", "vz", "phi", "pid", "mask"};

size_t value_bytes(int variable) { return variable < float_variables ? 4 : variable == pid_variable ? 8 : 2; }

uint64_t file_bytes(const struct share* share) { return share->header + share->total * particle_bytes; }

uint64_t file_offset(const struct share* share, int variable) {
  uint64_t before = 0;
  for (int i = 0; i < variable; i++) before += value_bytes(i);
  return share->header + share->total * before + share->first * value_bytes(variable);
}

struct particles particles_allocate(const struct share* share) {
  struct particles particles;
  for (int i = 0; i < variables; i++) particles.values[i] = app_allocate(share->count * value_bytes(i));
  return particles;
}

void particles_free(struct particles* particles) {
  for (int i = 0; i < variables; i++) free(particles->values[i]);
}

/* Values of particles first.. of a variable, as they lie in the file. */
static void make_values(void* to, int variable, uint64_t first, uint64_t count, uint64_t steps_left) {
  char* at = to;
  for (uint64_t i = first; i < first + count; i++) {
    uint64_t state = i * variables + (uint64_t)variable + (steps_left << 56), bits = app_random(&state);
    float real = (float)(bits >> 40) / (float)(1 << 24);
    int64_t pid = (int64_t)(i + steps_left);
    uint16_t mask = (uint16_t)bits;
    const void* value = variable < float_variables ? (void*)&real : variable == pid_variable ? (void*)&pid : &mask;
    memcpy(at, value, value_bytes(variable));
    at += value_bytes(variable);
  }
}

void particles_set(struct particles* particles, const struct share* share, uint64_t steps_left) {
  for (int i = 0; i < variables; i++) {
    char* to = particles->values[i];
    for (uint64_t r = 0; r < share->range_count; r++) {
      make_values(to, i, share->ranges[r].first, share->ranges[r].count, steps_left);
      to += share->ranges[r].count * value_bytes(i);
    }
  }
}

void particles_forget(struct particles* particles, const struct share* share) {
  for (int i = 0; i < variables; i++) memset(particles->values[i], 0xff, share->count * value_bytes(i));
}

uint64_t particles_sum(const struct particles* particles, const struct share* share) {
  uint64_t sum = 0;
  for (int i = 0; i < variables; i++) {
    const char* bytes = particles->values[i];
    uint64_t end = share->count * value_bytes(i), at = 0;
    for (uint64_t word = 0; at + sizeof word <= end; at += sizeof word) {
      memcpy(&word, bytes + at, sizeof word);
      sum += word;
    }
    for (; at < end; at++) sum += (unsigned char)bytes[at];
  }
  return sum;
}

static void say_wrong(int variable, const char* found, const char* expected, uint64_t first) {
  uint64_t i = 0;
  size_t bytes = value_bytes(variable);
  while (memcmp(found + i * bytes, expected + i * bytes, bytes) == 0) i++;
  fprintf(stderr, "sill-hacc-io: rank %d: %s of particle %" PRIu64 " is wrong\n", app_rank(), names[variable],
          first + i);
}

/* Compare the values of a range of particles. */
static bool range_right(const char* values, int variable, const struct share* share, struct near_range range) {
  char expected[block * sizeof(uint64_t)];
  for (uint64_t done = 0; done < range.count; done += block) {
    uint64_t count = range.count - done < block ? range.count - done : block;
    const char* found = values + done * value_bytes(variable);
    app_progress("check", (uint64_t)variable * share->count + done, variables * share->count, "values");
    make_values(expected, variable, range.first + done, count, 0);
    if (memcmp(found, expected, count * value_bytes(variable)) == 0) continue;
    say_wrong(variable, found, expected, range.first + done);
    return false;
  }
  return true;
}

bool particles_right(const struct particles* particles, const struct share* share) {
  for (int i = 0; i < variables; i++) {
    const char* values = particles->values[i];
    for (uint64_t r = 0; r < share->range_count; r++) {
      if (!range_right(values, i, share, share->ranges[r])) return false;
      values += share->ranges[r].count * value_bytes(i);
    }
  }
  return true;
}
