#include "bench/output/page/svg.h"

#include "bench/output/page/draw.h"
#include "bench/output/words.h"

namespace genscope::bench::page {
namespace {

// Dots that would cover one another step aside: up, down, further up, ...
std::vector<double> spread_dots(const std::vector<double>& places) {
  constexpr double kApart = 5, kStep = 4.5;
  std::vector<double> offsets;
  for (std::size_t i = 0; i < places.size(); ++i) {
    int near = 0;
    for (std::size_t k = 0; k < i; ++k) near += std::fabs(places[k] - places[i]) < kApart ? 1 : 0;
    const double side = near % 2 == 1 ? -1 : 1;
    offsets.push_back(side * std::min((near + 1) / 2, 2) * kStep);
  }
  return offsets;
}

constexpr std::size_t kMostDots = 200;
constexpr double kLabel = 28;

void put_axis(std::string& out, std::string_view metric_name, const Scale& x, double top,
              double bottom) {
  double last = -1e9;
  std::string before;  // three digits may not tell two ticks apart
  for (const double value : ticks_of(metric_name, x.low, x.high, 5)) {
    const double at = x(value);
    put(out, "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/>",
        at, top, bottom);
    const std::string label = figure(metric_name, value);
    if (at - last < 70 || at > kChartWidth - 30 || label == before) continue;
    last = at;
    before = label;
    put(out, "<text class=\"tick\" x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", at, bottom + 14,
        xml_text(label));
  }
}

void put_strip(std::string& out, std::string_view metric_name, const Strip& strip, const Scale& x,
               double y) {
  put(out, "<text class=\"side {}\" x=\"4\" y=\"{:.0f}\">{}</text>", strip.css, y + 4,
      xml_text(strip.label));
  if (strip.interval) {
    const double from = x(strip.interval->low), to = x(strip.interval->high);
    put(out,
        "<rect class=\"ci {}\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"24\" "
        "rx=\"3\">{}</rect>",
        strip.css, from, y - 12, std::max(to - from, 1.0),
        title(fmt::format("{:.0f} % interval of the median: {}", strip.interval->confidence * 100,
                          interval_words(metric_name, strip.interval))));
  }
  std::vector<double> places;
  for (std::size_t i = 0; i < std::min(strip.values.size(), kMostDots); ++i) {
    if (std::isfinite(strip.values[i])) places.push_back(x(strip.values[i]));
  }
  const std::vector<double> offsets = spread_dots(places);
  for (std::size_t i = 0; i < places.size(); ++i) {
    put(out, "<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", strip.css, places[i],
        y + offsets[i]);
  }
  if (!strip.median) return;
  put(out,
      "<line class=\"median {0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.0f}\" "
      "y2=\"{3:.0f}\">{4}</line>",
      strip.css, x(*strip.median), y - 14, y + 14,
      title("median " + figure(metric_name, *strip.median)));
}

}  // namespace

std::vector<double> ticks(double low, double high, std::size_t count) {
  std::vector<double> out;
  if (!(high > low) || !std::isfinite(high - low) || count == 0) return out;
  const double raw = (high - low) / static_cast<double>(count);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (step < raw) step = factor * power;
  }
  if (!(step > 0)) return out;
  for (double value = std::ceil(low / step) * step; value <= high && out.size() < 50;
       value += step) {
    out.push_back(std::fabs(value) < step * 1e-9 ? 0 : value);
  }
  return out;
}

std::vector<double> ticks_of(std::string_view metric_name, double low, double high,
                             std::size_t count) {
  double unit = 1;
  if (metric(metric_name).unit == "bytes") {
    while (high / unit >= 1024) unit *= 1024;
  }
  std::vector<double> out = ticks(low / unit, high / unit, count);
  for (double& value : out) value *= unit;
  return out;
}

std::string strip_chart(std::string_view metric_name, const std::vector<Strip>& strips) {
  Range range;
  for (const Strip& strip : strips) {
    for (const double value : strip.values) range.add(value);
    if (strip.interval) {
      range.add(strip.interval->low);
      range.add(strip.interval->high);
    }
  }
  if (!range.any) return "";
  range.pad(0.06);
  const Scale x{range.low, range.high, kLabel, kChartWidth - 8};
  const double row = 38, bottom = 6 + row * static_cast<double>(strips.size());
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"values of {}\">",
                  kChartWidth, bottom + 20, xml_text(metric_name));
  put_axis(out, metric_name, x, 4, bottom);
  for (std::size_t i = 0; i < strips.size(); ++i) {
    put_strip(out, metric_name, strips[i], x, 6 + row * (static_cast<double>(i) + 0.5));
  }
  return out + "</svg>";
}

std::string change_bar(const Comparison& c, double reach) {
  const Judgement& j = c.judgement;
  if (!j.interval || !j.ratio || !(reach > 0)) return "";
  constexpr double kBar = 160;
  const Scale x{-reach, reach, 2, kBar - 2};
  const auto place = [&](double ratio) { return x(std::log(ratio)); };
  std::string out = fmt::format("<svg class=\"bar\" viewBox=\"0 0 {:.0f} 18\" role=\"img\">", kBar);
  out += title(interval_words(c));
  const double floor = std::log1p(j.floor);
  put(out, "<rect class=\"floor\" x=\"{:.1f}\" y=\"2\" width=\"{:.1f}\" height=\"14\"/>", x(-floor),
      x(floor) - x(-floor));
  put(out, "<line class=\"zero\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"1\" y2=\"17\"/>", x(0));
  const double from = place(j.interval->low), to = place(j.interval->high);
  put(out, "<rect class=\"range {}\" x=\"{:.1f}\" y=\"7\" width=\"{:.1f}\" height=\"4\" rx=\"2\"/>",
      name(j.verdict), from, std::max(to - from, 2.0));
  put(out, "<circle class=\"range {}\" cx=\"{:.1f}\" cy=\"9\" r=\"4\"/>", name(j.verdict),
      place(*j.ratio));
  return out + "</svg>";
}

}  // namespace genscope::bench::page
