#include "unit/support/folder.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <set>
#include <sstream>

namespace sill::test {

namespace {

// Folders of a child that ends inside a test, as those of EXPECT_EXIT do.
struct LeftFolders {
  std::set<std::filesystem::path> paths;
  ~LeftFolders() {
    std::error_code ignored;  // the program ends
    for (const auto& path : paths) std::filesystem::remove_all(path, ignored);
  }
};

LeftFolders& left_folders() {
  static LeftFolders folders;
  return folders;
}

}  // namespace

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "sill-unit-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp " + pattern);
  path_ = std::filesystem::canonical(pattern);
  left_folders().paths.insert(path_);
}

Folder::~Folder() {
  left_folders().paths.erase(path_);
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  EXPECT_FALSE(error) << path_ << ": " << error.message();
}

void write_text(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  EXPECT_TRUE(file) << path;
}

std::string read_text(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Not inline: GCC 12 and 14 falsely warn of strings that they see grow.
std::string padded(std::string text, std::size_t size) {
  text.resize(size);
  return text;
}

}  // namespace sill::test
