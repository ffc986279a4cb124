// A name is cut into its words (at punctuation and where camelCase rises), and the last word
// decides: `--token-file` names a file, `--max-tokens` a number, `--hf-token` a secret. Names are
// cut at 128 bytes, so the cost of one is bounded.
#include "base/secret_names.h"

#include <algorithm>
#include <array>
#include <bitset>

namespace genscope::base {
namespace {

using Words = std::array<std::string_view, 16>;

bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_alnum(char c) noexcept { return is_lower(c) || is_upper(c) || is_digit(c); }
bool is_hex(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& list) noexcept {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Always a secret as the last word, and as the end of a word that is written together (PGPASSWORD).
constexpr auto kSecretWords = std::to_array<std::string_view>(
    {"password", "passwords", "passwd", "passphrase", "passcode", "secret", "secrets", "token",
     "apikey", "apikeys", "authorization"});
constexpr auto kSecretWhole =
    std::to_array<std::string_view>({"pw", "sig", "signature", "psk", "sshpass", "bearer", "jwt"});
// A secret if it looks like one.
constexpr auto kRandomWords = std::to_array<std::string_view>(
    {"sas", "session", "sessionid", "otp", "pat", "webhook", "license", "hmac", "salt"});
// A secret, or the file that it lies in (PWD is a folder, MYSQL_PWD is not).
constexpr auto kSecretOrPath = std::to_array<std::string_view>(
    {"pwd", "oldpwd", "cookie", "cookies", "credential", "credentials", "creds"});

// `--pad-token "<pad>"`: words of language models, not of a login.
constexpr auto kModelTokens = std::to_array<std::string_view>(
    {"pad",    "eos",      "bos",   "unk",    "mask",    "sep",         "cls",      "trigger",
     "max",    "min",      "num",   "n",      "per",     "placeholder", "stop",     "start",
     "end",    "class",    "image", "img",    "special", "initializer", "instance", "concept",
     "text",   "vision",   "audio", "video",  "first",   "last",        "next",     "prefix",
     "suffix", "middle",   "fim",   "target", "forced",  "decoder",     "modifier", "eot",
     "think",  "new",      "tool",  "system", "unknown", "learnable",   "init",     "speaker",
     "lang",   "language", "blank"});
// `<word> key` is a secret or the path of one.
constexpr auto kKeys = std::to_array<std::string_view>(
    {"api",    "access",      "secret",  "private",      "account", "storage", "encryption",
     "master", "auth",        "service", "subscription", "signing", "ssh",     "client",
     "app",    "application", "deploy",  "license",      "shared",  "session", "consumer",
     "admin",  "server",      "ssl",     "tls",          "deploy",  "openai",  "anthropic",
     "hf",     "wandb",       "fal",     "replicate",    "gemini",  "groq",    "mistral",
     "cohere", "azure",       "aws",     "stability",    "civitai", "user",    "host"});
constexpr auto kPassOwners = std::to_array<std::string_view>(
    {"db",    "user",  "admin", "root",     "http", "proxy", "smtp", "ftp",
     "redis", "mysql", "pg",    "postgres", "ssh",  "auth",  "key",  "store",
     "login", "sudo",  "ldap",  "mail",     "rpc",  "basic"});
// Behind the deciding word these say which one it is, not what: API_KEY_PROD, HF_TOKEN_2.
constexpr auto kQualifiers = std::to_array<std::string_view>(
    {"value",   "prod",   "production", "dev", "test",    "staging",   "read",
     "write",   "ro",     "rw",         "old", "primary", "secondary", "live",
     "default", "string", "base64",     "b64", "hex",     "plain",     "raw"});
constexpr auto kPairs = std::to_array<std::string_view>({"auth", "user", "login", "userpwd", "u"});

bool ends_in_secret_word(std::string_view word) noexcept {
  return std::any_of(kSecretWords.begin(), kSecretWords.end(),
                     [&](std::string_view secret) { return word.ends_with(secret); });
}

std::size_t cut_words(std::string_view name, Words& words) noexcept {
  std::size_t count = 0, from = 0;
  const auto put = [&](std::size_t end) {
    if (end > from && count < words.size()) words[count++] = name.substr(from, end - from);
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_alnum(name[i])) {
      put(i);
      from = i + 1;
    } else if (i > from && is_upper(name[i]) &&
               (is_lower(name[i - 1]) ||
                (is_upper(name[i - 1]) && i + 1 < name.size() && is_lower(name[i + 1])))) {
      put(i);
      from = i;
    }
  }
  put(name.size());
  return count;
}

bool all_digits(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), is_digit);
}

std::string_view without_digits(std::string_view word) noexcept {
  while (!word.empty() && is_digit(word.back())) word.remove_suffix(1);
  return word;
}

