/* What the window must hold, and whether it does. */
#include <string.h>

#include "mstream.h"

const uint64_t* stream_content(const struct stream* stream, size_t s, uint32_t pass) {
  uint64_t state = ((uint64_t)s << 32) + pass;
  return stream->pattern + PATTERN_STEP * (app_random(&state) % PATTERN_SHIFTS);
}

void stream_fill(struct stream* stream) {
  ++stream->pass;
  for (size_t s = 0; s < stream->count; ++s) {
    app_progress("fill", s * stream->segment, stream->bytes, "B");
    memcpy(stream->base + s * stream->segment, stream_content(stream, s, stream->pass), stream->segment);
    stream->writer[s] = stream->pass;
  }
  stream->known = true;
}

/* Each update adds 1 to a word: no word may have become less or too much, and the sum must be that of all updates. */
bool stream_check(const struct stream* stream, uint64_t updates) {
  uint64_t sum = 0;
  for (size_t s = 0; s < stream->count; ++s) {
    const uint64_t* begun = stream_content(stream, s, stream->writer[s]);
    const uint64_t* now = (const uint64_t*)(const void*)(stream->base + s * stream->segment);
    app_progress("check", s * stream->segment, stream->bytes, "B");
    if (updates == 0 && memcmp(now, begun, stream->segment) != 0) return false;
    for (size_t i = 0; updates > 0 && i < stream->segment / sizeof *now; ++i) {
      if (now[i] - begun[i] > updates) return false;
      sum += now[i] - begun[i];
    }
  }
  return sum == updates;
}
