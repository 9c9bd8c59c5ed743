#include "storage/record.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "base/text.hpp"
#include "storage/file_size_limit.hpp"

namespace sill::storage {
namespace {

using Json = nlohmann::ordered_json;

constexpr int newest_format = 2;
// What a record begins with: this, 8 digits, a quotation mark, and all behind that mark has that checksum.
constexpr std::string_view beginning = "{\"sill\": 2, \"crc32\": \"";
constexpr std::size_t digits = 8;

// Who only reads leaves nothing beside the file.
bool has_record(const File& file) { return !file.is_device() && !file.is_anonymous() && !file.is_readonly(); }

// In whole milliseconds, for so it is written.
timespec this_moment() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  now.tv_nsec -= now.tv_nsec % 1000000;
  return now;
}

std::string checksum(std::string_view text) {
  return hex(::crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size()), digits);
}

// The record that is there, open, for nothing else may be written to, touched or removed: its name may have been a
// user's choice for a file. None, and errno, if there is none: EEXIST for something else in its place.
Descriptor open_ours(const std::string& path) {
  constexpr std::string_view start = "{\"sill\":";  // of any format
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (fd.get() < 0) {
    if (errno == ELOOP || errno == EISDIR || errno == ENXIO) errno = EEXIST;
    return fd;
  }
  std::array<char, start.size()> found{};
  struct stat kind;
  const bool regular = ::fstat(fd.get(), &kind) == 0 && S_ISREG(kind.st_mode);
  const ssize_t count = regular ? ::pread(fd.get(), found.data(), found.size(), 0) : -1;
  if (count == 0 || (count > 0 && std::string_view(found.data(), static_cast<std::size_t>(count)) == start)) return fd;
  fd.close();
  errno = EEXIST;
  return fd;
}

// All of an open record; errno tells why not.
std::optional<std::string> read_all(int fd) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t count = ::pread(fd, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

Status not_ours(const std::string& path) {
  return {Cause::bad_file, path + ": has the name of the window's sidecar but is none; it stays as it is"};
}

int open_new(const std::string& name, mode_t perm) {
  return ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, perm);
}

// All of a new file; 0, or an errno.
int write_text(int fd, const std::string& text) {
  const NoFileSizeSignal errors_only;
  const ssize_t written = ::pwrite(fd, text.data(), text.size(), 0);
  if (written < 0) return errno;
  return written == static_cast<ssize_t>(text.size()) ? 0 : ENOSPC;
}

// The record's own time: until the first sync exactly that of its making; so another one is that of a sync, however
// soon it came.
void set_time(int fd, const std::string& path, const timespec& time) {
  const std::array<timespec, 2> times{{{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, time}};
  if (::futimens(fd, times.data()) != 0)
    log(LogLevel::debug, path + ": belongs to somebody else, so its time looks like that of a sync");
}

// A name that no other writer uses: windows of several jobs may lie in one file.
std::optional<std::string> temporary_name(const std::string& path) {
  std::uint32_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) return std::nullopt;
  return path + ".new." + hex(random, 8);
}

// What format 1 said of the window stood beside the sections.
constexpr std::array<std::string_view, 5> of_window = {"job", "created", "window", "unlink", "segments"};

Json with_window_section(Json old) {
  Json window = Json::object();
  for (const std::string_view key : of_window)
    if (const auto at = old.find(key); at != old.end()) {
      window[std::string(key)] = std::move(*at);
      old.erase(at);
    }
  old["window"] = std::move(window);
  return old;
}

Status not_a_record(const std::string& why) { return {Cause::bad_file, "no record of a window's file: " + why}; }

// The record's object, in the newest format.
Result<Json> parse_object(std::string_view text) {
  // Nothing of a front's is as deep, and to write what is deeper may need more stack than there is.
  const auto not_too_deep = [](int depth, Json::parse_event_t, const Json&) { return depth < 16; };
  const Json object = Json::parse(text, not_too_deep, false);
  const auto format = object.is_object() ? object.find("sill") : object.end();
  if (format == object.end() || !format->is_number_integer()) return not_a_record("it is damaged");
  if (*format == 1) return with_window_section(object);
  if (*format > newest_format)
    return not_a_record("it has format " + format->dump() + ", of a newer Sill; use that one");
  const bool whole = text.starts_with(beginning) && text.size() > beginning.size() + digits;
  if (!whole || checksum(text.substr(beginning.size() + digits + 1)) != text.substr(beginning.size(), digits))
    return not_a_record("it is damaged: its checksum doesn't fit");
  return object;
}

}  // namespace

std::string record_path(const std::string& path) { return path + ".sill"; }

Record::Record(mode_t perm) : perm_(perm), time_(this_moment()) {}

Result<Record> Record::parse(std::string_view text) {
  auto object = parse_object(text);
  if (!object.ok()) return object.status();
  Record record(0600);
  for (const auto& [name, value] : object.value().items())
    if (value.is_structured()) record.sections_.emplace_back(name, value.dump());
  return record;
}

