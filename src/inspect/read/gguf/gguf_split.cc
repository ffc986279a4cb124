#include <filesystem>

#include "inspect/read/gguf/gguf.h"
#include "inspect/read/sharded.h"
#include "inspect/read/weights_choice.h"

namespace genscope::inspect {
namespace {

constexpr unsigned kMaxFiles = 4096;

std::string five_digits(unsigned number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - digits.size(), '0') + digits;
}

}  // namespace

Result<TensorFile> read_gguf_split(TensorFile first, const ByteSource& source,
                                   std::vector<std::string>* files) {
  const std::filesystem::path path(source.path());
  ShardName name;
  if (!parse_shard_name(path.filename().string(), name) || name.count > kMaxFiles) {
    first.notes.push_back("one of " + std::string(first.meta("split.count")) +
                          " files of a split model, and its name does not tell the others");
    return first;
  }
  Union all;
  unsigned missing = 0;
  for (unsigned i = 1; i <= name.count; ++i) {
    if (i == name.number) {
      all.add(std::move(first));
      continue;
    }
    const std::string file =
        name.stem + "-" + five_digits(i) + "-of-" + five_digits(name.count) + name.extension;
    const std::string place = (path.parent_path() / file).string();
    const auto opened = FileSource::open(place);
    if (!opened && opened.error().code == ErrorCode::not_found) {
      ++missing;
      continue;
    }
    if (!opened) return opened.error();
    Result<TensorFile> part = read_gguf(**opened);
    if (!part) return part;
    all.add(std::move(*part));
    if (files != nullptr) files->push_back(place);
  }
  if (missing > 0) {
    all.whole().notes.push_back(std::to_string(missing) + " of " + std::to_string(name.count) +
                                " files of this split model are missing: they are not counted");
  }
  all.whole().container = Container::gguf;
  return all.finish(source);
}

}  // namespace genscope::inspect
