#include "bench/history/decisions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/checksum.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "bench/result/json_reader.h"
#include "bench/result/json_writer.h"
#include "bench/result/timestamp.h"

namespace genscope::bench {
namespace {

constexpr std::size_t kDecisionLimit = std::size_t{1} << 20;  // bytes of a file

std::string baseline_folder(const std::string& runs) { return runs + "/bench/baselines"; }
std::string accepted_folder(const std::string& runs) { return runs + "/bench/accepted"; }

// A flat object of texts.
Result<std::map<std::string, std::string>> read_texts(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kDecisionLimit);
  if (!text) return text.error();
  std::map<std::string, std::string> values;
  JsonReader reader(*text, path);
  reader.members([&](std::string_view key) {
    if (reader.is_text()) {
      reader.read(values[std::string(key)]);
    } else {
      reader.skip();
    }
  });
  reader.finish();
  if (reader.error()) return *reader.error();
  return values;
}

Status write_texts(const std::string& folder, const std::string& file,
                   const std::vector<std::pair<const char*, std::string>>& values) {
  if (const Status made = base::make_directories(folder); !made) return made;
  std::string text;
  JsonWriter writer(text);
  writer.begin('{');
  for (const auto& [key, value] : values) {
    writer.key(key);
    writer.text(value);
  }
  writer.end('}');
  return base::write_file(folder + "/" + file, text + "\n");
}

// Calls take(values) for each readable file; others are problems.
template <class Take>
void for_each_file(const std::string& folder, std::vector<std::string>& problems,
                   const Take& take) {
  std::error_code missing;
  for (const auto& item : std::filesystem::directory_iterator(folder, missing)) {
    const std::string path = item.path().string();
    if (item.path().extension() != ".json") continue;
    const auto values = read_texts(path);
    if (!values) {
      problems.push_back(values.error().message);
    } else {
      take(item.path().stem().string(), *values);
    }
  }
}

std::int64_t made_us(const std::map<std::string, std::string>& values) {
  const auto found = values.find("made");
  if (found == values.end()) return 0;
  return parse_timestamp(found->second).value_or(0) / 1000;
}

std::string value_at(const std::map<std::string, std::string>& values, const char* key) {
  const auto found = values.find(key);
  return found != values.end() ? found->second : std::string();
}

}  // namespace

Decisions read_decisions(const std::string& runs) {
  Decisions all;
  using Values = std::map<std::string, std::string>;
  for_each_file(
      baseline_folder(runs), all.problems, [&](const std::string& name, const Values& values) {
        all.baselines.push_back(
            {name, value_at(values, "result"), made_us(values), value_at(values, "note")});
      });
  for_each_file(accepted_folder(runs), all.problems, [&](const std::string&, const Values& values) {
    all.accepted.push_back({value_at(values, "result"), value_at(values, "cell"),
                            value_at(values, "metric"), made_us(values), value_at(values, "note")});
  });
  std::ranges::sort(all.baselines, {}, &BaselineRow::name);
  std::ranges::sort(all.accepted, {},
                    [](const AcceptedRow& row) { return std::tie(row.run, row.cell, row.metric); });
  return all;
}

Status check_baseline_name(const std::string& name) {
  if (name.empty() || name.size() > 64 || base::file_name_from(name, 64) != name ||
      name.starts_with('.') || name.starts_with('-')) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("'{}' cannot name a baseline; use up to 64 letters, digits, '.', '_' "
                             "and '-', e.g. main",
                             base::printable(name))};
  }
  if (name == "last" || name.ends_with(".json")) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("'{}' has a meaning where results are named; choose another name for "
                             "the baseline",
                             name)};
  }
  return Done{};
}

Status write_baseline(const std::string& runs, const BaselineRow& baseline) {
  if (const Status fine = check_baseline_name(baseline.name); !fine) return fine;
  return write_texts(baseline_folder(runs), baseline.name + ".json",
                     {{"schema", "genscope.baseline/1"},
                      {"result", baseline.run},
                      {"made", timestamp(baseline.made_us * 1000)},
                      {"note", baseline.note}});
}

Result<bool> remove_baseline(const std::string& runs, const std::string& name) {
  if (const Status fine = check_baseline_name(name); !fine) return fine.error();
  const std::string path = baseline_folder(runs) + "/" + name + ".json";
  if (std::remove(path.c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  return base::errno_error("cannot remove", path, errno);
}

Status write_accepted(const std::string& runs, const AcceptedRow& accepted) {
  const std::string place = accepted.run + "\n" + accepted.cell + "\n" + accepted.metric;
  return write_texts(accepted_folder(runs),
                     fmt::format("{:016x}.json", base::checksum(place.data(), place.size())),
                     {{"schema", "genscope.accepted/1"},
                      {"result", accepted.run},
                      {"cell", accepted.cell},
                      {"metric", accepted.metric},
                      {"made", timestamp(accepted.made_us * 1000)},
                      {"note", accepted.note}});
}

}  // namespace genscope::bench
