#pragma once
// KeptFile: what a kept coarray notes beside its file. It is the front of the coarray's window.
#include <utility>

#include "coarray/record.hpp"
#include "window/front.hpp"

namespace sill::coarray {

class KeptFile : public window::Front {
 public:
  using State = CoarrayRecord::State;
  // `speaks`: of all images, this one warns.
  KeptFile(CoarrayRecord record, bool speaks) : record_(std::move(record)), speaks_(speaks) {}

  const CoarrayRecord& record() const { return record_; }
  // Whether all images have one file.
  bool shared() const { return record_.image == 0; }
  // The state that the end of the window leaves; `kept` unless told otherwise.
  void end_as(State state) { end_ = state; }

  Status describe(const storage::File& file, bool created, storage::Record& record) override;
  Status close(const storage::File& file) override { return record_.state == end_ ? Status() : mark(file, end_); }
  Status give_up(const storage::File* led) override;

  // Notes a state in the file's record, of the sync that led to it; durable.
  Status mark(const storage::File& file, State state);
  // Gives up the bytes although a window lies on them: the file goes, or the coarray's place in that of all coarrays of
  // the image, and the file with the last one.
  Status unlink(const storage::File& file) const;
  // Some images alone can't keep the coarray.
  void tell_not_kept() const;

 private:
  CoarrayRecord record_;
  bool speaks_;
  State end_ = State::kept;
};

}  // namespace sill::coarray
