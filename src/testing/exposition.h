// A strict reader of the Prometheus text format 0.0.4, with the rules of `promtool check metrics`.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace genscope::testing {

class Exposition {
 public:
  // What is wrong with `text`, the first thing found; "" if nothing is.
  static std::string problem_of(std::string_view text) { return Exposition().read(text); }

 private:
  std::string read(std::string_view text) {
    if (base::to_utf8(text) != text) return "it is not UTF-8";
    if (!text.empty() && text.back() != '\n') return "the last line has no end";
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(line.size() + 1);
      const std::string wrong = line.starts_with("#") ? comment(line) : sample(line);
      if (!wrong.empty()) return wrong + ": " + std::string(line);
    }
    return open_buckets();
  }

  static bool is_name(std::string_view name, bool of_label) {
    const auto fits = [&](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || (c == ':' && !of_label);
    };
    return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
           std::all_of(name.begin(), name.end(), fits);
  }

  std::string comment(std::string_view line) {
    const bool help = line.starts_with("# HELP ");
    if (!help && !line.starts_with("# TYPE ")) return "neither HELP nor TYPE";
    line.remove_prefix(7);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || space + 1 == line.size()) return "a part is missing";
    const std::string name(line.substr(0, space));
    const std::string_view rest = line.substr(space + 1);
    if (help) {
      if (!is_name(name, false)) return "not a name";
      if (!families_.insert(name).second) return "a family comes twice";
      if (rest.find('\\') != std::string_view::npos) return "an escape in HELP";
      family_ = name;
      typed_ = false;
      return "";
    }
    if (name != family_ || typed_) return "TYPE without its HELP";
    typed_ = true;
    histogram_ = rest == "histogram";
    if (const std::string wrong = open_buckets(); !wrong.empty()) return wrong;
    return lint(name, rest);
  }

  // Of a histogram's series, by its labels without `le`.
  struct Buckets {
    double bound = -1, upto = 0;  // of the last bucket
    bool ended = false;           // +Inf was there
    bool sum = false, count = false;
  };

  // What histograms lack that ended.
  std::string open_buckets() {
    for (const auto& [labels, buckets] : buckets_) {
      if (!buckets.ended || !buckets.sum || !buckets.count) return "an incomplete histogram";
    }
    buckets_.clear();
    return "";
  }

  std::string histogram_sample(std::string_view ending, std::vector<std::string> labels,
                               double value) {
    std::string le;
    std::erase_if(labels, [&](const std::string& label) {
      if (!label.starts_with("le=")) return false;
      le = label.substr(4, label.size() - 5);
      return true;
    });
    std::string series;
    for (const std::string& label : labels) series += label + "\n";
    Buckets& of = buckets_[series];
    if (ending == "_sum") of.sum = true;
    if (ending == "_count") {
      if (!of.ended || value != of.upto) return "the count is not that of the last bucket";
      of.count = true;
    }
    if (ending != "_bucket") return le.empty() ? "" : "le outside a bucket";
    double bound = 0;
    if (le == "+Inf") {
      of.ended = true;
    } else if (of.ended ||
               std::from_chars(le.data(), le.data() + le.size(), bound).ec != std::errc() ||
               bound <= of.bound) {
      return "bounds of buckets rise up to +Inf";
    }
    if (value < of.upto) return "counts of buckets do not rise";
    of.bound = bound;
    of.upto = value;
    return "";
  }

  static std::string lint(std::string_view name, std::string_view type) {
    if (type != "counter" && type != "gauge" && type != "histogram") return "a type we do not use";
    if (name.ends_with("_total") != (type == "counter")) return "_total and counter go together";
    for (const char* const ending : {"_count", "_sum", "_bucket"}) {
      if (name.ends_with(ending)) return "an ending of histograms";
    }
    for (const char* const word : {"counter", "gauge", "histogram", "summary"}) {
      if (name.find(word) != std::string_view::npos) return "a type in the name";
    }
    for (const char* const unit : {"_s", "_ms", "_us", "_ns", "_sec", "_b", "_kb", "_mb", "_gb"}) {
      if (name.ends_with(unit)) return "an abbreviated unit";
    }
    for (const char* const unit : {"milli", "micro", "nano", "kilo", "mega", "minutes", "hours"}) {
      if (name.find(unit) != std::string_view::npos) return "not a base unit";
    }
    const auto large = [](unsigned char c) { return std::isupper(c) != 0; };
    return std::any_of(name.begin(), name.end(), large) ? "camel case" : "";
  }

  std::string sample(std::string_view line) {
    const std::size_t end = line.find_first_of("{ ");
    if (end == std::string_view::npos) return "no value";
    std::string series(line.substr(0, end));
    std::string ending;
    if (histogram_ && series.starts_with(family_)) ending = series.substr(family_.size());
    const bool part = ending == "_bucket" || ending == "_sum" || ending == "_count";
    if (!typed_ || (histogram_ ? !part : series != family_)) return "a sample outside its family";
    line.remove_prefix(end);
    std::vector<std::string> labels;
    if (line.starts_with('{')) {
      if (const std::string wrong = read_labels(line, labels); !wrong.empty()) return wrong;
      std::sort(labels.begin(), labels.end());
      for (const std::string& label : labels) series += "\n" + label;
    }
    if (!series_.insert(series).second) return "a series comes twice";
    if (!line.starts_with(' ')) return "no space before the value";
    line.remove_prefix(1);
    double value = 0;
    const auto [last, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    const bool number = error == std::errc() && last == line.data() + line.size();
    if (!number) return "the value is no number";
    return histogram_ ? histogram_sample(ending, std::move(labels), value) : "";
  }

  // From "{" to behind "}".
  static std::string read_labels(std::string_view& line, std::vector<std::string>& labels) {
    std::set<std::string> names;
    do {
      line.remove_prefix(1);
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) return "a label without a value";
      const std::string name(line.substr(0, equals));
      if (!is_name(name, true) || name.starts_with("__")) return "not a label's name";
      if (!names.insert(name).second) return "a label comes twice";
      line.remove_prefix(equals + 1);
      if (!line.starts_with('"')) return "a label's value has no quotes";
      std::size_t at = 1;
      for (; at < line.size() && line[at] != '"'; ++at) {
        if (line[at] != '\\') continue;
        if (++at == line.size() || std::string_view("\\\"n").find(line[at]) == std::string::npos) {
          return "a wrong escape";
        }
      }
      if (at >= line.size()) return "a label's value does not end";
      labels.push_back(name + "=" + std::string(line.substr(0, at + 1)));
      line.remove_prefix(at + 1);
    } while (line.starts_with(','));
    if (!line.starts_with('}')) return "the labels do not end";
    line.remove_prefix(1);
    return "";
  }

  std::set<std::string> families_, series_;
  std::string family_;
  bool typed_ = false, histogram_ = false;
  std::map<std::string, Buckets> buckets_;
};

}  // namespace genscope::testing
