// Reads JSON value by value, into whatever the caller has: no tree in between. Strict: what is not
// JSON, or not of the type that is asked for, is an error that names file, line and field.
//
// The first error stays; from then on nothing is read, loops end and values stay as they are. So
// callers read on and look at error() once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/error.h>

namespace genscope::bench {

class JsonReader {
 public:
  static constexpr std::size_t kMaxDepth = 32;
  // Elements and members of all arrays and objects: what memory a hostile file can make us take.
  static constexpr std::size_t kMaxValues = 40'000'000;
  static constexpr std::size_t kMaxObjects = 4'000'000;

  // Both outlive the reader.
  JsonReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  bool ok() const noexcept { return !error_; }
  const std::optional<Error>& error() const noexcept { return error_; }

  // Calls f(key) for each member; f reads or skips the value. `key` lives as long as the call.
  template <class F>
  void members(F&& f) {
    if (!open('{', "an object")) return;
    for (std::string key; next_member(key);) {
      path_.push_back({std::string_view(key), 0});
      f(std::string_view(key));
      path_.pop_back();
      if (!ok()) return;
    }
  }
  // Calls f() for each element.
  template <class F>
  void elements(F&& f) {
    if (!open('[', "an array")) return;
    for (std::size_t i = 0; next_element(i); ++i) {
      path_.push_back({{}, i});
      f();
      path_.pop_back();
      if (!ok()) return;
    }
  }

  void read(std::string& out);
  void read(double& out);
  void read(bool& out);
  void read(std::int64_t& out);
  void read(std::uint64_t& out);
  void read(std::uint32_t& out);
  void read(int& out);
  void thousandfold(double& out);  // the number's thousandth, exactly what JsonWriter was given
  bool null();                     // takes null if it is the next value
  bool is_text();                  // whether the next value is a string
  bool is_object();
  void skip();    // any value
  void finish();  // nothing but blanks may follow

  // "result.json: cells[3].id, line 7: <what>". Only the first stays.
  void fail(std::string_view what);

 private:
  struct Step {
    std::string_view name;  // of a key that members() holds; no data: an index
    std::size_t index = 0;
  };

  bool open(char bracket, std::string_view wanted);
  bool next_member(std::string& key);
  bool next_element(std::size_t index);
  bool close_or_comma(char close, bool first);
  void blanks();
  char peek();
  std::string_view number_text();
  std::optional<double> special_number();
  bool convert(std::string_view text, double& out);
  bool quoted(std::string& out);
  bool escape(std::string& out);
  std::optional<std::uint32_t> four_hex();
  void wrong(std::string_view wanted);
  void too_many(std::string_view what, std::size_t limit);

  std::string_view text_, file_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0, values_ = 0, objects_ = 0;
  bool first_ = false;  // an object or array was just opened
  std::vector<Step> path_;
  std::optional<Error> error_;
};

}  // namespace genscope::bench
