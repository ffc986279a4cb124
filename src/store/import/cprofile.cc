#include "store/import/formats.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <queue>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "store/import/python_values.h"
#include "store/import/whole_file.h"

// The file is a dict: (file, line, function) to (primitive calls, calls, own seconds, seconds with
// what it called, {caller: (calls, primitive calls, own, with callees)}). So it knows how long each
// function took for each of its direct callers, and not when. Spans are made of that as a tree of
// callers: what a function took for a caller is measured; what that became further down is shared
// out in proportion. The parts of a function add up to its measured figures, whatever the shares
// are. Spans stand one after another, the longest first: begins mean nothing.
//
// A function that calls many others has as many places in the tree as there are ways to it: the
// longest kMostPlaces are made, the rest stays in the own time of its callers. So does what is
// called within itself: cProfile counts the outermost call only.
namespace genscope::store {
namespace {

constexpr std::size_t kMostPlaces = 100'000;
constexpr std::size_t kDeepestPlace = 400;
constexpr double kLongestSeconds = 1e9;  // 31 years

struct Function {
  std::string name;  // as Kineto writes a function of Python: "gen.py(3): denoise"
  std::string_view file;
  std::int64_t line = 0;
  std::int64_t calls = 0, primitive_calls = 0;
  double own = 0, total = 0;
};

// From one function to another, as measured.
struct Edge {
  std::uint32_t callee = 0;
  double own = 0, total = 0;
};

struct Place {
  std::uint32_t function = 0;
  std::uint32_t parent = kNone;  // a place
  double own = 0, total = 0;
  std::size_t depth = 0;
  std::vector<std::uint32_t> children;
};

class CallTree {
 public:
  CallTree(const PythonValues& values, ForeignRead& told) : values_(values), told_(told) {}

  Status read();
  void emit(ChromeHandler& handler);

 private:
  static Error bad(const std::string& what) { return {ErrorCode::bad_data, what}; }
  // The number of a function by its key; nothing if it is no key.
  std::optional<std::uint32_t> function(std::uint32_t key);
  bool figures(std::uint32_t row, std::size_t first, double& own, double& total) const;
  void grow();
  bool within_itself(std::uint32_t place, std::uint32_t function) const;
  std::uint32_t add_place(std::uint32_t function, std::uint32_t parent, double own, double total);

