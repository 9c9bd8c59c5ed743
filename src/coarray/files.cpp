#include "coarray/files.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/config.hpp"
#include "base/filename.hpp"
#include "base/log.hpp"
#include "coarray/registry.hpp"
#include "coarray/team.hpp"
#include "storage/mapping.hpp"
#include "window/plan.hpp"

namespace sill::coarray {
namespace {

namespace fs = std::filesystem;

// What lies in a coarray's place. Sent between images.
enum class Found : int { nothing, leftover, freed_otherwise, ours };

// Names may have characters that file names shouldn't: "m::x" becomes "m.x".
std::string in_file_name(std::string name) {
  for (std::size_t at; (at = name.find("::")) != name.npos;) name.replace(at, 2, ".");
  std::ranges::replace(name, '/', '_');
  return name;
}

// PCAF_PATH, as it is on this node.
fs::path folder_of(const Options& options) {
  std::error_code error;
  const auto path =
      expand_filename(options.path, {0, host_name(), "", job_name()});  // checked when the options were read
  return options.path.empty() || !path.ok() ? fs::current_path(error) : fs::absolute(path.value(), error);
}

// The file of all coarrays of an image; those of a team have one of their own.
std::string image_file_of(const CoarrayRecord& record, const Options& options) {
  const std::string team = record.team.empty() ? "" : "team" + record.team + ".";
  return (folder_of(options) / (options.prefix + team + std::to_string(record.image) + ".win")).string();
}

std::string file_of(const CoarrayRecord& record, const Options& options) {
  const fs::path folder = folder_of(options);
  std::string name = options.prefix + in_file_name(record.name);
  if (!record.team.empty()) name += ".team" + record.team;
  if (record.image > 0) name += "." + std::to_string(record.image);
  return (folder / name).string();
}

Status refuse(const std::string& path, const std::string& reason) {
  return {Cause::bad_file, path + ": " + reason + "; move it away, or choose another PCAF_PATH or PCAF_PREFIX"};
}

// What of the record doesn't fit; "" if all does.
std::string difference(const CoarrayRecord& there, const CoarrayRecord& ours) {
  const auto quoted = [](const std::string& text) { return "'" + text + "'"; };
  if (there.program != ours.program)
    return "is a coarray of the program " + quoted(there.program) + ", this one is " + quoted(ours.program);
  if (there.name != ours.name || there.team != ours.team)
    return "holds the coarray " + quoted(there.name) + ", not " + quoted(ours.name);
  if (there.images != ours.images || there.image != ours.image)
    return "was written by image " + std::to_string(there.image) + " of " + std::to_string(there.images) +
           ", this is image " + std::to_string(ours.image) + " of " + std::to_string(ours.images);
  if (there.build != ours.build)
    return "holds " + quoted(ours.name) + ", which another build of the program counted so; coarrays in modules " +
           "keep their names";
  return "";
}

// A file that was copied in part, or cut, would be taken for one that ends in zeros.
Result<Found> check_length(const std::string& path, const CoarrayRecord& ours) {
  std::error_code error;
  const std::uint64_t length = fs::file_size(path, error);
  const std::uint64_t whole = ours.offset.value_or(0) + ours.size * (ours.image > 0 ? 1 : ours.images);
  if (error) return Status(Cause::io, path + ": " + error.message());
  if (length >= whole) return Found::ours;
  return refuse(path,
                "has " + std::to_string(length) + " bytes of the " + std::to_string(whole) + " that it was left with");
}

// What a record that fits a place is worth.
Result<Found> judge(const std::string& path, const CoarrayRecord& there, const CoarrayRecord& ours) {
  if (const std::string reason = difference(there, ours); !reason.empty()) return refuse(path, reason);
  if (there.state == CoarrayRecord::State::fresh) return Found::leftover;
  if (there.size == ours.size) return check_length(path, ours);
  if (there.state == CoarrayRecord::State::freed) return Found::freed_otherwise;
  return refuse(path, "has " + std::to_string(there.size) + " bytes an image, the coarray '" + ours.name + "' has " +
                          std::to_string(ours.size));
}

// What lies at `path`. In a file of all coarrays of the image, a coarray that is there tells `ours` its offset.
Result<Found> look(const std::string& path, CoarrayRecord& ours, bool inside) {
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (error) return Status(Cause::io, path + ": " + error.message());
  const auto records = read_coarrays(path);
  if (!records.ok()) return records.status();
  if (!exists) return Found::nothing;
  if (!records.value())
    return refuse(path, "is no coarray's file, for there is no record in " + storage::record_path(path));
  for (CoarrayRecord there : *records.value()) {
    if (there.offset.has_value() != inside) return refuse(path, "was written with another PCAF_SHAREDFILE");
    if (!inside || there.name == ours.name) {
      ours.offset = there.offset;
      return judge(path, there, ours);
    }
    // Whose the others are tells whose the file is.
    there.name = ours.name;
    there.build = ours.build;
    if (const std::string reason = difference(there, ours); !reason.empty()) return refuse(path, reason);
  }
  return Found::nothing;
}

// Of the coarrays in an image's file, those whose places are taken: all but the one of this name, which is taken out.
Result<CoarrayRecords> take_out(const storage::File& file, const std::string& name) {
  auto read = read_coarrays(file.path());
  if (!read.ok()) return read.status();
  CoarrayRecords records = std::move(read.value()).value_or(CoarrayRecords());
  if (std::erase_if(records, [&](const CoarrayRecord& record) { return record.name == name; }) == 0) return records;
  if (Status status = drop_coarray(file, name); !status.ok()) return status;
  return records;
}

// Gives a coarray a place in the file of its image, which is cleared; one of that name that is there goes. `behind`: at
// the file's end, as if it had never been longer. Cause::in_use if another job has the file open.
Status place_inside(const std::string& path, CoarrayRecord& record, bool behind) {
  record.offset = 0;
  std::error_code error;
  if (!fs::exists(path, error)) return error ? Status(Cause::io, path + ": " + error.message()) : Status();
  auto file = storage::File::open({path, 0600, {}, {}, false, true});
  if (!file.ok()) return file.status();
  auto taken = take_out(file.value(), record.name);
  if (!taken.ok()) return taken.status();
  // Windows of this run lie there, too, whose coarrays aren't kept any more.
  for (const Coarray* coarray : coarrays())
    if (coarray->file && coarray->file->record().offset && coarray->window().hints().filename == escape_filename(path))
      taken.value().push_back(coarray->file->record());
  const std::uint64_t align = window::alignment(record.size, storage::page_size());
  record.offset = free_offset(std::move(taken).value(), record.size, align, behind ? file.value().size_at_open() : 0);
  return file.value().clear(*record.offset, record.size);
}

Status remove(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  auto file = storage::File::open({path, 0600, {}, {}});
  return file.ok() ? storage::remove_file(file.value()) : file.status();
}

WindowHints hints_for(const CoarrayRecord& record, const std::string& path, const Options& options) {
  WindowHints hints = options.window;
  hints.alloc_type = AllocType::storage;
  hints.filename = escape_filename(path);
  hints.offset = record.offset.value_or(0);
  hints.unlink = options.unlink;
  hints.discard = !options.whole();
  if (options.stripe_count) hints.striping_factor = options.stripe_count;
  if (options.stripe_size) hints.striping_unit = options.stripe_size;
  hints.one_process = record.offset.has_value();
  return hints;
}

// What all images together have of the coarray: `ours` if each has it; if only some have, what they have was never
// whole, a leftover. But a file that is gone where others are kept was taken away by somebody: Cause::bad_file, lest
// the others be lost, too. Collective.
Result<Found> agree_on(Found mine, const std::string& path, const std::string& name) {
  const auto everybody = team().own->gather_all(mine);
  if (!everybody.ok()) return everybody.status();
  const auto have = std::ranges::count(everybody.value(), Found::ours);
  const bool all = have == team().own->size;
  Status status;
  if (have > 0 && mine == Found::nothing)
    status = {Cause::bad_file, path + ": is missing, but other images of '" + name +
                                   "' have theirs; bring it back, or move them away, too"};
  if (status = team().own->agree(status); !status.ok()) return status;
  if (have > 0 && !all && team().own->rank == 0)
    log(LogLevel::warn, "coarrays: '" + name + "' begins anew: only " + std::to_string(have) + " of " +
                            std::to_string(team().own->size) + " images had synced it when the program ended");
  if (all) return Found::ours;
  return have > 0 ? Found::leftover : std::ranges::max(everybody.value());
}

}  // namespace

const Result<Options>& options() {
  static const auto* one = new Result<Options>(parse_options(&environment));
  return *one;
}

Result<Place> place_of(const Name& name, std::size_t size, const Options& chosen, const std::string& path, bool moves) {
  const mpi::OwnComm& own = *team().own;
  CoarrayRecord record{program_name(),
                       name.by_order ? build_of_program() : "",
                       name.text,
                       team().numbers,
                       size,
                       0,
                       static_cast<std::uint64_t>(own.size)};
  record = record.as_written();
  const bool for_itself = chosen.sharing != Sharing::images;
  const bool inside = chosen.sharing == Sharing::image && path.empty();
  if (for_itself) record.image = static_cast<std::uint64_t>(own.rank) + 1;
  const std::string file = !path.empty() ? path + (for_itself ? "." + std::to_string(record.image) : "")
                           : inside      ? image_file_of(record, chosen)
                                         : file_of(record, chosen);
  const auto found = look(file, record, inside);
  if (Status status = own.agree(found.status()); !status.ok()) return status;
  const auto all = agree_on(found.value(), inside ? file + ": '" + name.text + "'" : file, name.text);
  if (!all.ok()) return all.status();
  const bool restored = all.value() == Found::ours;
  if (restored && !chosen.whole())
    return refuse(file, "holds '" + name.text + "', of which PCAF_WINDOW's storage_alloc_factor would lose a part");
  Status status;
  if (!restored && inside)
    status = place_inside(file, record, moves);
  else if (!restored && (own.rank == 0 || for_itself))
    status = remove(file);
  if (status = own.agree(status); !status.ok()) return status;
  if (restored) record.state = CoarrayRecord::State::kept;
  return Place{hints_for(record, file, chosen), std::make_shared<KeptFile>(record, own.rank == 0), restored,
               !restored && all.value() != Found::freed_otherwise};
}

}  // namespace sill::coarray