Result<std::optional<Record>> Record::read(const std::string& path) {
  const std::string name = record_path(path);
  const Descriptor fd = open_ours(name);
  if (fd.get() < 0 && errno == ENOENT) return std::optional<Record>();
  if (fd.get() < 0) return errno == EEXIST ? not_ours(name) : errno_status(errno, name);
  struct stat found {};
  const auto text = ::fstat(fd.get(), &found) == 0 ? read_all(fd.get()) : std::nullopt;
  if (!text) return errno_status(errno, name);
  if (text->empty()) return std::optional<Record>();  // who made it was killed before it was written
  auto record = parse(*text);
  if (!record.ok()) return Status(record.status().cause(), name + ": " + record.status().message());
  record.value().perm_ = found.st_mode & 0777;
  record.value().time_ = found.st_mtim;
  return std::optional(std::move(record).value());
}

Result<Record> Record::renew(const File& file, bool is_new, mode_t perm) {
  Record record(perm);
  if (is_new || !has_record(file)) return record;
  auto older = read(file.path());
  if (!older.ok()) return older.status();
  if (older.value()) record.sections_ = std::move(older.value()->sections_);
  return record;
}

const std::string* Record::section(std::string_view name) const {
  const auto at = std::ranges::find(sections_, name, &Section::first);
  return at == sections_.end() ? nullptr : &at->second;
}

void Record::put(std::string_view name, std::string json) {
  const auto at = std::ranges::find(sections_, name, &Section::first);
  if (at == sections_.end())
    sections_.emplace_back(name, std::move(json));
  else
    at->second = std::move(json);
}

void Record::drop(std::string_view name) {
  std::erase_if(sections_, [&](const Section& section) { return section.first == name; });
}

std::string Record::text() const {
  std::string behind = "\"";
  for (const auto& [name, json] : sections_) behind += ", " + Json(name).dump() + ": " + json;
  behind += "}\n";
  return std::string(beginning) + checksum(std::string_view(behind).substr(1)) + behind;
}

std::string Record::utc() const {
  std::tm parts{};
  std::array<char, 32> seconds{};
  std::array<char, 48> text{};
  if (!::gmtime_r(&time_.tv_sec, &parts)) return "";
  std::strftime(seconds.data(), seconds.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data(), text.size(), "%s.%03ldZ", seconds.data(), time_.tv_nsec / 1000000);
  return text.data();
}

void Record::note_sync() { time_ = this_moment(); }

Status Record::write(const File& file, bool durable) const {
  if (file.is_device() && durable) return {Cause::unsupported, file.path() + ": a device has no record beside it"};
  if (!has_record(file)) return {};
  const std::string path = record_path(file.path());
  // Where there is none to replace, and nobody counts on it, a temporary name would cost more than all the rest.
  std::string name = path;
  int fd = durable ? -1 : open_new(name, perm_);
  if (fd < 0) {
    if (open_ours(path).get() < 0 && errno != ENOENT)
      return errno == EEXIST ? not_ours(path) : errno_status(errno, path);
    const auto temporary = temporary_name(path);
    fd = temporary ? open_new(name = *temporary, perm_) : -1;
  }
  if (fd < 0) return errno_status(errno, path);
  int error = write_text(fd, text());
  if (error == 0) set_time(fd, path, time_);
  if (error == 0 && durable && ::fsync(fd) != 0) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && name != path && ::rename(name.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return durable ? file.sync_folder() : Status();
  ::unlink(name.c_str());
  return errno_status(error, path);
}

Status change_record(const File& file, const std::function<Status(Record&)>& change) {
  auto record = Record::read(file.path());
  if (!record.ok()) return record.status();
  if (!record.value()) return {Cause::no_such_file, record_path(file.path()) + ": is missing"};
  if (Status status = change(*record.value()); !status.ok()) return status;
  return record.value()->write(file, true);
}

void note_sync(const File& file) {
  if (!has_record(file)) return;
  const Descriptor fd = open_ours(record_path(file.path()));
  const bool touched = fd.get() >= 0 && ::futimens(fd.get(), nullptr) == 0;
  if (!touched && errno != ENOENT)
    log(LogLevel::debug, record_path(file.path()) + ": the time of the sync could not be noted");
}

void remove_record(const File& file) {
  if (!has_record(file)) return;
  const std::string path = record_path(file.path());
  const bool there = open_ours(path).get() >= 0;
  if (!there && errno == EEXIST) return log(LogLevel::warn, not_ours(path).message());
  if (!there && errno == ENOENT) return;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) log(LogLevel::warn, path + ": could not be deleted");
}

Status unlink_file(const File& file) {
  if (!has_record(file)) return {};
  if (::unlink(file.path().c_str()) != 0 && errno != ENOENT) return errno_status(errno, file.path());
  remove_record(file);
  return {};
}

Status remove_file(const File& file) {
  Status status = file.remove();
  if (status.ok()) remove_record(file);
  if (status.cause() != Cause::in_use) return status;
  log(LogLevel::info, status.message() + "; not deleted");
  return {};
}

}  // namespace sill::storage