Secrecy secrecy_of_words(const Words& words, std::size_t count) noexcept {
  const bool any = std::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count),
                               [](std::string_view word) {
                                 return ends_in_secret_word(word) || word == "key" ||
                                        word == "tokens" || word == "keys" || word == "pass";
                               });
  while (count > 1 && (all_digits(words[count - 1]) || one_of(words[count - 1], kQualifiers))) {
    --count;
  }
  if (count == 0) return Secrecy::none;
  const std::string_view last = without_digits(words[count - 1]);
  const std::string_view before = count > 1 ? words[count - 2] : std::string_view();
  if (last == "token" && one_of(before, kModelTokens)) return Secrecy::random;
  if (ends_in_secret_word(last) || one_of(last, kSecretWhole)) return Secrecy::always;
  if (last == "key" || last == "keys") {
    return one_of(before, kKeys) ? Secrecy::path : Secrecy::random;
  }
  for (const std::string_view word :
       {std::string_view("accesskey"), std::string_view("secretkey"),
        std::string_view("privatekey"), std::string_view("authkey")}) {
    if (last.ends_with(word)) return Secrecy::path;
  }
  if (one_of(last, kSecretOrPath)) return Secrecy::path;
  if (last == "pass") {
    return count == 1 || one_of(before, kPassOwners) ? Secrecy::always : Secrecy::random;
  }
  if (one_of(last, kPairs)) return Secrecy::pair;
  return any || one_of(last, kRandomWords) ? Secrecy::random : Secrecy::none;
}

struct Shape {
  std::string_view prefix;
  std::string_view also;  // characters of the body beside letters and digits
  std::size_t least;      // characters of the body
};
constexpr auto kShapes = std::to_array<Shape>({
    {"sk-", "_-", 6},      {"sk_live_", "", 6},   {"sk_test_", "", 6},
    {"rk_live_", "", 6},   {"hf_", "", 6},        {"api_org_", "", 16},
    {"ghp_", "", 6},       {"gho_", "", 6},       {"ghu_", "", 6},
    {"ghs_", "", 6},       {"ghr_", "", 6},       {"github_pat_", "_", 6},
    {"glpat-", "_-", 6},   {"gldt-", "_-", 6},    {"glptt-", "_-", 6},
    {"glrt-", "_-", 6},    {"xoxb-", "-", 6},     {"xoxa-", "-", 6},
    {"xoxp-", "-", 6},     {"xoxr-", "-", 6},     {"xoxs-", "-", 6},
    {"xoxe-", "-", 6},     {"xapp-", "-", 6},     {"AKIA", "", 12},
    {"ASIA", "", 12},      {"AIza", "_-", 20},    {"ya29.", "_-", 12},
    {"npm_", "", 16},      {"pypi-", "_-", 16},   {"dop_v1_", "", 16},
    {"SG.", "._-", 20},    {"r8_", "", 16},       {"nvapi-", "_-", 12},
    {"gsk_", "", 16},      {"xai-", "", 16},      {"pplx-", "", 16},
    {"tgp_v1_", "_-", 12}, {"hvs.", "_-", 12},    {"dckr_pat_", "_-", 12},
    {"shpat_", "", 16},    {"lin_api_", "", 16},  {"figd_", "_-", 16},
    {"ATATT", "_-=", 20},  {"GOCSPX-", "_-", 12}, {"AGE-SECRET-KEY-", "", 16},
});

// What decides whether something is a token: a longer one is judged by its head, so that a text
// full of false starts still takes linear time.
constexpr std::size_t kJudged = 256;

std::size_t run_of(std::string_view text, std::string_view also) noexcept {
  std::size_t n = 0;
  while (n < text.size() && (is_alnum(text[n]) || also.find(text[n]) != std::string_view::npos))
    ++n;
  return n;
}

// A JSON Web Token: three parts in base64, the first of which is `{"`.
std::size_t jwt(std::string_view text) noexcept {
  constexpr std::size_t kLeast = 12;
  if (!text.starts_with("eyJ")) return 0;
  const std::size_t n = run_of(text.substr(0, kJudged), "_-.=");
  const std::size_t first = run_of(text.substr(0, kJudged), "_-");
  const bool found = n >= kLeast && (first < n || first >= 2 * kLeast);
  return found ? run_of(text, "_-.=") : 0;
}

}  // namespace

Secrecy secrecy_of(std::string_view name) noexcept {
  constexpr std::size_t kLongest = 128;
  if (name.size() > kLongest) name.remove_prefix(name.size() - kLongest);
  Words words{};
  const std::size_t count = cut_words(name, words);
  std::array<char, kLongest> lower{};
  std::size_t used = 0;
  for (std::size_t w = 0; w < count; ++w) {
    const std::size_t from = used;
    for (const char c : words[w])
      lower[used++] = is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    words[w] = {lower.data() + from, used - from};
  }
  return secrecy_of_words(words, count);
}

