#include "watch/logs/pieces.h"

namespace genscope::watch {

void Pieces::add(std::string_view bytes, const Take& take) {
  for (const char byte : bytes) {
    if (byte == '\n' || byte == '\r') {
      tell(byte == '\n' ? PieceEnd::newline : PieceEnd::carriage_return, take);
      line_.clear();
      escape_ = Escape::none;
    } else {
      put(byte);
    }
  }
  if (!told_ && line_.size() <= kMostOpen) tell(PieceEnd::open, take);
}

// ESC [ ... letter; ESC ] ... BEL; ESC and one more.
void Pieces::put(char byte) {
  switch (escape_) {
    case Escape::begun:
      escape_ = byte == '[' ? Escape::sequence : byte == ']' ? Escape::text : Escape::none;
      return;
    case Escape::sequence:
      if (byte >= '@' && byte <= '~') escape_ = Escape::none;
      return;
    case Escape::text:
      if (byte == '\a') escape_ = Escape::none;
      if (byte == '\x1b') escape_ = Escape::begun;
      return;
    case Escape::none:
      break;
  }
  if (byte == '\x1b') {
    escape_ = Escape::begun;
  } else if ((static_cast<unsigned char>(byte) >= ' ' || byte == '\t') &&
             line_.size() < kMostBytes) {
    line_ += byte;
    told_ = false;
  }
}

void Pieces::tell(PieceEnd end, const Take& take) {
  told_ = true;
  std::string_view line = line_;
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  if (!line.empty()) take(line, end);
}

}  // namespace genscope::watch
