#pragma once
// A folder of one test's own, removed with all that is in it.
#include <filesystem>
#include <string>

namespace sill::test {

class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // `path` itself, or a path in it.
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Makes the folders of `path` and the file itself. A failure fails the test.
void write_text(const std::string& path, const std::string& text);
std::string read_text(const std::string& path);

// A text, and zeros up to `size` bytes.
std::string padded(std::string text, std::size_t size);

}  // namespace sill::test
