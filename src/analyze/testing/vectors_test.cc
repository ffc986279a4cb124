// The reader of test vectors: the one file that pays for the JSON parser's header.
#include "analyze/testing/vectors.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "test_paths.h"

namespace genscope::testing {
namespace {

using Json = nlohmann::json;

std::string folder() {
  const char* const given = std::getenv("GENSCOPE_VECTORS");
  return given != nullptr && *given != '\0' ? given : GENSCOPE_SOURCE_DIR "/tests/data/vectors";
}

template <class T>
std::vector<T> items_of(const Json& array) {
  std::vector<T> items;
  for (const Json& item : array) items.push_back(item.get<T>());
  return items;
}

void flatten(const Json& value, const std::string& path, VectorCase& out);

void flatten_array(const Json& array, const std::string& path, VectorCase& out) {
  const Json first = array.empty() ? Json(0) : array[0];
  if (first.is_array()) {
    for (const Json& row : array) out.tables[path].push_back(items_of<double>(row));
  } else if (first.is_object()) {
    for (const Json& item : array) {
      VectorCase& row = out.rows[path].emplace_back();
      row.id = out.id + " " + path;
      row.relative = out.relative;
      row.absolute = out.absolute;
      for (const auto& [key, field] : item.items()) flatten(field, key, row);
    }
  } else if (first.is_string()) {
    out.text_lists[path] = items_of<std::string>(array);
  } else {
    out.lists[path] = items_of<double>(array);
  }
}

void flatten(const Json& value, const std::string& path, VectorCase& out) {
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) flatten(item, path + "." + key, out);
    return;
  }
  if (value.is_null()) return;
  if (path.starts_with("out.")) out.unread.insert(path);
  if (value.is_number()) {
    out.numbers[path] = value.get<double>();
  } else if (value.is_boolean()) {
    out.flags[path] = value.get<bool>();
  } else if (value.is_string()) {
    out.texts[path] = value.get<std::string>();
  } else if (value.is_array()) {
    flatten_array(value, path, out);
  }
}

// What `from` has at `path`, or `none` and a failed test.
template <class T>
const T& found_in(const VectorCase& c, const std::map<std::string, T>& from, const char* kind,
                  const std::string& path, const T& none) {
  c.unread.erase(path);
  const auto found = from.find(path);
  if (found != from.end()) return found->second;
  ADD_FAILURE() << "case " << c.id << " has no " << kind << " " << path;
  return none;
}

}  // namespace

bool VectorCase::has(const std::string& path) const {
  return numbers.contains(path) || flags.contains(path) || texts.contains(path) ||
         lists.contains(path) || text_lists.contains(path) || tables.contains(path) ||
         rows.contains(path);
}

double VectorCase::number(const std::string& path) const {
  static const double kNone = std::numeric_limits<double>::quiet_NaN();
  return found_in(*this, numbers, "number", path, kNone);
}

bool VectorCase::flag(const std::string& path) const {
  static const bool kNone = false;
  return found_in(*this, flags, "flag", path, kNone);
}

const std::string& VectorCase::text(const std::string& path) const {
  static const std::string kNone;
  return found_in(*this, texts, "text", path, kNone);
}

const std::vector<double>& VectorCase::list(const std::string& path) const {
  static const std::vector<double> kNone;
  return found_in(*this, lists, "list", path, kNone);
}

const std::vector<std::vector<double>>& VectorCase::table(const std::string& path) const {
  static const std::vector<std::vector<double>> kNone;
  return found_in(*this, tables, "table", path, kNone);
}

const std::vector<VectorCase>& VectorCase::row_list(const std::string& path) const {
  static const std::vector<VectorCase> kNone;
  return found_in(*this, rows, "list of objects", path, kNone);
}

::testing::AssertionResult VectorCase::agrees(const std::string& path, double got) const {
  const double expected = number(path);
  const double error = std::fabs(got - expected);
  if (error <= absolute || error <= relative * std::fabs(expected)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << id << ": " << path << " is " << Json(expected).dump()
                                       << ", got " << Json(got).dump() << ", off by " << error;
}

::testing::AssertionResult VectorCase::agrees(const std::string& path,
                                              const std::vector<double>& got) const {
  const std::vector<double>& expected = list(path);
  bool same = expected.size() == got.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) {
    const double error = std::fabs(got[i] - expected[i]);
    same = error <= absolute || error <= relative * std::fabs(expected[i]);
  }
  if (same) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << id << ": " << path << " is " << Json(expected).dump() << ", got " << Json(got).dump();
}

void VectorCase::expect_all_read() const {
  for (const std::string& path : unread) ADD_FAILURE() << id << ": nothing computes " << path;
}

void VectorFile::expect_all_read() const {
  EXPECT_FALSE(cases.empty());
  for (const VectorCase& c : cases) c.expect_all_read();
}

VectorFile load_vectors(const std::string& family) {
  const std::string path = folder() + "/" + family + ".json";
  std::ifstream in(path);
  const Json json = Json::parse(in, nullptr, false);
  VectorFile file;
  if (!json.is_object() || !json.contains("cases")) {
    ADD_FAILURE() << path << " is no file of vectors; unset GENSCOPE_VECTORS, or name their folder";
    return file;
  }
  file.relative = json["tolerance"].value("rel", 0.0);
  file.absolute = json["tolerance"].value("abs", 0.0);
  for (const Json& item : json["cases"]) {
    VectorCase c;
    c.id = item.value("id", "");
    c.function = item.value("fn", "");
    const Json own = item.value("tol", Json::object());
    c.relative = own.value("rel", file.relative);
    c.absolute = own.value("abs", own.contains("rel") ? 0.0 : file.absolute);
    flatten(item["in"], "in", c);
    flatten(item["out"], "out", c);
    file.cases.push_back(std::move(c));
  }
  return file;
}

namespace {

TEST(Vectors, AreReadWithTheirTolerance) {
  const VectorFile file = load_vectors("sample_size");
  ASSERT_FALSE(file.cases.empty());
  EXPECT_EQ(file.relative, 1e-9);
  EXPECT_EQ(file.absolute, 0);
  for (const VectorCase& c : file.cases) {
    // R searches this one only so far, and the case says so.
    EXPECT_EQ(c.relative, c.function == "n_per_group_t_test" ? 1e-4 : 1e-9) << c.id;
  }
}

TEST(Vectors, DisagreeOutsideTheTolerance) {
  VectorCase c;
  c.relative = 1e-9;
  c.numbers["out.x"] = 1000;
  c.lists["out.y"] = {1, 2};
  EXPECT_TRUE(c.agrees("out.x", 1000 + 5e-7));
  EXPECT_FALSE(c.agrees("out.x", 1000 + 5e-6));
  EXPECT_FALSE(c.agrees("out.x", std::nan("")));
  EXPECT_TRUE(c.agrees("out.y", {1, 2}));
  EXPECT_FALSE(c.agrees("out.y", {1, 2, 3}));
  EXPECT_FALSE(c.agrees("out.y", {1, 3}));
}

TEST(Vectors, KnowWhatNobodyAskedFor) {
  const VectorFile file = load_vectors("hampel");
  ASSERT_FALSE(file.cases.empty());
  const VectorCase& c = file.cases[0];
  EXPECT_TRUE(c.unread.contains("out.sigma_from_diffs"));
  c.number("out.sigma_from_diffs");
  EXPECT_FALSE(c.unread.contains("out.sigma_from_diffs"));
}

}  // namespace
}  // namespace genscope::testing
