// The script of the double: what each device says at which time. The format is described at the
// top of nvml_double.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nvml_double {

// A value over time: steps, straight lines between points, or the integral of another one.
struct Series {
  enum class Kind { steps, ramp, integral } kind = Kind::steps;
  struct Point {
    double seconds = 0;
    std::string text;
  };
  std::vector<Point> points;
};

class Scenario {
 public:
  // False if the file cannot be read or holds a line that is not understood; `error` says which.
  bool read(const char* path, std::string& error);

  // `who` is "0" for a device, "0.1" for its MIG instance 1, "system" for the library.
  const Series* find(const std::string& who, const std::string& key) const;
  bool number(const std::string& who, const std::string& key, double seconds, double& value) const;
  std::string text(const std::string& who, const std::string& key, double seconds) const;
  int devices() const { return devices_; }
  bool virtual_time() const { return virtual_time_; }

 private:
  bool take_line(std::string_view line);
  double at(const std::string& who, const Series& series, double seconds) const;

  std::map<std::string, Series> series_;  // "who key"
  int devices_ = 0;
  bool virtual_time_ = false;
};

}  // namespace nvml_double