  const PythonValues& values_;
  ForeignRead& told_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<Function> functions_;
  std::vector<std::vector<Edge>> callees_;
  std::vector<double> called_;  // seconds of each function that some caller accounts for
  std::vector<Place> places_;
  std::vector<std::uint32_t> roots_;
};

std::optional<std::uint32_t> CallTree::function(std::uint32_t key) {
  const std::vector<std::uint32_t>& parts = values_.of(key);
  if (values_.kind(key) != PythonValues::Kind::tuple || parts.size() != 3) return std::nullopt;
  const auto line = values_.integer_of(parts[1]);
  if (values_.kind(parts[0]) != PythonValues::Kind::text || !line ||
      values_.kind(parts[2]) != PythonValues::Kind::text) {
    return std::nullopt;
  }
  const std::string_view file = values_.text(parts[0]);
  const std::string_view called = values_.text(parts[2]);
  const auto [at, fresh] = numbers_.try_emplace(fmt::format("{}\n{}\n{}", file, *line, called),
                                                static_cast<std::uint32_t>(functions_.size()));
  if (fresh) {
    Function f;
    f.line = *line;
    if (file == "~") {  // what is written in C
      f.name = called;
    } else {
      f.file = file;
      f.name = fmt::format("{}({}): {}", file.substr(file.find_last_of('/') + 1), *line, called);
    }
    functions_.push_back(std::move(f));
    callees_.emplace_back();
    called_.push_back(0);
  }
  return at->second;
}

// Seconds of a row's third and fourth place; false if they cannot be.
bool CallTree::figures(std::uint32_t row, std::size_t first, double& own, double& total) const {
  const std::vector<std::uint32_t>& parts = values_.of(row);
  const auto a = values_.number_of(parts[first]), b = values_.number_of(parts[first + 1]);
  if (!a || !b || std::abs(*a) > kLongestSeconds || std::abs(*b) > kLongestSeconds) return false;
  own = std::max(*a, 0.0);
  total = std::max(*b, own);
  return true;
}

Status CallTree::read() {
  using Kind = PythonValues::Kind;
  if (values_.kind(values_.root) != Kind::dict) {
    return bad(fmt::format("it is no profile of cProfile: it holds {}, not a dict of functions",
                           name(values_.kind(values_.root))));
  }
  const std::vector<std::uint32_t>& rows = values_.of(values_.root);
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    const auto number = function(rows[i]);
    const std::vector<std::uint32_t>& row = values_.of(rows[i + 1]);
    double own = 0, total = 0;
    if (!number) {
      told_.complain("a function's key is not (file, line, name)");
      continue;
    }
    if (row.size() != 5 || !figures(rows[i + 1], 2, own, total) || !values_.integer_of(row[0]) ||
        !values_.integer_of(row[1])) {
      told_.complain(
          fmt::format("\"{}\" has not the five figures of a function", functions_[*number].name));
      continue;
    }
    Function& f = functions_[*number];
    f.primitive_calls = *values_.integer_of(row[0]);
    f.calls = *values_.integer_of(row[1]);
    f.own = own;
    f.total = total;
    const std::vector<std::uint32_t>& callers = values_.of(row[4]);
    for (std::size_t k = 0; values_.kind(row[4]) == Kind::dict && k + 1 < callers.size(); k += 2) {
      const auto caller = function(callers[k]);
      const std::vector<std::uint32_t>& edge = values_.of(callers[k + 1]);
      if (values_.kind(callers[k + 1]) == Kind::integer) {
        told_.notes.assign(
            {"the module `profile` wrote this file: it does not tell how long a "
             "function took for each caller, so each stands by itself; cProfile "
             "tells"});
      } else if (!caller || edge.size() != 4 || !figures(callers[k + 1], 2, own, total)) {
        told_.complain("a caller has not its four figures");
      } else if (*caller != *number) {
        callees_[*caller].push_back({*number, own, total});
        called_[*number] += total;
      }
    }
  }
  if (functions_.empty() && !rows.empty()) {
    return bad("it is no profile of cProfile: no key in it is (file, line, name)");
  }
  grow();
  return Done{};
}

bool CallTree::within_itself(std::uint32_t place, std::uint32_t function) const {
  for (; place != kNone; place = places_[place].parent) {
    if (places_[place].function == function) return true;
  }
  return false;
}

std::uint32_t CallTree::add_place(std::uint32_t function, std::uint32_t parent, double own,
                                  double total) {
  const auto number = static_cast<std::uint32_t>(places_.size());
  Place place;
  place.function = function;
  place.parent = parent;
  place.own = own;
  place.total = total;
  place.depth = parent == kNone ? 0 : places_[parent].depth + 1;
  places_.push_back(std::move(place));
  (parent == kNone ? roots_ : places_[parent].children).push_back(number);
  return number;
}

void CallTree::grow() {
  constexpr double kShortest = 0.5e-9;  // no span is shorter than 1 ns
  using Open = std::pair<double, std::uint32_t>;
  std::priority_queue<Open> open;  // the longest first
  for (std::uint32_t f = 0; f < functions_.size(); ++f) {
    const double total = functions_[f].total;
    const double rest = total - called_[f];  // what nobody called, or the profile began within
    if (total <= 0 || rest < std::max(kShortest, 1e-9 * total)) continue;
    open.emplace(rest, add_place(f, kNone, functions_[f].own * rest / total, rest));
  }
  std::size_t left_out = 0;
  while (!open.empty()) {
    const std::uint32_t at = open.top().second;
    open.pop();
    const std::uint32_t caller = places_[at].function;
    double all = 0;  // of what it calls, wherever it was called from
    for (const Edge& edge : callees_[caller]) all += edge.total;
    const double here = std::max(places_[at].total - places_[at].own, 0.0);
    const double share = all > 0 ? std::min(here / all, 1.0) : 0;
    for (const Edge& edge : callees_[caller]) {
      const double total = edge.total * share;
      if (total < kShortest || within_itself(at, edge.callee)) continue;
      if (places_.size() >= kMostPlaces || places_[at].depth >= kDeepestPlace) {
        left_out++;
        continue;
      }
      open.emplace(total, add_place(edge.callee, at, edge.own * share, total));
    }
  }
  if (left_out > 0) {
    told_.notes.push_back(fmt::format(
        "{} places of the tree of callers were left out: their time is in their callers'",
        left_out));
  }
}

void CallTree::emit(ChromeHandler& handler) {
  Emitter out(handler, told_);
  out.start('M', "thread_name", "", 0).on("1").text("name", "cProfile").send();
  const auto ns = [](double seconds) -> std::int64_t { return std::llround(seconds * 1e9); };
  const auto longest_first = [&](std::vector<std::uint32_t>& of) {
    std::stable_sort(of.begin(), of.end(), [&](std::uint32_t a, std::uint32_t b) {
      return places_[a].total > places_[b].total;
    });
  };
  // Without recursion: the end of each place is that of what comes next.
  std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> todo;  // place, begin, end
  const auto lay_out = [&](std::vector<std::uint32_t>& places, std::int64_t begin,
                           std::int64_t end) {
    longest_first(places);
    for (const std::uint32_t place : places) {
      const std::int64_t length = std::min(ns(places_[place].total), end - begin);
      todo.emplace_back(place, begin, begin + length);
      begin += length;
    }
  };
  lay_out(roots_, 0, std::int64_t{1} << 62);
  while (!todo.empty()) {
    const auto [at, begin, end] = todo.back();
    todo.pop_back();
    Place& place = places_[at];
    const Function& f = functions_[place.function];
    out.start('X', f.name, "python_function", begin)
        .on("1")
        .lasting(end - begin)
        .number("calls", f.calls)
        .number("own_seconds", f.own)
        .number("total_seconds", f.total);
    if (f.primitive_calls != f.calls) out.number("primitive_calls", f.primitive_calls);
    out.text("file", f.file);
    if (!f.file.empty()) out.number("line", f.line);
    out.send();
    lay_out(place.children, begin, end);
  }
  if (!places_.empty()) {
    told_.notes.push_back(
        "cProfile keeps totals: a span stands for all calls of a function from one place, its "
        "length is true, its begin is not; `calls` counts them");
  }
}

}  // namespace

Result<ForeignRead> read_cprofile(const std::string& path, const ImportOptions& options,
                                  ChromeHandler& handler) {
  const Result<std::string> bytes = whole_file(path, options, "a profile of cProfile");
  if (!bytes.ok()) return bytes.error();
  const Result<PythonValues> values = read_marshal(*bytes);
  if (!values.ok()) {
    return Error{values.error().code,
                 fmt::format("{}: the profile of cProfile cannot be read: {}; write it anew with "
                             "`python -m cProfile -o FILE`",
                             path, values.error().message)};
  }
  ForeignRead told;
  told.bytes = bytes->size();
  CallTree tree(*values, told);
  if (const Status done = tree.read(); !done) {
    return Error{done.error().code, path + ": " + done.error().message};
  }
  tree.emit(handler);
  return told;
}

}  // namespace genscope::store