bool looks_random(std::string_view text) noexcept {
  constexpr std::size_t kLong = 16, kDistinct = 8;
  std::bitset<256> seen;
  bool lower = false, upper = false, digit = false, random_piece = false;
  bool piece_letter = false, piece_digit = false;
  std::size_t piece = 0, hex = 0, dashes = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return false;
    seen.set(static_cast<unsigned char>(c));
    lower |= is_lower(c);
    upper |= is_upper(c);
    digit |= is_digit(c);
    hex += is_hex(c) ? 1 : 0;
    dashes += c == '-' ? 1 : 0;
    if (!is_alnum(c)) {
      piece = 0;
      piece_letter = piece_digit = false;
      continue;
    }
    ++piece;
    piece_letter |= !is_digit(c);
    piece_digit |= is_digit(c);
    random_piece |= piece >= kLong && piece_letter && piece_digit;
  }
  if (text.size() < kLong || seen.count() < kDistinct) return false;
  const bool uuid = text.size() == 36 && dashes == 4 && hex == 32;
  const bool mixed = text.size() >= 20 && lower && upper && digit && !looks_like_path(text);
  return random_piece || uuid || mixed;
}

bool looks_like_path(std::string_view text) noexcept {
  if (text.starts_with("./") || text.starts_with("../") || text.starts_with("~/")) return true;
  const std::size_t slash = text.rfind('/');
  const std::string_view file = slash == std::string_view::npos ? text : text.substr(slash + 1);
  const std::size_t dot = file.rfind('.');
  if (dot != std::string_view::npos && dot > 0) {
    const std::string_view extension = file.substr(dot + 1);
    if (extension.size() >= 2 && extension.size() <= 5 &&
        std::all_of(extension.begin(), extension.end(), is_lower)) {
      return true;
    }
  }
  // Base64 may begin with a slash, too; the first folder has a short name in small letters.
  if (!text.starts_with('/')) return false;
  const std::string_view first = text.substr(1, std::min(text.find('/', 1), text.size()) - 1);
  return first.size() <= 16 && std::all_of(first.begin(), first.end(), [](char c) {
           return is_lower(c) || c == '_' || c == '-';
         });
}

std::size_t known_token(std::string_view text) noexcept {
  if (text.size() < 8) return 0;
  if (const std::size_t n = jwt(text); n > 0) return n;
  for (const Shape& shape : kShapes) {
    if (!text.starts_with(shape.prefix)) continue;
    const std::string_view rest = text.substr(shape.prefix.size());
    const std::size_t n = run_of(rest.substr(0, kJudged), shape.also);
    if (n < shape.least) continue;
    const std::string_view body = rest.substr(0, n);
    // `hf_model_dir`, `sk-learn/x`: the name goes on, or is a word.
    if (n < std::min(rest.size(), kJudged) && (rest[n] == '_' || rest[n] == '-' || rest[n] == '/'))
      continue;
    const bool digit = std::any_of(body.begin(), body.end(), is_digit);
    const bool upper = std::any_of(body.begin(), body.end(), is_upper);
    // Of the prefixes that words begin with, too (`hf_transfer`), more is asked.
    const bool wordlike = shape.prefix == "sk-" || shape.prefix == "hf_";
    constexpr std::size_t kLong = 10, kSurelyNoWord = 32;
    if (upper || (digit && (!wordlike || n >= kLong)) || run_of(body, "") >= kSurelyNoWord) {
      return shape.prefix.size() + run_of(rest, shape.also);
    }
  }
  return 0;
}

bool takes_password(std::string_view program, std::string_view flag, bool& attached) noexcept {
  struct Known {
    std::string_view program, flag;
    bool attached;  // `-pPASSWORD`; else, or in addition, the next word
    bool apart;
  };
  static constexpr auto kKnown = std::to_array<Known>({
      {"sshpass", "-p", true, true},
      {"mysql", "-p", true, false},
      {"mysqldump", "-p", true, false},
      {"mysqladmin", "-p", true, false},
      {"mariadb", "-p", true, false},
      {"redis-cli", "-a", false, true},
      {"login", "-p", false, true},  // docker login, az login
      {"7z", "-p", true, false},
      {"7za", "-p", true, false},
      {"zip", "-P", true, true},
      {"unzip", "-P", true, true},
      {"ldapsearch", "-w", true, true},
      {"rar", "-hp", true, false},
  });
  const std::string_view file = program.substr(program.rfind('/') + 1);
  for (const Known& known : kKnown) {
    if (file != known.program) continue;
    if (known.apart && flag == known.flag) {
      attached = false;
      return true;
    }
    if (known.attached && flag.size() > known.flag.size() && flag.starts_with(known.flag)) {
      attached = true;
      return true;
    }
  }
  return false;
}

}  // namespace genscope::base
