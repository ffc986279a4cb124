#include "report/page/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace genscope::report {
namespace {

constexpr std::size_t kAlignment = 8;
static_assert(std::endian::native == std::endian::little, "columns are little endian");

}  // namespace

template <class T>
std::string Blobs::add_bytes(std::span<const T> values, const char* type) {
  bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment);
  const std::size_t at = bytes_.size();
  bytes_.resize(at + values.size_bytes());
  char* out = bytes_.data() + at;
  const auto* const in = reinterpret_cast<const char*>(values.data());
  for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
    for (std::size_t i = 0; i < values.size(); ++i) *out++ = in[i * sizeof(T) + byte];
  }
  return fmt::format(R"({{"at":{},"n":{},"type":"{}"}})", at, values.size(), type);
}

template std::string Blobs::add_bytes(std::span<const std::uint8_t>, const char*);
template std::string Blobs::add_bytes(std::span<const std::uint16_t>, const char*);
template std::string Blobs::add_bytes(std::span<const std::uint32_t>, const char*);
template std::string Blobs::add_bytes(std::span<const double>, const char*);

std::string Blobs::add_narrow(std::span<const std::uint32_t> values) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
  if (std::any_of(values.begin(), values.end(), [](std::uint32_t v) { return v > kMost; })) {
    return add(values);
  }
  return add(
      std::span<const std::uint16_t>(std::vector<std::uint16_t>(values.begin(), values.end())));
}

void Nanoseconds::add(std::int64_t ns) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  ns = std::max<std::int64_t>(ns, 0);
  const std::int64_t low = std::min(ns, kMost);
  if (low < ns) {
    far_ += fmt::format("{}[{},{}]", far_.empty() ? "" : ",", low_.size(), ns - low);
  }
  low_.push_back(static_cast<std::uint32_t>(low));
}

}  // namespace genscope::report
