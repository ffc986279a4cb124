#include "inspect/read/sharded.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "inspect/read/json_scan.h"
#include "inspect/read/readers.h"
#include "inspect/read/tensor_list.h"

namespace genscope::inspect {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxIndexBytes = 100'000'000;
constexpr std::size_t kMaxShards = 4096;

// Why a shard's name may not be used, or nullptr.
const char* fault_of(std::string_view file) {
  if (file.empty() || file.find('\0') != std::string_view::npos) return "is no file name";
  const fs::path path(file);
  if (path.is_absolute()) return "is an absolute path";
  if (std::ranges::find(path, fs::path("..")) != path.end()) return "leads out of the folder";
  if (file.ends_with(".json")) return "is an index, or this index itself, not a shard";
  return nullptr;
}

class IndexReader {
 public:
  IndexReader(const ByteSource& source, std::string& text) : source_(source), scan_(text) {}

  Result<ShardIndex> read() {
    std::string_view key;
    bool mapped = false;
    scan_.open_object();
    while (scan_.next_member(key)) {
      if (key == "weight_map") {
        if (std::exchange(mapped, true)) return wrong("weight_map is given twice");
        if (!weight_map()) break;
      } else if (!(key == "metadata" && scan_.peek() == JsonScan::Kind::object ? metadata()
                                                                               : scan_.skip())) {
        break;
      }
    }
    if (error_) return *std::move(error_);
    if (!scan_.finish()) return wrong("not valid JSON: " + std::string(scan_.reason()));
    if (!mapped) {
      return Error{ErrorCode::bad_data, source_.path() +
                                            ": byte 0: a JSON file without a "
                                            "weight_map is no index; name the model's "
                                            "folder or its weights"};
    }
    return std::move(index_);
  }

 private:
  bool weight_map() {
    std::string_view name, file;
    scan_.open_object();
    while (scan_.next_member(name)) {
      if (!scan_.string(file) || !count(name, file)) return false;
    }
    return !scan_.failed();
  }

  bool count(std::string_view name, std::string_view file) {
    if (last_ != nullptr && last_->file == file) return ++last_->tensors > 0;
    const auto [it, fresh] = places_.try_emplace(file, index_.shards.size());
    if (fresh) {
      if (const char* const fault = fault_of(file)) {
        error_ = wrong("tensor " + shown(name) + " is in " + shown(file) + ", which " + fault);
        return false;
      }
      if (index_.shards.size() >= kMaxShards) {
        error_ = wrong("more than " + std::to_string(kMaxShards) + " shards");
        return false;
      }
      index_.shards.push_back({std::string(file), 0});
    }
    last_ = &index_.shards[it->second];
    return ++last_->tensors > 0;
  }

  bool metadata() {
    std::string_view key, value;
    scan_.open_object();
    while (scan_.next_member(key)) {
      const auto kind = scan_.peek();
      const bool nested = kind == JsonScan::Kind::object || kind == JsonScan::Kind::array;
      if (!(nested ? scan_.skip() : scan_.scalar(value))) return false;
      if (!nested && index_.metadata.size() < kMaxMetadata) {
        index_.metadata.emplace_back(key, value);
      }
    }
    return !scan_.failed();
  }

  Error wrong(const std::string& what) const { return broken(source_, scan_.offset(), what); }

  const ByteSource& source_;
  JsonScan scan_;
  ShardIndex index_;
  std::unordered_map<std::string_view, std::size_t> places_;
  Shard* last_ = nullptr;
  std::optional<Error> error_;
};

// The folder whose files may be used, and for a snapshot of the cache the one it links to.
struct Fence {
  fs::path folder, blobs;

  explicit Fence(const fs::path& of) {
    std::error_code failed;
    folder = fs::canonical(of, failed);
    for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
      if (at.filename() != "snapshots") continue;
      blobs = at.parent_path() / "blobs";
      break;
    }
  }
  bool holds(const fs::path& file) const { return within(file, folder) || within(file, blobs); }

 private:
  static bool within(const fs::path& file, const fs::path& root) {
    if (root.empty()) return false;
    return std::ranges::mismatch(root, file).in1 == root.end();
  }
};

