#include "inspect/read/sharded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "inspect/read/craft.h"
#include "testing/temp_dir.h"

namespace genscope::inspect {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string index_of(std::initializer_list<std::pair<const char*, const char*>> tensors,
                     const char* metadata = R"({"total_size":32})") {
  std::string map;
  for (const auto& [name, file] : tensors) {
    map += (map.empty() ? "\"" : ",\"") + std::string(name) + "\":\"" + file + "\"";
  }
  return R"({"metadata":)" + std::string(metadata) + R"(,"weight_map":{)" + map + "}}";
}

class Sharded : public ::testing::Test {
 protected:
  Result<TensorFile> read(const std::string& index) {
    craft::write(path_, index);
    return read_tensor_file(path_);
  }
  std::string fault(const std::string& index) {
    const auto file = read(index);
    return file.ok() ? "" : file.error().message;
  }

  testing::TempDir dir_;
  std::string path_ = dir_ / "model/m.safetensors.index.json";
};

TEST_F(Sharded, IsTheUnionOfItsFiles) {
  craft::write(dir_ / "model/1.safetensors", craft::safetensors_of({"a", "b"}));
  craft::write(dir_ / "model/sub/2.safetensors", craft::safetensors_of({"c", "d"}));
  const auto file = read(index_of({{"a", "1.safetensors"},
                                   {"c", "sub/2.safetensors"},
                                   {"b", "1.safetensors"},
                                   {"d", "sub/2.safetensors"}}));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->container, Container::sharded);
  ASSERT_EQ(file->tensors.size(), 4u);
  EXPECT_EQ(file->tensors[3].name, "d");
  EXPECT_EQ(file->meta("total_size"), "32");
  EXPECT_TRUE(file->notes.empty()) << file->notes[0];
  EXPECT_EQ(file->file_bytes, fs::file_size(dir_ / "model/1.safetensors") * 2);
}

TEST_F(Sharded, MissingFilesGiveAPartialResult) {
  craft::write(dir_ / "model/1.safetensors", craft::safetensors_of({"a"}));
  const auto file = read(index_of({{"a", "1.safetensors"}, {"b", "2.safetensors"}}));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors.size(), 1u);
  ASSERT_EQ(file->notes.size(), 1u);
  EXPECT_THAT(file->notes[0], HasSubstr("\"2.safetensors\""));
  EXPECT_THAT(fault(index_of({{"b", "2.safetensors"}})), HasSubstr("none of the 1 files"));
}

TEST_F(Sharded, SaysWhenIndexAndFilesDisagree) {
  craft::write(dir_ / "model/1.safetensors", craft::safetensors_of({"a", "b"}));
  const auto fewer = read(index_of({{"a", "1.safetensors"}}));
  ASSERT_TRUE(fewer.ok());
  EXPECT_THAT(fewer->notes.at(0), HasSubstr("names 1 tensors, its files hold 2"));
  const auto size = read(index_of({{"a", "1.safetensors"}, {"b", "1.safetensors"}}));
  ASSERT_TRUE(size.ok());
  EXPECT_THAT(size->notes.at(0), HasSubstr("total_size of 32"));
}

TEST_F(Sharded, HostileNamesLeadNowhere) {
  craft::write(dir_ / "outside.safetensors", craft::safetensors_of({"a"}));
  for (const char* const name :
       {"../outside.safetensors", "sub/../../outside.safetensors", "/etc/passwd", ""}) {
    EXPECT_THAT(fault(index_of({{"a", name}})), HasSubstr("m.safetensors.index.json: byte "))
        << name;
  }
  EXPECT_THAT(fault(index_of({{"a", "../outside.safetensors"}})), HasSubstr("out of the folder"));
}

TEST_F(Sharded, LinksOutOfTheFolderAreRefused) {
  craft::write(dir_ / "outside.safetensors", craft::safetensors_of({"a"}));
  craft::write(path_, "");
  fs::create_symlink("../outside.safetensors", dir_ / "model/1.safetensors");
  EXPECT_THAT(fault(index_of({{"a", "1.safetensors"}})), HasSubstr("outside the index's folder"));
}

TEST_F(Sharded, LinksOfTheHubsCacheAreFollowed) {
  craft::write(dir_ / "hub/blobs/0123", craft::safetensors_of({"a"}));
  path_ = dir_ / "hub/snapshots/rev/vae/m.safetensors.index.json";
  craft::write(path_, "");
  fs::create_symlink("../../../blobs/0123", dir_ / "hub/snapshots/rev/vae/1.safetensors");
  const auto file = read(index_of({{"a", "1.safetensors"}}, "{}"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors.size(), 1u);
}

TEST_F(Sharded, CyclesAreRefused) {
  EXPECT_THAT(fault(index_of({{"a", "m.safetensors.index.json"}})), HasSubstr("index itself"));
  // Under another name too: a shard is weights, never an index.
  craft::write(dir_ / "model/x.safetensors", index_of({{"a", "y.safetensors"}}));
  EXPECT_THAT(fault(index_of({{"a", "x.safetensors"}})), HasSubstr("JSON file where weights"));
}

TEST_F(Sharded, ATensorInTwoFilesIsRefused) {
  craft::write(dir_ / "model/1.safetensors", craft::safetensors_of({"a"}));
  craft::write(dir_ / "model/2.safetensors", craft::safetensors_of({"a"}));
  EXPECT_THAT(fault(index_of({{"a", "1.safetensors"}, {"b", "2.safetensors"}})),
              HasSubstr("\"a\" is in two files"));
}

TEST_F(Sharded, BrokenFilesAndFoldersAreErrors) {
  craft::write(dir_ / "model/1.safetensors", craft::safetensors_of({"a"}).substr(0, 30));
  EXPECT_THAT(fault(index_of({{"a", "1.safetensors"}})), HasSubstr("model/1.safetensors: byte "));
  fs::create_directory(dir_ / "model/sub");
  EXPECT_THAT(fault(index_of({{"a", "sub"}})), HasSubstr("is a folder"));
}

TEST_F(Sharded, IndexesThatAreNone) {
  EXPECT_THAT(fault("{}"), HasSubstr("without a weight_map"));
  EXPECT_THAT(fault(R"({"weight_map":[]})"), HasSubstr("object is expected"));
  EXPECT_THAT(fault(R"({"weight_map":{"a":1}})"), HasSubstr("string is expected"));
  EXPECT_THAT(fault(R"({"weight_map":{},"weight_map":{}})"), HasSubstr("twice"));
  EXPECT_THAT(fault("{\"x\":" + std::string(100'000, '[')), HasSubstr("nested too deeply"));
  EXPECT_THAT(fault("{\"weight_map\":"), HasSubstr("not valid JSON"));
}

TEST_F(Sharded, MoreFilesThanAnyModelHas) {
  std::string map;
  for (int i = 0; i < 5000; ++i) {
    const std::string n = std::to_string(i);
    map += (i > 0 ? ",\"" : "\"") + n + "\":\"" + n + ".safetensors\"";
  }
  EXPECT_THAT(fault(R"({"weight_map":{)" + map + "}}"), HasSubstr("more than 4096 shards"));
}

}  // namespace
}  // namespace genscope::inspect
