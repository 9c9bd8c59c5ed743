#include "coarray/remote.hpp"

#include <climits>
#include <vector>

#include "mpi/below.hpp"

namespace sill::coarray {
namespace {

using mpi::below;

// The far side of a transfer as a datatype.
class Datatype {
 public:
  explicit Datatype(const Section& section) {
    ok_ = section.element <= INT_MAX &&
          below().Type_contiguous(static_cast<int>(section.element), MPI_BYTE, &type_) == MPI_SUCCESS;
    for (int i = 0; i < section.rank && ok_; ++i) {
      MPI_Datatype outer = MPI_DATATYPE_NULL;
      ok_ = section.extent[i] <= INT_MAX && stack(section, i, &outer) == MPI_SUCCESS;
      if (ok_) below().Type_free(&type_);
      if (ok_) type_ = outer;
    }
    ok_ = ok_ && below().Type_commit(&type_) == MPI_SUCCESS;
  }
  ~Datatype() {
    if (type_ != MPI_DATATYPE_NULL) below().Type_free(&type_);
  }
  Datatype& operator=(Datatype&&) = delete;
  bool ok() const { return ok_; }
  MPI_Datatype get() const { return type_; }

 private:
  // What there is so far, once for each element of a dimension.
  int stack(const Section& section, int dimension, MPI_Datatype* outer) const {
    const auto count = static_cast<int>(section.extent[dimension]);
    if (const std::ptrdiff_t* offsets = section.offsets[dimension])
      return below().Type_create_hindexed_block(count, 1, offsets, type_, outer);
    return below().Type_create_hvector(count, 1, section.stride[dimension], type_, outer);
  }

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool ok_ = false;
};

// A section of the same shape without gaps.
Section packed(const Section& section, std::byte* begin) {
  Section tight = section;
  tight.begin = begin;
  auto next = static_cast<std::ptrdiff_t>(section.element);
  for (int i = 0; i < section.rank; ++i) {
    tight.stride[i] = next;
    tight.offsets[i] = nullptr;
    next *= static_cast<std::ptrdiff_t>(section.extent[i]);
  }
  return tight;
}

template <class Transfer>
bool access(Coarray& coarray, int image, const Section& far, std::byte* near, Transfer transfer) {
  const std::size_t bytes = far.count() * far.element;
  const int rank = coarray.rank_of(image);
  if (rank < 0 || bytes > INT_MAX) return false;
  const Datatype type(far);
  if (!type.ok()) return false;
  const MPI_Aint place = far.begin - coarray.own_base();
  // Not one lock_all for good: libcaf locks the same window for what it does itself, and a window is locked once only.
  // These are calls of the program's MPI, Sill's entries included: the window may begin elsewhere than it seems.
  if (MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, coarray.win()) != MPI_SUCCESS) return false;
  const int code = transfer(near, static_cast<int>(bytes), rank, place, type.get(), coarray.win());
  return MPI_Win_unlock(rank, coarray.win()) == MPI_SUCCESS && code == MPI_SUCCESS;
}

}  // namespace

bool put_far(Coarray& coarray, int image, const Section& to, const Section& from) {
  std::vector<std::byte> buffer;
  std::byte* near = from.begin;
  if (!contiguous(from)) {
    buffer.resize(from.count() * from.element);
    near = buffer.data();
    copy(packed(from, near), from);
  }
  return access(coarray, image, to, near, [](auto* data, int bytes, int rank, MPI_Aint place, auto type, MPI_Win win) {
    return MPI_Put(data, bytes, MPI_BYTE, rank, place, 1, type, win);
  });
}

bool get_far(Coarray& coarray, int image, const Section& to, const Section& from) {
  std::vector<std::byte> buffer;
  const bool direct = contiguous(to);
  if (!direct) buffer.resize(to.count() * to.element);
  std::byte* near = direct ? to.begin : buffer.data();
  const bool done =
      access(coarray, image, from, near, [](auto* data, int bytes, int rank, MPI_Aint place, auto type, MPI_Win win) {
        return MPI_Get(data, bytes, MPI_BYTE, rank, place, 1, type, win);
      });
  if (done && !direct) copy(to, packed(to, near));
  return done;
}

}  // namespace sill::coarray
