#include "trace/frame.h"

#include <algorithm>

#include "base/checksum.h"

namespace genscope::trace {
namespace {

std::uint64_t header_checksum(const FrameHeader& header) noexcept {
  return base::checksum(&header, offsetof(FrameHeader, header_checksum));
}

}  // namespace

void append_frame(FrameHeader header, std::span<const std::byte> payload,
                  std::vector<std::byte>& out, std::span<const std::byte> elsewhere) {
  header.stored_bytes = static_cast<std::uint32_t>(payload.size() + elsewhere.size());
  header.payload_checksum = elsewhere.empty() ? base::checksum(payload.data(), payload.size())
                                              : base::checksum(payload.data(), payload.size(),
                                                               elsewhere.data(), elsewhere.size());
  header.header_checksum = header_checksum(header);
  const auto* p = reinterpret_cast<const std::byte*>(&header);
  out.insert(out.end(), p, p + sizeof header);
  out.insert(out.end(), payload.begin(), payload.end());
}

bool valid(const FrameHeader& header) noexcept {
  return header.magic == kFrameMagic && header.stored_bytes <= kMaxFrameBytes &&
         header.header_checksum == header_checksum(header);
}

bool FrameScanner::next(FrameView& frame) {
  constexpr std::size_t kHeader = sizeof(FrameHeader);
  const std::size_t damage_from = at_;
  const auto count_damage = [&] {
    if (at_ > damage_from) {
      bad_frames_++;
      bad_bytes_ += at_ - damage_from;
    }
  };
  bool cut = false;
  while (at_ + kHeader <= bytes_.size()) {
    std::memcpy(&frame.header, bytes_.data() + at_, kHeader);
    if (valid(frame.header)) {
      const std::size_t size = frame.header.stored_bytes;
      cut = at_ + kHeader + size > bytes_.size();
      if (!cut) frame.payload = bytes_.subspan(at_ + kHeader, size);
      if (!cut && base::checksum(frame.payload.data(), size) == frame.header.payload_checksum) {
        frame.offset = at_;
        count_damage();
        at_ += kHeader + size;
        return true;
      }
    }
    // Look for the next magic number.
    const std::byte first{kFrameMagic & 0xFF};
    const auto* const begin = bytes_.data() + at_ + 1;
    const auto* const end = bytes_.data() + bytes_.size();
    const auto* p = begin;
    for (;;) {
      p = static_cast<const std::byte*>(
          std::memchr(p, static_cast<int>(first), static_cast<std::size_t>(end - p)));
      if (p == nullptr || end - p < 4) {
        p = end;
        break;
      }
      std::uint32_t magic = 0;
      std::memcpy(&magic, p, 4);
      if (magic == kFrameMagic) break;
      ++p;
    }
    at_ = static_cast<std::size_t>(p - bytes_.data());
  }
  const bool torn = cut || at_ < bytes_.size();
  at_ = bytes_.size();
  if (torn) torn_bytes_ = at_ - damage_from;
  count_damage();
  return false;
}

}  // namespace genscope::trace
