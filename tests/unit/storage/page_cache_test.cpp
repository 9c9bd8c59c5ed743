#include "storage/page_cache.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/mapping.hpp"
#include "unit/support/files.hpp"
#include "unit/support/folder.hpp"

namespace sill::storage {
namespace {

TEST(CacheUse, CountsWhatIsInMemoryAndInTheRangeOnly) {
  const test::Folder folder;
  const std::size_t page = page_size();
  test::write_text(folder / "w", std::string(4 * page, 'x'));
  const File file = test::open_file(folder / "w");
  const auto whole = cache_use(file, 0, 4 * page);
  if (!whole) GTEST_SKIP() << "needs cachestat (Linux 6.5)";
  EXPECT_EQ(whole->resident, 4 * page);
  EXPECT_EQ(cache_use(file, page, page)->resident, page);
  EXPECT_EQ(cache_use(file, 4 * page, page)->resident, 0u);
  ASSERT_EQ(::fdatasync(file.fd()), 0);
  EXPECT_EQ(cache_use(file, 0, 4 * page)->dirty, 0u);
}

TEST(CacheUse, NothingIsNothing) {
  const test::Folder folder;
  test::write_text(folder / "w", "bytes");
  const auto use = cache_use(test::open_file(folder / "w"), 0, 0);
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->resident + use->dirty, 0u);
}

}  // namespace
}  // namespace sill::storage
