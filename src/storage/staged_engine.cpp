// The staged engine: the segment is plain memory, read from its file at the start and written out by each sync.
#include <optional>
#include <utility>

#include "storage/engine.hpp"
#include "storage/staging.hpp"

namespace sill::storage {
namespace {

class StagedEngine : public Engine {
 public:
  StagedEngine(std::shared_ptr<File> file, const Extent& extent) : file_(std::move(file)), extent_(extent) {}

  // A neighbour's segment is the owner's to read.
  Status attach(const WindowHints&, bool own, const std::string&) override {
    if (own) return read_in(*file_, extent_.offset, extent_.address, extent_.length);
    file_->close();
    return {};
  }

  Status detach() override { return {}; }

  Status shield() override { return {Cause::unsupported, file_->path() + ": a staged segment can't be shielded"}; }

  Result<std::optional<std::uint64_t>> sync(std::byte* begin, std::uint64_t length, bool) override {
    std::optional<File> again;
    if (file_->fd() < 0) {
      auto opened = file_->opened_again();
      if (!opened.ok()) return opened.status();
      again = std::move(opened).value();
    }
    const auto offset = extent_.offset + static_cast<std::uint64_t>(begin - extent_.address);
    const auto written = write_out(again ? *again : *file_, offset, begin, length);
    return written.ok() ? Result(std::optional(written.value())) : written.status();
  }

  Status advise(const WindowHints&) override { return {}; }
  void watch(const WindowHints&, std::uint64_t, bool) override {}
  void unwatch() override {}

 private:
  std::shared_ptr<File> file_;  // open if this process owns the segment
  Extent extent_;
};

}  // namespace

std::unique_ptr<Engine> make_staged_engine(std::shared_ptr<File> file, const Extent& extent) {
  return std::make_unique<StagedEngine>(std::move(file), extent);
}

}  // namespace sill::storage
