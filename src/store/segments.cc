#include "store/segments.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/file.h"

namespace genscope::store {
namespace {

namespace fs = std::filesystem;

struct SegmentName {
  std::string stem;  // "trace-7-0"
  unsigned number = 0;
};

std::optional<SegmentName> parse(const std::string& file_name) {
  constexpr std::string_view kEnding = ".gst";
  std::string_view name = file_name;
  if (!name.starts_with("trace-") || !name.ends_with(kEnding)) return std::nullopt;
  name.remove_suffix(kEnding.size());
  SegmentName out;
  const std::size_t dot = name.find('.');
  out.stem = name.substr(0, dot);
  if (dot == std::string_view::npos) return out;
  const std::string_view digits = name.substr(dot + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), out.number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return out;
}

}  // namespace

Result<TraceFiles> list_trace_files(const std::string& folder) {
  TraceFiles found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (const auto name = parse(it->path().filename().string())) {
      found[name->stem][name->number] = it->path().string();
    }
  }
  if (error) return base::errno_error("cannot list", folder, error.value());
  return found;
}

TraceFiles trace_files(const std::string& folder) {
  Result<TraceFiles> found = list_trace_files(folder);
  return found ? std::move(*found) : TraceFiles{};
}

std::vector<std::string> segments_of(const std::string& path) {
  const fs::path p(path);
  const auto name = parse(p.filename().string());
  if (!name) return {path};
  fs::path folder = p.parent_path();
  if (folder.empty()) folder = ".";
  std::vector<std::string> out;
  TraceFiles found = trace_files(folder.string());
  for (const auto& [number, file] : found[name->stem]) out.push_back(file);
  if (out.empty()) out.push_back(path);
  return out;
}

std::vector<std::vector<std::string>> traces_in(const std::string& folder) {
  std::vector<std::vector<std::string>> out;
  for (auto& [stem, segments] : trace_files(folder)) {
    std::vector<std::string>& paths = out.emplace_back();
    for (const auto& [number, file] : segments) paths.push_back(file);
  }
  return out;
}

}  // namespace genscope::store
