#include "store/import/formats.h"

#include <filesystem>
#include <string_view>

#include "store/import/byte_source.h"

namespace genscope::store {
namespace {

std::string first_bytes(const std::string& path, const ImportOptions& options) {
  constexpr std::size_t kEnough = 4096;
  std::error_code failed;  // what a pipe has given it gives no more
  if (!std::filesystem::is_regular_file(path, failed)) return {};
  Result<ByteSource> source = ByteSource::open(path, {options.max_bytes, options.max_ratio});
  std::string begin(kEnough, '\0');
  std::size_t filled = 0;
  while (source.ok() && filled < begin.size()) {
    const Result<std::size_t> n = source->read(begin.data() + filled, begin.size() - filled);
    if (!n.ok() || *n == 0) break;
    filled += *n;
  }
  begin.resize(filled);
  return begin;
}

// A dict whose first key is a tuple, or an empty one. JSON has neither byte behind a brace.
bool is_marshal_of_stats(std::string_view begin) {
  if (begin.size() < 2 || (static_cast<unsigned char>(begin[0]) & 0x7F) != '{') return false;
  const int next = static_cast<unsigned char>(begin[1]) & 0x7F;  // its highest bit is a flag
  return next == '(' || next == ')' || next == '0';
}

}  // namespace

Format format_of(const std::string& path, const ImportOptions& options) {
  using namespace std::string_view_literals;
  const std::string begin = first_bytes(path, options);
  if (begin.starts_with("SQLite format 3\0"sv)) return Format::nsys;
  constexpr char kOldest = 2, kNewest = 5;  // protocols of pickle that begin with their number
  if (begin.size() >= 2 && begin[0] == '\x80' && begin[1] >= kOldest && begin[1] <= kNewest) {
    return Format::torch_memory;
  }
  if (is_marshal_of_stats(begin)) return Format::cprofile;
  if (begin.find("\"$schema\"") != begin.npos && begin.find("speedscope") != begin.npos) {
    return Format::speedscope;
  }
  return Format::chrome;
}

std::string remedy_for(const std::string& path) {
  struct Known {
    std::string_view ending, remedy;
  };
  constexpr Known kKnown[] = {
      {".nsys-rep", "`nsys export --type sqlite FILE` makes a file that can be imported"},
      {".qdrep", "`nsys export --type sqlite FILE` makes a file that can be imported"},
      {".xplane.pb", "import the .trace.json.gz beside it"},
      {".pt", "a model is inspected by `genscope inspect`"},
      {".safetensors", "a model is inspected by `genscope inspect`"},
  };
  for (const auto& [ending, remedy] : kKnown) {
    if (path.ends_with(ending)) return "; " + std::string(remedy);
  }
  return {};
}

}  // namespace genscope::store
