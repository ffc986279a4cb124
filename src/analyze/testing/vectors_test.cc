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

void flatten(const Json& value, const std::string& path, VectorCase& out) {
  if (value.is_number()) {
    out.numbers[path] = value.get<double>();
  } else if (value.is_array()) {
    std::vector<double>& list = out.lists[path];
    for (const Json& item : value) {
      if (item.is_number()) list.push_back(item.get<double>());
    }
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.items()) flatten(item, path + "." + key, out);
  }
}

}  // namespace

double VectorCase::number(const std::string& path) const {
  const auto found = numbers.find(path);
  if (found != numbers.end()) return found->second;
  ADD_FAILURE() << "case " << id << " has no number " << path;
  return std::numeric_limits<double>::quiet_NaN();
}

const std::vector<double>& VectorCase::list(const std::string& path) const {
  static const std::vector<double> kNone;
  const auto found = lists.find(path);
  if (found != lists.end()) return found->second;
  ADD_FAILURE() << "case " << id << " has no list " << path;
  return kNone;
}

::testing::AssertionResult VectorFile::agrees(const VectorCase& c, const std::string& path,
                                              double got) const {
  const double expected = c.number(path);
  const double error = std::fabs(got - expected);
  if (error <= absolute || error <= relative * std::fabs(expected)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << c.id << ": " << path << " is " << std::to_string(expected)
                                       << ", got " << std::to_string(got) << ", off by " << error;
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
    flatten(item["in"], "in", c);
    flatten(item["out"], "out", c);
    file.cases.push_back(std::move(c));
  }
  return file;
}

namespace {

TEST(Vectors, AreReadWithTheirTolerance) {
  const VectorFile file = load_vectors("descriptive");
  ASSERT_EQ(file.cases.size(), 7u);
  EXPECT_EQ(file.relative, 1e-9);
  EXPECT_EQ(file.absolute, 1e-12);
  const VectorCase& c = file.cases[0];
  EXPECT_EQ(c.id, "dev_base10");
  EXPECT_EQ(c.list("in.values").size(), 10u);
  EXPECT_EQ(c.number("out.q_type7.p05"), 2.37024);
}

TEST(Vectors, DisagreeOutsideTheTolerance) {
  VectorFile file;
  file.relative = 1e-9;
  VectorCase c;
  c.numbers["out.x"] = 1000;
  EXPECT_TRUE(file.agrees(c, "out.x", 1000 + 5e-7));
  EXPECT_FALSE(file.agrees(c, "out.x", 1000 + 5e-6));
  EXPECT_FALSE(file.agrees(c, "out.x", std::nan("")));
}

}  // namespace
}  // namespace genscope::testing
