#include "coarray/kept_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"

namespace sill::coarray {
namespace {

namespace fs = std::filesystem;
using State = CoarrayRecord::State;
using test::Folder;

CoarrayRecord named(const char* name, std::optional<std::uint64_t> offset = {}) {
  return {"program", "", name, "", 4096, 1, 2, State::fresh, offset};
}

void describe(KeptFile& kept, const storage::File& file, bool created) {
  storage::Record record(0640);
  ASSERT_TRUE(kept.describe(file, created, record).ok());
  ASSERT_TRUE(record.write(file, true).ok());
}

CoarrayRecords found(const storage::File& file) { return read_coarrays(file.path()).value().value(); }

TEST(KeptFile, TellsTheStateOfItsCoarray) {
  const Folder folder;
  const storage::File file = test::open_file(folder / "w");
  KeptFile kept(named("m::x"), true);
  describe(kept, file, true);
  EXPECT_EQ(found(file), CoarrayRecords{named("m::x")});
  ASSERT_TRUE(kept.mark(file, State::kept).ok());
  EXPECT_EQ(found(file).front().state, State::kept);
  EXPECT_EQ(kept.record().state, State::kept);
  kept.end_as(State::freed);
  ASSERT_TRUE(kept.close(file).ok());
  EXPECT_EQ(found(file).front().state, State::freed);
  describe(kept, file, false);
  EXPECT_EQ(found(file).size(), 1u) << "a file of its own holds one";
}

TEST(KeptFile, AStateThatIsntNewIsNotWrittenAtTheEnd) {
  const Folder folder;
  const storage::File file = test::open_file(folder / "w");
  KeptFile kept(named("m::x"), true);
  kept.end_as(State::fresh);
  EXPECT_TRUE(kept.close(file).ok());
  EXPECT_FALSE(fs::exists(folder / "w.sill"));
  EXPECT_EQ(kept.mark(file, State::kept).cause(), Cause::no_such_file);
  EXPECT_EQ(kept.record().state, State::fresh) << "what couldn't be noted isn't so";
}

TEST(KeptFile, CoarraysOfAnImageShareARecord) {
  const Folder folder;
  const storage::File file = test::open_file(folder / "w");
  KeptFile a(named("a", 0), true);
  KeptFile b(named("b", 4096), true);
  describe(a, file, true);
  describe(b, file, false);
  ASSERT_TRUE(a.mark(file, State::kept).ok());
  ASSERT_EQ(found(file).size(), 2u);
  EXPECT_EQ(found(file)[0], a.record());
  EXPECT_EQ(found(file)[1], named("b", 4096));
  EXPECT_EQ(fs::status(folder / "w.sill").permissions(), fs::perms(0640));
  describe(b, file, false);
  EXPECT_EQ(found(file).size(), 2u) << "the same anew is no other";
  ASSERT_TRUE(a.give_up(&file).ok());
  EXPECT_EQ(found(file).front().name, "b") << "in its place, the file stays";
  ASSERT_TRUE(b.give_up(nullptr).ok());
  EXPECT_EQ(found(file).front().name, "b") << "who doesn't lead leaves it to who does";
  ASSERT_TRUE(b.unlink(file).ok());
  EXPECT_TRUE(fs::is_empty(folder.path())) << "the last one takes the file along";
}

TEST(KeptFile, ANewFilesOldRecordIsForgotten) {
  const Folder folder;
  const storage::File file = test::open_file(folder / "w");
  KeptFile a(named("a", 0), true);
  KeptFile b(named("b", 4096), true);
  describe(a, file, true);
  describe(b, file, true);
  EXPECT_EQ(found(file), CoarrayRecords{named("b", 4096)});
}

}  // namespace
}  // namespace sill::coarray
