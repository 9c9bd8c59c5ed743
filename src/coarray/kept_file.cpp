#include "coarray/kept_file.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace sill::coarray {

Status KeptFile::describe(const storage::File& file, bool created, storage::Record& record) {
  CoarrayRecords coarrays;
  if (record_.offset && !created) {
    auto others = read_coarrays(file.path());
    if (!others.ok()) return others.status();
    if (others.value()) coarrays = std::move(*others.value());
  }
  const auto at = std::ranges::find(coarrays, record_.name, &CoarrayRecord::name);
  if (at == coarrays.end())
    coarrays.push_back(record_);
  else
    *at = record_;
  put_coarrays(record, coarrays);
  return {};
}

Status KeptFile::mark(const storage::File& file, State state) {
  CoarrayRecord changed = record_;
  changed.state = state;
  const Status status = change_coarrays(file, true, [&](CoarrayRecords& coarrays) {
    std::ranges::replace_if(
        coarrays, [&](const CoarrayRecord& coarray) { return coarray.name == changed.name; }, changed);
  });
  if (status.ok()) record_ = std::move(changed);
  return status;
}

Status KeptFile::unlink(const storage::File& file) const {
  if (!record_.offset) return storage::unlink_file(file);
  if (Status status = drop_coarray(file, record_.name); !status.ok()) return status;
  const auto left = read_coarrays(file.path());
  return left.ok() && left.value() && left.value()->empty() ? storage::unlink_file(file) : left.status();
}

void KeptFile::tell_not_kept() const {
  log(speaks_ ? LogLevel::warn : LogLevel::info,
      "coarrays: '" + record_.name + "' is not kept: other images have allocatable components in it");
}

Status KeptFile::give_up(const storage::File* led) {
  tell_not_kept();
  // The next run would refuse what only some images have.
  return led ? unlink(*led) : Status();
}

}  // namespace sill::coarray
