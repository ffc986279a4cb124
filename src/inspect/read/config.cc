// The two JSON documents of a folder, as flat lists of text.
#include <algorithm>

#include "inspect/read/folder.h"
#include "inspect/read/json_scan.h"
#include "inspect/read/tensor_list.h"

namespace genscope::inspect {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 16'000'000;
constexpr int kMaxObjects = 8;  // inner objects that are looked into
constexpr std::uint64_t kMaxJoined = 16;

Result<std::string> whole_text(const ByteSource& source) {
  if (source.size() > kMaxConfigBytes) {
    return broken(source, kMaxConfigBytes,
                  "a configuration of " + std::to_string(source.size()) + " bytes",
                  "name the weights themselves");
  }
  std::string text(source.size(), '\0');
  if (Status read = source.read(0, text); !read) return std::move(read).error();
  return text;
}

Error not_json(const ByteSource& source, const JsonScan& scan) {
  return broken(source, scan.offset(), "not valid JSON: " + std::string(scan.reason()),
                "the file is damaged: fetch it again");
}

void put(ConfigValues& values, std::string key, std::string value) {
  if (values.size() < kMaxMetadata) values.emplace_back(std::move(key), std::move(value));
}

// The array that comes next as text.
bool array_text(JsonScan& scan, std::string& out) {
  if (!scan.open_array()) return false;
  std::uint64_t count = 0;
  bool plain = true;
  std::string_view text;
  while (scan.next_element()) {
    const auto kind = scan.peek();
    const bool nested = kind == JsonScan::Kind::object || kind == JsonScan::Kind::array;
    if (!(nested ? scan.skip() : scan.scalar(text))) return false;
    plain = plain && !nested && count < kMaxJoined;
    if (plain) out.append(count > 0 ? "," : "").append(text);
    ++count;
  }
  if (!plain || count == 0) out = "array[" + std::to_string(count) + "]";
  return !scan.failed();
}

// The value of `key` that comes next, flat.
bool flatten(JsonScan& scan, const std::string& key, int depth, ConfigValues& values) {
  const auto kind = scan.peek();
  if (kind == JsonScan::Kind::array) {
    std::string text;
    if (!array_text(scan, text)) return false;
    put(values, key, std::move(text));
    return true;
  }
  std::string_view text;
  if (kind != JsonScan::Kind::object) {
    if (!scan.scalar(text)) return false;
    if (text != "null" || kind == JsonScan::Kind::string) put(values, key, std::string(text));
    return true;
  }
  if (depth > kMaxObjects) return scan.skip();
  if (!scan.open_object()) return false;
  std::string_view inner;
  while (scan.next_member(inner)) {
    std::string path = key.empty() ? std::string(inner) : key + "." + std::string(inner);
    if (!flatten(scan, path, depth + 1, values)) return false;
  }
  return !scan.failed();
}

// [library, class], with null for what is absent; false if it is something else.
bool component(JsonScan& scan, std::string& class_name) {
  int count = 0;
  class_name.clear();
  if (!scan.open_array()) return false;
  while (scan.next_element()) {
    const auto kind = scan.peek();
    std::string_view text;
    if (kind != JsonScan::Kind::string) {
      if (!scan.skip()) return false;
    } else if (!scan.string(text)) {
      return false;
    }
    if (++count == 2) class_name = text;
  }
  return count == 2 && !scan.failed();
}

}  // namespace

std::string_view value_of(const ConfigValues& values, std::string_view key) noexcept {
  const auto it = std::ranges::find_if(values, [&](const auto& pair) { return pair.first == key; });
  return it == values.end() ? std::string_view() : std::string_view(it->second);
}

Result<ConfigValues> parse_config(const ByteSource& source) {
  Result<std::string> text = whole_text(source);
  if (!text) return text.error();
  JsonScan scan(*text);
  ConfigValues values;
  if (scan.peek() != JsonScan::Kind::object) scan.open_object();
  if (!scan.failed()) flatten(scan, "", 0, values);
  if (!scan.finish()) return not_json(source, scan);
  return values;
}

Result<PipelineIndex> parse_pipeline_index(const ByteSource& source) {
  Result<std::string> text = whole_text(source);
  if (!text) return text.error();
  JsonScan scan(*text);
  PipelineIndex index;
  std::string_view key;
  scan.open_object();
  while (scan.next_member(key)) {
    if (scan.peek() != JsonScan::Kind::array || key.starts_with('_')) {
      if (!flatten(scan, std::string(key), 1, index.values)) break;
      continue;
    }
    std::string class_name;
    if (!component(scan, class_name)) {
      if (scan.failed()) break;
      continue;
    }
    if (class_name.empty() || index.components.size() >= kMaxMetadata) continue;
    const bool plain = !key.empty() && key != "." && key != ".." &&
                       key.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
    if (!plain) {
      return broken(source, scan.offset(),
                    "component " + shown(key) + " is not the name of a sub-folder",
                    "do not use this model: its index leads out of its folder");
    }
    index.components.emplace_back(key, std::move(class_name));
  }
  if (!scan.finish()) return not_json(source, scan);
  index.class_name = value_of(index.values, "_class_name");
  return index;
}

}  // namespace genscope::inspect
