#include "scenario.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace nvml_double {

namespace {

double number_of(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// Of straight lines through `points` from time 0 to `seconds`; flat before and after them.
double integral(const std::vector<Series::Point>& points, double seconds, bool ramp) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double from = i == 0 ? 0 : points[i].seconds;
    const bool last = i + 1 == points.size();
    const double to = last ? seconds : std::min(seconds, points[i + 1].seconds);
    if (to <= from) break;
    const double first = number_of(points[i].text);
    double slope = 0;
    if (ramp && !last) {
      slope = (number_of(points[i + 1].text) - first) / (points[i + 1].seconds - points[i].seconds);
    }
    sum += (to - from) * (first + slope * (to - from) / 2);
  }
  return sum;
}

}  // namespace

bool Scenario::read(const char* path, std::string& error) {
  std::ifstream file(path);
  if (!file) {
    error = std::string("cannot read ") + path;
    return false;
  }
  *this = {};
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (take_line(line)) continue;
    error = std::string(path) + ":" + std::to_string(number) + ": " + line;
    return false;
  }
  return true;
}

bool Scenario::take_line(std::string_view line) {
  line = line.substr(0, line.find('#') == 0 ? 0 : line.size());
  std::istringstream words{std::string(line)};
  std::string who, key, word;
  if (!(words >> who)) return true;
  if (who == "devices") return static_cast<bool>(words >> devices_);
  if (who == "time") {
    words >> word;
    virtual_time_ = word == "virtual";
    return virtual_time_ || word == "real";
  }
  if (!(words >> key)) return false;
  Series series;
  while (words >> word) {
    if (word == "=") {  // the rest is text
      std::string rest;
      std::getline(words >> std::ws, rest);
      series.points = {{0, rest}};
      break;
    }
    if (word == "ramp") {
      series.kind = Series::Kind::ramp;
    } else if (word == "integral") {
      series.kind = Series::Kind::integral;
    } else if (const std::size_t colon = word.find(':'); colon != std::string::npos) {
      series.points.push_back({number_of(word.substr(0, colon)), word.substr(colon + 1)});
    } else {
      series.points.push_back({0, word});
    }
  }
  if (series.points.empty()) return false;
  series_[who + " " + key] = std::move(series);
  return true;
}

const Series* Scenario::find(const std::string& who, const std::string& key) const {
  auto it = series_.find(who + " " + key);
  if (it == series_.end() && who.find('.') == std::string::npos && who != "system") {
    it = series_.find("* " + key);
  }
  return it != series_.end() ? &it->second : nullptr;
}

double Scenario::at(const std::string& who, const Series& series, double seconds) const {
  if (series.kind == Series::Kind::integral) {
    const Series* const of = find(who, series.points[0].text);
    return of == nullptr ? 0 : integral(of->points, seconds, of->kind == Series::Kind::ramp);
  }
  std::size_t i = 0;
  while (i + 1 < series.points.size() && series.points[i + 1].seconds <= seconds) ++i;
  const double value = number_of(series.points[i].text);
  if (series.kind == Series::Kind::steps || i + 1 == series.points.size()) return value;
  const double span = series.points[i + 1].seconds - series.points[i].seconds;
  const double share = std::max(0.0, (seconds - series.points[i].seconds) / span);
  return value + share * (number_of(series.points[i + 1].text) - value);
}

bool Scenario::number(const std::string& who, const std::string& key, double seconds,
                      double& value) const {
  const Series* const series = find(who, key);
  if (series == nullptr) return false;
  value = at(who, *series, seconds);
  return true;
}

std::string Scenario::text(const std::string& who, const std::string& key, double seconds) const {
  const Series* const series = find(who, key);
  if (series == nullptr) return {};
  std::size_t i = 0;
  while (i + 1 < series->points.size() && series->points[i + 1].seconds <= seconds) ++i;
  return series->points[i].text;
}

}  // namespace nvml_double
