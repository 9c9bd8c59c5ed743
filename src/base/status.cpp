#include "base/status.hpp"

#include <cerrno>
#include <cstring>

namespace sill {
namespace {

Cause cause_of(int error) {
  switch (error) {
    case ENOENT: return Cause::no_such_file;
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case ENXIO:
    case ENODEV:
    case ENOTBLK: return Cause::bad_file;
    case EACCES:
    case EPERM: return Cause::no_permission;
    case EROFS: return Cause::read_only;
    case ENOSPC:
    case EFBIG: return Cause::no_space;
    case EDQUOT: return Cause::quota;
    case EBUSY:
    case ETXTBSY:
    case EWOULDBLOCK:  // of a lock
      return Cause::in_use;
    case ENOMEM: return Cause::no_memory;
    case EOPNOTSUPP:
    case ENOSYS: return Cause::unsupported;
    default: return Cause::io;
  }
}

}  // namespace

Status errno_status(int error, const std::string& what) {
  char buffer[128];
  return {cause_of(error), what + ": " + strerror_r(error, buffer, sizeof buffer)};
}

}  // namespace sill
