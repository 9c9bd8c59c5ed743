#pragma once
// Record: FILE.sill beside a store's file, the facts about it that outlive the job. The file itself stays raw.
//
// A record has sections of JSON, one for each front that has something to say, and only the front knows what is in its
// own. It is replaced whole, and its checksum is looked at whenever it is read. Whatever else has the record's name (a
// user's file, a link) stays as it is. Nothing is beside devices and anonymous memory, and nothing is done for a file
// that is only read.
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "storage/file.hpp"

namespace sill::storage {

// The path of the record of the file at `path`.
std::string record_path(const std::string& path);

class Record {
 public:
  // One of this moment, without sections, for who may read it as `perm` says, less the umask.
  explicit Record(mode_t perm);
  // One of this moment for a file, with the sections of an older record unless the file `is_new`. Errors as read()'s.
  static Result<Record> renew(const File& file, bool is_new, mode_t perm);
  // What a text says. Cause::bad_file for what isn't a record, is damaged, or of a newer Sill.
  static Result<Record> parse(std::string_view text);
  // That beside the file at `path`; nothing if there is none, or an empty one. Errors name the record's path.
  static Result<std::optional<Record>> read(const std::string& path);

  // The JSON of a section; nullptr if there is none.
  const std::string* section(std::string_view name) const;
  // Puts a section in place of that of its name, or behind all others.
  void put(std::string_view name, std::string json);
  void drop(std::string_view name);
  std::string text() const;

  // When it was made, in whole milliseconds; of one that was read: also of the last sync.
  const timespec& time() const { return time_; }
  // The same as ISO 8601, UTC.
  std::string utc() const;
  // It tells of a sync that has just ended.
  void note_sync();

  // Puts it beside the file, in place of an older one. `durable`: when this returns, and at any moment one of the two
  // is there, even if the machine stops. Cause::bad_file if something else has its name. A device has none: nothing is
  // done there, or Cause::unsupported if it is to be durable.
  Status write(const File& file, bool durable) const;

 private:
  using Section = std::pair<std::string, std::string>;  // name, JSON
  mode_t perm_;
  timespec time_;
  std::vector<Section> sections_;
};

// Does what `change` does to the record of a file; durable when it returns. Local; Cause::no_such_file if there is
// none.
Status change_record(const File& file, const std::function<Status(Record&)>& change);
// Notes a sync in the record's time alone, which is that of its making before. A failure is logged.
void note_sync(const File& file);
// Deletes the record if there is one. A failure is logged.
void remove_record(const File& file);
// Deletes a file and its record. Both stay while another window lies on the file, which is logged.
Status remove_file(const File& file);
// Deletes them although the file's own window, or another of this process, lies on the file: it goes on as memory
// that nobody can find again.
Status unlink_file(const File& file);

}  // namespace sill::storage
