#include "storage/file_system.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/machine.hpp"
#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"
#include "unit/support/mounts.hpp"
#include "unit/support/program.hpp"

namespace sill::storage {
namespace {

TEST(FileSystem, TmpfsIsLocal) {
  if (const auto reason = test::why_no_mounts(); !reason.empty()) GTEST_SKIP() << reason;
  const test::Mounted mounted(1u << 20);
  const File file = test::open_file(mounted / "w");
  EXPECT_TRUE(is_local_file_system(file.fd()));
  EXPECT_EQ(file.identity().machine, machine_identity());
  EXPECT_NE(machine_identity(), 0u) << "0 stands for what machines share";
}

TEST(FileSystem, StripingThatCanNotBeIsReportedAsNotApplied) {
  const test::Folder folder;
  EXPECT_EQ(striping_open_flags(folder / "w"), 0);
  EXPECT_EQ(striping_open_flags("/missing/folder/w"), 0);
  const auto outcome = test::run_child([&] {
    if (::setenv("SILL_LOG", "info", 1) != 0) ::_exit(2);
    const auto file = File::open({.path = folder / "w", .perm = 0600, .striping_factor = 4u, .striping_unit = 65536u});
    ::_exit(file.ok() && !file.value().striping_applied() ? 0 : 1);
  });
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

}  // namespace
}  // namespace sill::storage
