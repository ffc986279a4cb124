// Columns of a page (docs/page-data.md): values laid out so that gzip packs them well.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace genscope::report {

// The blobs of a container, and the texts that refer to them.
class Blobs {
 public:
  // Adds a column; returns what the header says of it: {"at":..,"n":..,"type":".."}.
  std::string add(std::span<const std::uint8_t> values) { return add_bytes(values, "u8"); }
  std::string add(std::span<const std::uint16_t> values) { return add_bytes(values, "u16"); }
  std::string add(std::span<const std::uint32_t> values) { return add_bytes(values, "u32"); }
  std::string add(std::span<const double> values) { return add_bytes(values, "f64"); }
  // u16 if every value fits, else u32.
  std::string add_narrow(std::span<const std::uint32_t> values);

  const std::string& bytes() const noexcept { return bytes_; }

 private:
  template <class T>
  std::string add_bytes(std::span<const T> values, const char* type);

  std::string bytes_;
};

// Differences and durations in 32 bits, and what does not fit.
class Nanoseconds {
 public:
  void reserve(std::size_t n) { low_.reserve(n); }
  void add(std::int64_t ns);  // below 0 counts as 0
  std::string column(Blobs& blobs) const { return blobs.add(std::span<const std::uint32_t>(low_)); }
  std::string far() const { return "[" + far_ + "]"; }

 private:
  std::vector<std::uint32_t> low_;
  std::string far_;  // "[i,ns],..."
};

}  // namespace genscope::report
