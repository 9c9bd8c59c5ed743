#include "base/status.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace sill {
namespace {

TEST(Status, IsOkUntilItHasACause) {
  EXPECT_TRUE(Status().ok());
  const Status status(Cause::quota, "/scratch/w: the quota is reached");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.cause(), Cause::quota);
  EXPECT_EQ(status.message(), "/scratch/w: the quota is reached");
}

TEST(Status, EveryErrnoOfAFileHasItsCause) {
  const std::pair<int, Cause> expected[] = {{ENOENT, Cause::no_such_file},
                                            {ENOTDIR, Cause::bad_file},
                                            {EISDIR, Cause::bad_file},
                                            {ENAMETOOLONG, Cause::bad_file},
                                            {ELOOP, Cause::bad_file},
                                            {ENXIO, Cause::bad_file},
                                            {EACCES, Cause::no_permission},
                                            {EPERM, Cause::no_permission},
                                            {EROFS, Cause::read_only},
                                            {ENOSPC, Cause::no_space},
                                            {EFBIG, Cause::no_space},
                                            {EDQUOT, Cause::quota},
                                            {EBUSY, Cause::in_use},
                                            {EAGAIN, Cause::in_use},
                                            {ENOMEM, Cause::no_memory},
                                            {EOPNOTSUPP, Cause::unsupported},
                                            {EIO, Cause::io},
                                            {EBADF, Cause::io}};
  for (const auto& [error, cause] : expected) EXPECT_EQ(errno_status(error, "file").cause(), cause) << error;
}

TEST(Status, ErrnoMessageNamesWhatAndWhy) {
  EXPECT_EQ(errno_status(ENOSPC, "/scratch/w").message(), "/scratch/w: No space left on device");
}

TEST(Result, HoldsAValueOrAStatus) {
  Result<std::string> value(std::string("text"));
  EXPECT_TRUE(value.ok());
  EXPECT_TRUE(value.status().ok());
  EXPECT_EQ(std::move(value).value(), "text");
  const Result<std::string> failure(Status(Cause::io, "broken"));
  EXPECT_FALSE(failure.ok());
  EXPECT_EQ(failure.status().message(), "broken");
}

}  // namespace
}  // namespace sill
