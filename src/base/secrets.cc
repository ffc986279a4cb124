// One pass from left to right. At each name (letters, digits, `_ . -`) the masker asks: is it the
// token of a known service, does `=` or `:` make it the name of a value, is it an option that a
// value follows, does `:...@` make it a user? If the value is to be hidden, `***` is written and
// the pass goes on behind it; else it goes on inside of it. Every look ahead that may come to
// nothing is bounded (kJudged bytes) or done once per word, so the whole is linear.
#include "base/secrets.h"

#include <algorithm>
#include <utility>

#include "base/secret_names.h"

namespace genscope::base {
namespace {

constexpr std::size_t kJudgedBytes = 512;

bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool in_name(char c) noexcept { return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.'; }
bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_quote(char c) noexcept { return c == '"' || c == '\'' || c == '`'; }
// What ends a value that is not quoted: blanks, and what ends a word in a shell or a query string.
bool ends_value(char c) noexcept {
  return is_blank(c) || is_quote(c) ||
         std::string_view("&;|<>()").find(c) != std::string_view::npos;
}
bool is_hex_digit(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool all_of_digits(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) noexcept {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// Not a secret whatever its name is: a switch, nothing, or the name of a variable.
bool is_trivial(std::string_view value) noexcept {
  for (const std::string_view word : {"", "true", "false", "none", "null", "yes", "no", "0", "1"}) {
    if (equals_ignoring_case(value, word)) return true;
  }
  if (value.size() < 2 || value[0] != '$') return false;
  std::string_view name = value.substr(1);
  if (name.size() > 2 && name.front() == '{' && name.back() == '}')
    name = name.substr(1, name.size() - 2);
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// A weight in a prompt, the number of a pass: `(token:1.2)`, `--pass 2`.
bool is_small_number(std::string_view value) noexcept {
  return value.size() <= 4 && std::all_of(value.begin(), value.end(), [](char c) {
           return (c >= '0' && c <= '9') || c == '.';
         });
}

bool hides(Secrecy secrecy, std::string_view value) noexcept {
  value = value.substr(0, kJudgedBytes);
  if (is_trivial(value)) return false;
  switch (secrecy) {
    case Secrecy::always:
      return true;
    case Secrecy::path:
      return !looks_like_path(value);
    case Secrecy::random:
    case Secrecy::pair:
      return looks_random(value);
    case Secrecy::none:
      break;
  }
  return false;
}

// Of `user:password`, the place of the password; 0 if it is none (uid:gid, a URL, host:port).
std::size_t password_in_pair(std::string_view value) noexcept {
  value = value.substr(0, kJudgedBytes);
  const std::size_t colon = value.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 == value.size()) return 0;
  if (all_of_digits(value.substr(colon + 1)) && all_of_digits(value.substr(0, colon))) return 0;
  if (value.substr(colon).starts_with("://")) return 0;
  return std::all_of(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return in_name(c) || c == '@' || c == '\\' || c == '+'; })
             ? colon + 1
             : 0;
}

// `-x`, `--name`: an option, as far as its look goes.
bool is_option(std::string_view word) noexcept {
  if (word.size() < 2 || word[0] != '-') return false;
  const std::size_t at = word.find_first_not_of('-');
  return at != std::string_view::npos && at <= 2 && is_letter_or_digit(word[at]) &&
         std::all_of(word.begin(), word.end(), in_name);
}

class Masker {
 public:
  explicit Masker(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (!private_key() && !encoded() && !user_of_url() && !name()) copy(at_ + 1);
    }
    return std::move(out_);
  }

 private:
  char before(std::size_t at) const { return at > 0 ? text_[at - 1] : ' '; }
  char look(std::size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
  std::string_view rest(std::size_t at) const { return text_.substr(std::min(at, text_.size())); }

  void copy(std::size_t to) {
    out_ += text_.substr(at_, to - at_);
    at_ = to;
  }
  // Keeps what is before `from`, hides what is before `to`.
  bool hide(std::size_t from, std::size_t to) {
    copy(from);
    out_ += kMasked;
    at_ = to;
    return true;
  }

  bool private_key() {
    constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ";
    constexpr std::size_t kLabel = 64;
    if (!rest(at_).starts_with(kBegin)) return false;
    const std::size_t label = rest(at_).substr(0, kLabel).find("PRIVATE KEY");
    if (label == std::string_view::npos) return copy(at_ + kBegin.size()), true;
    const std::size_t body = at_ + label + std::string_view("PRIVATE KEY").size();
    if (rest(body).starts_with(kMasked)) return copy(body), true;
    std::size_t end = text_.find(kEnd, body);
    if (end == std::string_view::npos) return hide(body, text_.size());
    const std::size_t dashes = text_.find("-----", end + kEnd.size());
    end = dashes == std::string_view::npos ? text_.size() : dashes + 5;
    return hide(body, end);
  }

  // %3D and the like: no part of the name behind it.
  bool encoded() {
    if (text_[at_] != '%' || !is_hex_digit(look(at_ + 1)) || !is_hex_digit(look(at_ + 2)))
      return false;
    copy(at_ + 3);
    name_may_start_ = at_;
    return true;
  }

  bool starts_name(std::size_t at) const {
    return in_name(text_[at]) && (at == name_may_start_ || !in_name(before(at)));
  }

  // Where the word around `at` ends, and its last '@'; each word is walked once.
  void measure_word(std::size_t at) {
    if (at < word_end_) return;
    last_at_ = 0;
    for (word_end_ = at; word_end_ < text_.size(); ++word_end_) {
      const char c = text_[word_end_];
      if (is_blank(c) || is_quote(c)) break;
      if (c == '@') last_at_ = word_end_;
    }
    ++word_end_;
  }

  // https://user:password@host and https://token@host.
  bool user_of_url() {
    if (!rest(at_).starts_with("://")) return false;
    const std::size_t from = at_ + 3;
    measure_word(from);
    copy(from);
    if (last_at_ <= from) return true;
    const std::string_view head = text_.substr(from, std::min(last_at_ - from, kJudgedBytes));
    const std::size_t slash = head.find_first_of("/?#");
    const std::size_t at = slash == std::string_view::npos ? slash : head.rfind('@', slash);
    if (at != std::string_view::npos) return hide_user(from, at);
    if (slash == std::string_view::npos) return hide_user(from, last_at_ - from);
    // A password with a slash in it, or a host, its port and an '@' somewhere behind them.
    const std::size_t colon = head.find(':');
    if (colon > slash || head[0] == '[') return true;
    if (all_of_digits(head.substr(colon + 1, slash - colon - 1))) return true;
    return hide(from + colon + 1, last_at_);
  }

  // The user at `from` is `size` bytes long: `name`, `name:password` or a token.
  bool hide_user(std::size_t from, std::size_t size) {
    constexpr std::size_t kLongName = 20;
    const std::string_view user = text_.substr(from, size);
    const std::size_t colon = user.find(':');
    if (colon != std::string_view::npos) return hide(from + colon + 1, from + size);
    if (size >= kLongName || known_token(user) > 0) return hide(from, from + size);
    return true;
  }

  bool name() {
    const std::size_t from = at_;
    if (!starts_name(from)) return false;
    std::size_t end = from;
    while (end < text_.size() && in_name(text_[end])) ++end;
    const std::string_view name = text_.substr(from, end - from);
    if (bearer(name, end) || assignment(name, end) || option(name, end) || user(name, end))
      return true;
    note_program(name, end);
    tokens(end);
    return true;
  }

  // Copies up to `end`, but for tokens of known services.
  void tokens(std::size_t end) {
    while (at_ < end) {
      const bool starts = is_letter_or_digit(text_[at_]) &&
                          (at_ == name_may_start_ || !is_letter_or_digit(before(at_)));
      const std::size_t length = starts ? known_token(rest(at_)) : 0;
      if (length > 0) {
        hide(at_, at_ + length);
      } else {
        copy(at_ + 1);
      }
    }
  }

  // "Bearer x" wherever it stands, if x looks like a token.
  bool bearer(std::string_view name, std::size_t end) {
    if (!equals_ignoring_case(name, "bearer") || look(end) != ' ') return false;
    const std::size_t to = value_end(end + 1, kJudgedBytes);
    const std::string_view value = text_.substr(end + 1, to - end - 1);
    const bool digit =
        std::any_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
    constexpr std::size_t kShort = 8;
    if (value.size() < kShort || (!digit && !looks_random(value))) return false;
    return hide(end + 1, value_end(end + 1));
  }

  // NAME=value, NAME: value, "NAME": "value"
  bool assignment(std::string_view name, std::size_t end) {
    std::size_t at = end;
    if (look(at) == '\\' && is_quote(look(at + 1))) ++at;
    const bool quoted_name = is_quote(look(at));
    if (quoted_name) ++at;
    if (look(at) == ']') ++at;  // environ["NAME"] = "value"
    while (look(at) == ' ' && at < end + 4) ++at;
    bool colon = false;
    if (rest(at).starts_with("%3D") || rest(at).starts_with("%3d")) {
      at += 3;
    } else if (look(at) == '=' && look(at + 1) != '=') {
      at += look(at + 1) == '>' ? 2 : 1;
    } else if (look(at) == ':' && look(at + 1) != ':' && !rest(at).starts_with("://")) {
      colon = true;
      at += look(at + 1) == '=' ? 2 : 1;
    } else {
      return false;
    }
    Secrecy secrecy = secrecy_of(name);
    if (in_query() && secrecy == Secrecy::random) secrecy = Secrecy::always;
    if (secrecy == Secrecy::none) return false;
    if (secrecy == Secrecy::pair && colon && !quoted_name) return false;
    while (look(at) == ' ') ++at;
    if (colon && !quoted_name && is_long_header(name)) return header(at);
    return value(secrecy, at, colon && !quoted_name);
  }

  static bool is_long_header(std::string_view name) {
    for (const std::string_view one :
         {"authorization", "proxy-authorization", "cookie", "set-cookie"}) {
      if (equals_ignoring_case(name, one)) return true;
    }
    return false;
  }

  // All of the line, or up to the quote that the header began with.
  bool header(std::size_t at) {
    const char quote = is_quote(before(at_)) ? before(at_) : '\n';
    at = behind_scheme(at);
    std::size_t end = at;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') ++end;
    return end > at && hide(at, end);
  }

  bool in_query() const {
    const char c = before(at_);
    return c == '?' || c == '&' ||
           (at_ >= 3 && (text_.substr(at_ - 3, 3) == "%26" || text_.substr(at_ - 3, 3) == "%3F"));
  }

  // --name value; also as '--name', 'value' in a list.
  bool option(std::string_view name, std::size_t end) {
    if (name.size() < 2 || name[0] != '-') return false;
    bool attached = false;
    if (takes_password(program_, name, attached)) {
      if (attached) return hide(at_ + 2, value_end(at_ + 2));
      std::size_t at = end;
      while (look(at) == ' ') ++at;
      return value(Secrecy::always, at, false);
    }
    if (!is_option(name)) return false;
    std::size_t at = end;
    if (is_quote(look(at)) && (look(at + 1) == ',' || look(at + 1) == ' ')) at += 1;
    if (look(at) == ',') ++at;
    if (at < text_.size() && !is_blank(text_[at]) && !is_quote(text_[at])) return false;
    while (at < text_.size() && is_blank(text_[at])) ++at;
    const Secrecy secrecy = secrecy_of(name);
    if (at == end || at >= text_.size() || secrecy == Secrecy::none) return false;
    if (look(at) == '-') {
      const std::size_t to = value_end(at, kJudgedBytes);
      if (!looks_random(text_.substr(at, to - at))) return false;
    }
    return value(secrecy, at, name.ends_with("pass"));
  }

  // Hides the value that begins at `at`, with its quotes kept, if it is to be hidden.
  // `numbers`: a small number is none.
  bool value(Secrecy secrecy, std::size_t at, bool numbers) {
    std::string_view close;
    if (look(at) == '$' && is_quote(look(at + 1))) ++at;
    if (look(at) == '\\' && is_quote(look(at + 1))) {
      close = text_.substr(at, 2);
    } else if (is_quote(look(at))) {
      close = text_.substr(at, 1);
    }
    at += close.size();
    at = behind_scheme(at);
    const auto end_of = [&](std::size_t limit) {
      return close.empty() ? value_end(at, limit) : quoted_end(at, close, limit);
    };
    const std::string_view judged = text_.substr(at, end_of(kJudgedBytes) - at);
    if (numbers && is_small_number(judged)) return false;
    if (secrecy == Secrecy::pair) {
      if (const std::size_t password = password_in_pair(judged); password > 0) {
        return hide(at + password, end_of(text_.size()));
      }
    }
    if (!hides(secrecy, judged)) return false;
    return hide(at, end_of(text_.size()));
  }

  // Behind "Bearer " and its like, which are no secret.
  std::size_t behind_scheme(std::size_t at) const {
    for (const std::string_view scheme :
         {"bearer ", "basic ", "token ", "digest ", "apikey ", "negotiate "}) {
      if (equals_ignoring_case(rest(at).substr(0, scheme.size()), scheme))
        return at + scheme.size();
    }
    return at;
  }

  std::size_t value_end(std::size_t at, std::size_t limit = std::string_view::npos) const {
    const std::size_t stop =
        limit < text_.size() - std::min(at, text_.size()) ? at + limit : text_.size();
    while (at < stop && !ends_value(text_[at]) && !rest(at).starts_with("%26")) {
      at += text_[at] == '\\' && at + 1 < stop && !is_quote(text_[at + 1]) ? 2 : 1;
    }
    if (at > 0 && at < text_.size() && text_[at - 1] == '\\' && is_quote(text_[at])) --at;
    return std::min(at, stop);
  }

  std::size_t quoted_end(std::size_t at, std::string_view close, std::size_t limit) const {
    const std::size_t stop = limit < text_.size() - at ? at + limit : text_.size();
    for (; at < stop; ++at) {
      if (rest(at).starts_with(close)) return at;
      if (close.size() == 1 && close[0] == '"' && text_[at] == '\\') ++at;
    }
    return std::min(at, stop);
  }

  // user:password@host without a scheme, as database drivers take it.
  bool user(std::string_view name, std::size_t end) {
    if (look(end) != ':' || before(at_) == '/' || before(at_) == '@' || name == "mailto")
      return false;
    measure_word(end);
    if (last_at_ <= end + 1 || rest(end).starts_with("://")) return false;
    const std::string_view host = rest(last_at_ + 1);
    if (host.empty() || host.starts_with("sha256:")) return false;
    const char first = host[0];
    const std::string_view digits = host.substr(0, host.find_first_not_of("0123456789."));
    const bool address = std::count(digits.begin(), digits.end(), '.') == 3;
    const bool letter = is_letter_or_digit(first) && !(first >= '0' && first <= '9');
    if (!letter && !address && first != '[') return false;  // npm:react@18
    if (first == 'v' && host.size() > 1 && host[1] >= '0' && host[1] <= '9') return false;
    return hide(end + 1, last_at_);
  }

  // The program that the words behind it are options of, until the command ends.
  void note_program(std::string_view name, std::size_t end) {
    const char c = before(at_);
    if (c == '/' || is_blank(c) || is_quote(c) || c == ';' || c == '&' || c == '|' || c == '(') {
      bool ignored = false;
      for (const std::string_view flag : {"-p", "-a", "-P", "-w", "-pX"}) {
        if (name[0] != '-' && takes_password(name, flag, ignored)) program_ = name;
      }
    }
    if (look(end) == ';' || look(end) == '|' || look(end) == '\n') program_ = {};
  }

  std::string_view text_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t word_end_ = 0, last_at_ = 0;
  std::size_t name_may_start_ = 0;  // behind %3F
  std::string_view program_;
};

// NAME=value as a whole word: the value is all the rest. A script (`sh -c 'NAME=x cmd'`) is not.
std::string_view assigned_name(std::string_view word) noexcept {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return {};
  const std::string_view name = word.substr(0, equals);
  return std::all_of(name.begin(), name.end(), [](char c) { return in_name(c) || c == '+'; })
             ? name
             : std::string_view();
}

bool takes_script(std::string_view option) noexcept {
  return option == "eval" ||
         (option.size() >= 2 && option[0] == '-' && option[1] != '-' && option.back() == 'c');
}

class WordMasker {
 public:
  std::string mask(std::string_view word) {
    const std::string_view before = std::exchange(before_, word);
    if (before_takes_password_ || is_option(before)) {
      const Secrecy secrecy = before_takes_password_ ? Secrecy::always : secrecy_of(before);
      before_takes_password_ = false;
      if (!is_option(word) || looks_random(word)) {
        if (secrecy == Secrecy::pair) {
          const std::size_t password = password_in_pair(word);
          if (password > 0) return std::string(word.substr(0, password)) + std::string(kMasked);
        }
        const bool number = before.ends_with("pass") && is_small_number(word);
        if (!number && hides(secrecy, word)) {
          before_ = {};
          return std::string(kMasked);
        }
      }
    }
    bool attached = false;
    if (takes_password(program_, word, attached)) {
      if (attached) return std::string(word.substr(0, 2)) + std::string(kMasked);
      before_takes_password_ = true;
      return std::string(word);
    }
    note_program(word);
    const std::string_view name = takes_script(before) ? std::string_view() : assigned_name(word);
    if (!name.empty()) {
      const std::string_view value = word.substr(name.size() + 1);
      const Secrecy secrecy = secrecy_of(name);
      if (secrecy != Secrecy::pair && hides(secrecy, value)) {
        return std::string(name) + "=" + std::string(kMasked);
      }
    }
    return Masker(word).run();
  }

 private:
  void note_program(std::string_view word) {
    bool ignored = false;
    for (const std::string_view flag : {"-p", "-a", "-P", "-w", "-pX"}) {
      if (!word.starts_with('-') && takes_password(word, flag, ignored)) program_ = word;
    }
  }

  std::string_view before_, program_;
  bool before_takes_password_ = false;
};

}  // namespace

std::string mask_secrets(std::string_view text) { return Masker(text).run(); }

std::vector<std::string> mask_secrets(std::span<const std::string> words) {
  std::vector<std::string> out;
  out.reserve(words.size());
  WordMasker masker;
  for (const std::string& word : words) out.push_back(masker.mask(word));
  return out;
}

}  // namespace genscope::base
