// Section: one map of a suite file. Each read names a key, what it should be and where it goes; a
// key that nobody read is unknown. Mistakes are collected, so that reading goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/suite/mistakes.h"
#include "config/yaml.h"

namespace genscope::bench {

class Section {
 public:
  // `path` begins the messages: "defaults.stop". What is no map is a mistake; null is empty.
  Section(const config::YamlValue& value, std::string path, Mistakes& mistakes);
  // Unknown names are mistakes, with the nearest that was asked for.
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  int line() const noexcept { return value_.line; }
  const std::string& path() const noexcept { return path_; }
  bool has(std::string_view name) const noexcept;
  // The value, for the caller to read; null: not there.
  const config::YamlValue* any(const char* name);
  // True if the key is there and in order; else `out` stays.
  bool text(const char* name, std::string& out);
  bool word(const char* name, std::string& out, const std::vector<std::string>& words);
  bool flag(const char* name, bool& out);
  bool number(const char* name, double& out, double low, double high);
  bool number(const char* name, std::optional<double>& out, double low, double high);
  bool count(const char* name, std::size_t& out, std::size_t low, std::size_t high);
  bool integer(const char* name, std::uint64_t& out);
  bool duration(const char* name, std::optional<double>& out);  // seconds, above 0
  bool share(const char* name, double& out);                    // "2%", "0.02"
  bool share(const char* name, std::optional<double>& out);
  bool quantity(const char* name, std::optional<double>& out, std::string_view metric);
  bool texts(const char* name, std::vector<std::string>& out);  // a list, or one text
  bool pairs(const char* name, std::vector<std::pair<std::string, std::string>>& out);  // a map

  void wrong(int line, std::string_view name, std::string_view what);

 private:
  const config::YamlValue* find(std::string_view name) const noexcept;
  // "expected a number ..., found 'x'"; always false.
  bool expected(const char* name, const config::YamlValue& value, std::string_view what);

  const config::YamlValue& value_;
  std::string path_;
  Mistakes& mistakes_;
  std::vector<std::string> asked_;
};

}  // namespace genscope::bench
