#include "topology/token.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/text.hpp"

namespace sill::topology {
namespace {

constexpr std::string_view prefix = ".sill-split-";
constexpr std::size_t id_digits = 32;
// A split takes seconds; what is older than this was left by a job that was killed.
constexpr std::time_t old_seconds = 3600;
// In a directory of more entries than this, old traces are not searched for: that would cost more than they do.
constexpr int most_entries = 10000;

std::string name_of(const SplitId& id) { return std::string(prefix) + hex(id[0], 16) + hex(id[1], 16); }

std::optional<int> rank_in(std::string_view text) {
  int rank = -1;
  return read_number(text, rank) && rank >= 0 ? std::optional(rank) : std::nullopt;
}

// A failed attempt as an outcome; nullopt where it is a fault of the system.
std::optional<Outcome> outcome_of(int error, Outcome not_there) {
  switch (error) {
    case ENOENT: return not_there;
    case ESTALE: return Outcome::gone;
    case EROFS:
    case EACCES:
    case EPERM:
    case ENOSPC:
    case EDQUOT:
    case EMLINK:
    case EOPNOTSUPP:
    case ENOSYS: return Outcome::refused;
    default: return std::nullopt;
  }
}

struct Closer {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, Closer>;

// The directory's entries are read through a descriptor of their own, for reading moves it.
Folder open_folder(int at, const char* name) {
  const int fd = ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return nullptr;
  DIR* const folder = ::fdopendir(fd);
  if (!folder) ::close(fd);
  return Folder(folder);
}

// The next entry's name; nullopt at the end, and at an error, which errno tells.
std::optional<std::string> next_entry(DIR* folder) {
  errno = 0;
  const dirent* entry = ::readdir(folder);
  return entry ? std::optional<std::string>(entry->d_name) : std::nullopt;
}

// True once for each directory that this process makes tokens in.
bool is_first_visit(const Identity& identity) {
  static std::mutex mutex;
  static std::set<std::pair<std::uint64_t, std::uint64_t>> visited;
  const std::lock_guard lock(mutex);
  return visited.emplace(identity.device, identity.inode).second;
}

// Gone already is as good: somebody else cleans, too.
void remove_entry(const Directory& directory, const std::string& name, int flags, Operations& operations) {
  if (::unlinkat(directory.fd(), name.c_str(), flags) == 0)
    ++operations.removes;
  else if (errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST)
    log(LogLevel::warn, directory.path() + "/" + name + " could not be removed: " + std::strerror(errno));
}

}  // namespace

Result<SplitId> random_split_id() {
  SplitId id{};
  if (::getrandom(id.data(), sizeof id, 0) != sizeof id) return errno_status(errno, "getrandom");
  return id;
}

bool is_trace(const std::string& name) {
  return name.size() == prefix.size() + id_digits && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789abcdef", prefix.size()) == name.npos;
}

Traces::Traces(const Directory& directory, SplitId id, Operations& operations)
    : directory_(directory), name_(name_of(id)), operations_(operations) {}

Traces::~Traces() { remove(); }

Status Traces::prepare(Task task, int rank) {
  prepared_ = Outcome::idle;
  if (task == Task::create) return make_token(rank);
  if (task == Task::list) return make_folder(rank, false);
  return {};
}

// A symbolic link is made whole or not at all, fails where one is, and needs no block on a full device.
Status Traces::make_token(int rank) {
  if (::symlinkat(std::to_string(rank).c_str(), directory_.fd(), name_.c_str()) == 0) {
    ++operations_.creates;
    token_made_ = true;
    prepared_ = Outcome::made;
  } else if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS) {
    // This file system has no symbolic links, perhaps: a folder is as good, with the rank's file in it.
    if (Status status = make_folder(rank, true); !status.ok()) return status;
  } else if (errno != EEXIST) {
    return note_failure("making a token");
  }
  struct stat own;
  if (prepared_ == Outcome::made && is_first_visit(directory_.identity()) &&
      ::fstatat(directory_.fd(), name_.c_str(), &own, AT_SYMLINK_NOFOLLOW) == 0)
    remove_old_traces(directory_, own.st_mtime, operations_);
  return {};
}

// A folder, or one that is there unless this rank's must be the first, and a file in it that is named after the rank.
Status Traces::make_folder(int rank, bool must_be_first) {
  if (::mkdirat(directory_.fd(), name_.c_str(), 0777) == 0)
    ++operations_.creates;
  else if (errno != EEXIST)
    return note_failure("making a folder");
  else if (must_be_first)
    return {};
  folder_seen_ = true;
  const std::string file = name_ + "/" + std::to_string(rank);
  const int fd = ::openat(directory_.fd(), file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return note_failure("making a file");
  ++operations_.creates;
  file_ = rank;
  prepared_ = Outcome::made;
  return ::close(fd) == 0 ? Status() : note_failure("making a file");
}

// What errno means for the split: an outcome, or an error.
Status Traces::note_failure(const char* what) {
  const int error = errno;
  const auto outcome = outcome_of(error, Outcome::gone);
  if (!outcome) return errno_status(error, directory_.path() + ": " + what);
  log(LogLevel::info, directory_.path() + ": " + what + ": " + std::strerror(error));
  prepared_ = *outcome;
  return {};
}

Result<Answer> Traces::finish(Task task, int rank) {
  if (task == Task::none) return Answer{};
  if (task == Task::create && prepared_ == Outcome::made) return Answer{Outcome::made, rank};
  if (prepared_ == Outcome::gone) return Answer{Outcome::gone, -1};
  ++operations_.looks;
  auto answer = task == Task::list ? list() : look();
  // Others may have been allowed to make what this rank was not.
  if (answer.ok() && answer.value().outcome == Outcome::nothing && prepared_ == Outcome::refused)
    answer.value().outcome = Outcome::refused;
  return answer;
}

Result<Answer> Traces::failed_look(int error) const {
  const auto outcome = outcome_of(error, Outcome::nothing);
  if (!outcome) return errno_status(error, directory_.path() + ": looking for what others made");
  return Answer{*outcome == Outcome::refused ? Outcome::hidden : *outcome, -1};
}

Result<Answer> Traces::look() {
  std::array<char, 32> text{};
  const auto length = ::readlinkat(directory_.fd(), name_.c_str(), text.data(), text.size());
  if (length < 0) return errno == EINVAL ? list() : failed_look(errno);
  const auto maker = rank_in({text.data(), static_cast<std::size_t>(length)});
  if (!maker) return Status(Cause::io, directory_.path() + "/" + name_ + ": is no token of Sill's");
  return Answer{Outcome::found, *maker};
}

// The lowest rank whose file is there.
Result<Answer> Traces::list() {
  const Folder folder = open_folder(directory_.fd(), name_.c_str());
  if (!folder) return failed_look(errno);
  std::optional<int> lowest;
  while (const auto entry = next_entry(folder.get())) {
    const auto rank = rank_in(*entry);
    if (rank && (!lowest || *rank < *lowest)) lowest = rank;
  }
  if (errno != 0) return errno_status(errno, directory_.path() + ": looking for files");
  return lowest ? Answer{Outcome::found, *lowest} : Answer{Outcome::nothing, -1};
}

void Traces::remove() {
  if (std::exchange(token_made_, false)) remove_entry(directory_, name_, 0, operations_);
  if (const int rank = std::exchange(file_, -1); rank >= 0)
    remove_entry(directory_, name_ + "/" + std::to_string(rank), 0, operations_);
  // The last rank to come finds the folder empty.
  if (std::exchange(folder_seen_, false)) remove_entry(directory_, name_, AT_REMOVEDIR, operations_);
}

void remove_old_traces(const Directory& directory, std::time_t now, Operations& operations) {
  const Folder folder = open_folder(directory.fd(), ".");
  if (!folder) return;
  std::vector<std::string> old;
  for (int count = 0; count < most_entries; ++count) {
    const auto entry = next_entry(folder.get());
    if (!entry) break;
    struct stat found;
    if (is_trace(*entry) && ::fstatat(directory.fd(), entry->c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
        found.st_mtime + old_seconds < now && found.st_uid == ::geteuid())
      old.push_back(*entry);
  }
  for (const std::string& name : old) {
    const Folder left = open_folder(directory.fd(), name.c_str());
    while (const auto entry = left ? next_entry(left.get()) : std::nullopt)
      if (rank_in(*entry)) remove_entry(directory, name + "/" + *entry, 0, operations);
    remove_entry(directory, name, left ? AT_REMOVEDIR : 0, operations);
  }
}

}  // namespace sill::topology
