#include "inspect/read/byte_cursor.h"

namespace genscope::inspect {
namespace {

constexpr std::uint64_t kWindow = 1 << 16;

}  // namespace

bool ByteCursor::fail(std::string_view what, std::string_view remedy) {
  if (!error_) error_ = broken(source_, at_, what, remedy);
  end_ = at_;
  return false;
}

bool ByteCursor::cut(std::uint64_t size) {
  return fail(std::to_string(size) + " bytes are expected here, " + std::to_string(left()) +
              " are left");
}

bool ByteCursor::fill(std::uint64_t size) {
  if (failed()) return false;
  if (size > left()) return cut(size);
  const std::uint64_t wanted = std::min(std::max(size, kWindow), left());
  if (size > budget_) return fail("the header is longer than that of any model");
  window_.resize(std::min(wanted, budget_));
  window_at_ = at_;
  budget_ -= window_.size();
  fetched_ += window_.size();
  if (Status read = source_.read(at_, window_); !read) {
    error_ = std::move(read).error();
    return false;
  }
  return true;
}

bool ByteCursor::text(std::uint64_t size, std::string& value) {
  if (failed()) return false;
  if (size > left()) return cut(size);
  if (size <= kWindow) {
    if (size > 0 && !need(size)) return false;
    value.assign(window_.data() + (size > 0 ? at_ - window_at_ : 0), size);
    at_ += size;
    return true;
  }
  if (size > budget_) return fail("the header is longer than that of any model");
  budget_ -= size;
  fetched_ += size;
  value.resize(size);
  if (Status read = source_.read(at_, value); !read) {
    error_ = std::move(read).error();
    return false;
  }
  at_ += size;
  return true;
}

}  // namespace genscope::inspect