void note_missing(const std::vector<const Shard*>& missing, std::vector<std::string>& notes) {
  if (missing.empty()) return;
  constexpr std::size_t kListed = 8;
  std::uint64_t tensors = 0;
  for (const Shard* const shard : missing) tensors += shard->tensors;
  std::string note = std::to_string(missing.size()) + " of the index's files missing (";
  for (std::size_t i = 0; i < std::min(kListed, missing.size()); ++i) {
    note += (i > 0 ? ", " : "") + shown(missing[i]->file);
  }
  note += missing.size() > kListed ? ", ...): " : "): ";
  notes.push_back(note + std::to_string(tensors) + " tensors are not counted");
}

void note_differences(const ShardIndex& index, TensorFile& whole) {
  std::uint64_t bytes = 0;
  for (const Tensor& tensor : whole.tensors) bytes += tensor.bytes;
  const std::string_view total = whole.meta("total_size");
  std::uint64_t expected = 0;
  for (const Shard& shard : index.shards) expected += shard.tensors;
  if (expected != whole.tensors.size()) {
    whole.notes.push_back("the index names " + std::to_string(expected) +
                          " tensors, its files hold " + std::to_string(whole.tensors.size()));
  } else if (!total.empty() && total != std::to_string(bytes)) {
    whole.notes.push_back("the index gives a total_size of " + std::string(total) +
                          ", the tensors have " + std::to_string(bytes) + " bytes");
  }
}

}  // namespace

Result<ShardIndex> parse_index(const ByteSource& source) {
  if (source.size() > kMaxIndexBytes) {
    return broken(source, kMaxIndexBytes,
                  "a JSON file of " + std::to_string(source.size()) + " bytes is no index",
                  "name the model's folder or its weights");
  }
  std::string text(source.size(), '\0');
  if (Status read = source.read(0, text); !read) return std::move(read).error();
  Result<ShardIndex> index = IndexReader(source, text).read();
  if (index) index->header_bytes = text.size();
  return index;
}

void Union::add(TensorFile part) {
  names_.push_back(std::move(part.names));
  whole_.file_bytes += part.file_bytes;
  whole_.header_bytes += part.header_bytes;
  whole_.tensors.insert(whole_.tensors.end(), part.tensors.begin(), part.tensors.end());
  std::ranges::move(part.notes, std::back_inserter(whole_.notes));
  if (whole_.metadata.empty()) whole_.metadata = std::move(part.metadata);
}

Result<TensorFile> Union::finish(const ByteSource& source) {
  if (const auto twice = find_duplicate(whole_.tensors)) {
    return broken(source, 0, "tensor " + shown(whole_.tensors[*twice].name) + " is in two files");
  }
  // One pointer that keeps all headers alive.
  const auto all = std::make_shared<const decltype(names_)>(std::move(names_));
  if (!all->empty()) whole_.names = {all, all->front().get()};
  whole_.path = source.path();
  return std::move(whole_);
}

Result<TensorFile> read_sharded(const ByteSource& source, std::vector<std::string>* files) {
  const Result<ShardIndex> index = parse_index(source);
  if (!index) return index.error();
  const fs::path parent = fs::path(source.path()).parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  const Fence fence(folder);
  Union shards;
  std::vector<const Shard*> missing;
  for (const Shard& shard : index->shards) {
    const fs::path path = parent / shard.file;
    std::error_code failed;
    const fs::path real = fs::canonical(path, failed);
    if (failed == std::errc::no_such_file_or_directory) {
      missing.push_back(&shard);
      continue;
    }
    if (!failed && !fence.holds(real)) {
      return broken(
          source, 0,
          shown(shard.file) + " links to " + real.string() + ", outside the index's folder",
          "copy the file into the folder");
    }
    const auto opened = FileSource::open(path.string());
    if (!opened) return opened.error();
    Result<TensorFile> part = read_container(**opened);
    if (!part) return part;
    shards.add(std::move(*part));
    if (files != nullptr) files->push_back(path.string());
  }
  if (missing.size() == index->shards.size()) {
    return Error{ErrorCode::not_found,
                 source.path() + ": byte 0: none of the " + std::to_string(missing.size()) +
                     " files that it names is there; fetch them into the same folder"};
  }
  TensorFile& whole = shards.whole();
  whole.container = Container::sharded;
  whole.header_bytes += index->header_bytes;
  for (const auto& pair : index->metadata) {
    if (whole.meta(pair.first).empty()) whole.metadata.push_back(pair);
  }
  note_missing(missing, whole.notes);
  if (missing.empty()) note_differences(*index, whole);
  return shards.finish(source);
}

}  // namespace genscope::inspect
