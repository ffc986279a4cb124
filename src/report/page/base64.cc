#include "report/page/base64.h"

#include <cstdint>
#include <string>

namespace genscope::report {

void base64(std::string_view bytes, const Sink& sink) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kPiece = 3 * 16384;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPiece);
    bytes.remove_prefix(piece.size());
    std::string out;
    out.reserve(piece.size() / 3 * 4 + 4);
    for (std::size_t i = 0; i < piece.size(); i += 3) {
      std::uint32_t group = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const std::uint32_t byte =
            i + k < piece.size() ? static_cast<std::uint8_t>(piece[i + k]) : 0;
        group = group << 8 | byte;
      }
      for (std::size_t k = 0; k < 4; ++k) {
        out += i + k > piece.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
      }
    }
    sink(out);
  }
}

}  // namespace genscope::report
