// Pieces: the bytes of a stream as lines for a reader of logs.
//
// Progress bars end in a carriage return, or in nothing until the next one: what stands at the end
// of the bytes so far is told as well, as unfinished, and told again when there is more of it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace genscope::watch {

enum class PieceEnd { newline, carriage_return, open };

class Pieces {
 public:
  static constexpr std::size_t kMostBytes = 4096;  // of a line; the rest of it is skipped
  static constexpr std::size_t kMostOpen = 1024;   // of an unfinished one that is told
  using Take = std::function<void(std::string_view line, PieceEnd end)>;

  // `take` gets each line without escape sequences, other control characters, and blanks at its
  // ends. Empty ones are left out.
  void add(std::string_view bytes, const Take& take);

 private:
  void put(char byte);
  void tell(PieceEnd end, const Take& take);

  std::string line_;
  enum class Escape { none, begun, sequence, text } escape_ = Escape::none;
  bool told_ = false;
};

}  // namespace genscope::watch
