#include "inspect/read/torch/torch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/read/craft.h"

namespace genscope::inspect {
namespace {

namespace pkl = craft::pkl;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<TensorFile> read_zip(const std::string& bytes) {
  return read_torch_zip(MemorySource("m.pt", bytes));
}
Result<TensorFile> read_pickle(const std::string& bytes) {
  return read_torch_legacy(MemorySource("m.pt", bytes));
}
std::string torch_fault(const Result<TensorFile>& file) {
  return file.ok() ? "" : file.error().message;
}
auto torch_complains(const char* what) { return AllOf(StartsWith("m.pt: "), HasSubstr(what)); }

const std::string kWeights =
    pkl::dict({{"a.weight", pkl::tensor("HalfStorage", 12, {3, 4})},
               {"a.bias", pkl::global("torch._utils", "_rebuild_parameter") +
                              pkl::tuple({pkl::tensor("FloatStorage", 3, {3}), "\x88", "N"}) + "R"},
               {"steps", pkl::number(7)}});

void expect_weights(const Result<TensorFile>& file) {
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->tensors.size(), 2u);
  EXPECT_EQ(file->tensors[0].name, "a.weight");
  EXPECT_THAT(file->tensors[0].shape.span(), ElementsAre(3, 4));
  EXPECT_EQ(file->tensors[0].dtype, Dtype::f16);
  EXPECT_EQ(file->tensors[0].bytes, 24u);
  EXPECT_EQ(file->tensors[1].name, "a.bias");
  EXPECT_EQ(file->tensors[1].dtype, Dtype::f32);
}

TEST(TorchZip, GivesTheTensorsOfAStateDict) {
  const auto file = read_zip(craft::torch_zip(kWeights));
  expect_weights(file);
  EXPECT_EQ(file->container, Container::torch_zip);
  EXPECT_TRUE(file->notes.empty());
}

TEST(TorchZip, LooksIntoTheDictsOfTrainers) {
  for (const char* const key : {"state_dict", "model", "anything"}) {
    expect_weights(
        read_zip(craft::torch_zip(pkl::dict({{"epoch", pkl::number(3)}, {key, kWeights}}))));
  }
  const auto file = read_zip(craft::torch_zip(
      pkl::dict({{"optimizer", pkl::dict({{"1", pkl::tensor("FloatStorage", 2, {2})},
                                          {"2", pkl::tensor("FloatStorage", 2, {2})},
                                          {"3", pkl::tensor("FloatStorage", 2, {2})}})},
                 {"state_dict", kWeights}})));
  expect_weights(file);
  ASSERT_EQ(file->notes.size(), 1u);
  EXPECT_THAT(file->notes[0], HasSubstr("3 further tensor"));
}

TEST(TorchZip, KeepsTheLastTensorOfAName) {
  const auto file = read_zip(craft::torch_zip(pkl::dict(
      {{"w", pkl::tensor("FloatStorage", 2, {2})}, {"w", pkl::tensor("FloatStorage", 4, {4})}})));
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->tensors.size(), 1u);
  EXPECT_EQ(file->tensors[0].shape[0], 4u);
}

TEST(TorchZip, ReadsTheDirectoryOfZip64) {
  // The same archive, its directory's place and count moved to the zip64 end.
  std::string bytes = craft::torch_zip(kWeights);
  const std::string end = bytes.substr(bytes.size() - 22);
  bytes.resize(bytes.size() - 22);
  std::uint32_t size = 0, offset = 0;
  std::memcpy(&size, end.data() + 12, 4);
  std::memcpy(&offset, end.data() + 16, 4);
  const std::uint64_t end64_at = bytes.size();
  bytes += "PK\x06\x06" + craft::raw(std::uint64_t{44}) + std::string(12, '\0') +
           craft::raw(std::uint64_t{3}) + craft::raw(std::uint64_t{3}) +
           craft::raw(std::uint64_t{size}) + craft::raw(std::uint64_t{offset});
  bytes += "PK\x06\x07" + std::string(4, '\0') + craft::raw(end64_at) + craft::raw(1u);
  bytes += "PK\x05\x06" + std::string(4, '\0') + std::string(12, '\xff') + std::string(2, '\0');
  expect_weights(read_zip(bytes));
}

TEST(TorchZip, TakesTheDtypeOfUntypedStorages) {
  const auto file = read_zip(craft::torch_zip(pkl::dict(
      {{"w",
        pkl::global("torch._utils", "_rebuild_tensor_v3") +
            pkl::tuple({pkl::storage("UntypedStorage", 8), pkl::number(0), pkl::shape({8}),
                        pkl::shape({1}), "\x89", "}", pkl::global("torch", "float8_e4m3fn"), "N"}) +
            "R"}})));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors.at(0).dtype, Dtype::f8_e4m3);
  EXPECT_EQ(file->tensors[0].bytes, 8u);
}

TEST(TorchLegacy, GivesTheTensorsBehindThreePickles) {
  const auto file = read_pickle(craft::torch_legacy(kWeights, 64));
  expect_weights(file);
  EXPECT_EQ(file->container, Container::torch_legacy);
}

TEST(TorchLegacy, ReadsOnWhenThePickleIsLong) {
  std::string padded = "}(" + pkl::text("pad") + pkl::text(std::string(3 << 20, 'x'));
  padded += pkl::text("w") + pkl::tensor("FloatStorage", 2, {2}) + "u";
  const auto file = read_pickle(craft::torch_legacy(padded, 5 << 20));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors.size(), 1u);
  EXPECT_LT(file->header_bytes, 4u << 20);
}

TEST(TorchHostile, OsSystemIsReportedAndNotRun) {
  const std::string evil =
      pkl::global("os", "system") + pkl::tuple({pkl::text("touch /tmp/x")}) + "R";
  const auto file = read_zip(
      craft::torch_zip(pkl::dict({{"w", pkl::tensor("FloatStorage", 2, {2})}, {"evil", evil}})));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors.size(), 1u);
  ASSERT_EQ(file->notes.size(), 1u);
  EXPECT_THAT(file->notes[0], AllOf(StartsWith("safety: data.pkl names \"os.system\""),
                                    HasSubstr("it was not run")));
  for (const std::string& bytes : {pkl::whole(evil), std::string("cos\nsystem\n(S'true'\ntR."),
                                   pkl::whole(pkl::text("os") + pkl::text("system") + "\x93" +
                                              pkl::tuple({pkl::text("x")}) + "R"),
                                   pkl::whole("(" + pkl::text("x") + "ios\nsystem\n")}) {
    const auto alone = read_pickle(bytes);
    ASSERT_TRUE(alone.ok()) << alone.error().message;
    EXPECT_THAT(alone->notes, ::testing::Contains(HasSubstr("os.system")));
  }
}

TEST(TorchHostile, ForeignClassesAreNamedOnceAndTensorsStillCounted) {
  const std::string odd = pkl::global("pytorch_lightning.x", "Odd") + ")R";
  const auto file =
      read_zip(craft::torch_zip(pkl::dict({{"a", odd}, {"b", odd}, {"state_dict", kWeights}})));
  expect_weights(file);
  ASSERT_EQ(file->notes.size(), 1u);
  EXPECT_THAT(file->notes[0], HasSubstr("pytorch_lightning.x.Odd"));
}

TEST(TorchHostile, EveryForeignNameIsCounted) {
  std::string names = "(";
  for (int i = 0; i < 40; ++i) names += pkl::global("evil" + std::to_string(i), "f");
  const auto file = read_pickle(pkl::whole(names + "t"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_THAT(file->notes.back(), HasSubstr("24 more such names"));
}

TEST(TorchHostile, StoragesAndShapesThatCannotBe) {
  const auto one = [](const std::string& tensor) {
    return torch_fault(read_zip(craft::torch_zip(pkl::dict({{"w", tensor}}))));
  };
  EXPECT_THAT(one(pkl::tensor("FloatStorage", 1 << 30, {1})),
              torch_complains("more than the file has"));
  EXPECT_THAT(one(pkl::tensor("FloatStorage", -1, {1})), torch_complains("negative"));
  EXPECT_THAT(one(pkl::tensor("FloatStorage", 4, {-4})), torch_complains("negative"));
  const std::int32_t big = 1 << 30;
  EXPECT_THAT(one(pkl::tensor("FloatStorage", 4, {big, big, big})), torch_complains("64 bits"));
}

TEST(TorchHostile, ExpandedViewsHaveNoMoreBytesThanTheirStorage) {
  const auto file = read_zip(
      craft::torch_zip(pkl::dict({{"w", pkl::tensor("FloatStorage", 4, {1 << 20, 1 << 20})}})));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors[0].bytes, 16u);
}

TEST(TorchHostile, PicklesThatUseWhatIsNotThere) {
  using namespace std::literals;
  for (const std::string& body : {"t"s,
                                  "R"s,
                                  "0"s,
                                  "2"s,
                                  "u"s,
                                  "s"s,
                                  "h\x05"s,
                                  "j\xff\xff\xff\xff"s,
                                  "q\x01"s,
                                  "\x86"s,
                                  "Q"s,
                                  "b"s,
                                  "\x93"s,
                                  "(s"s,
                                  "}(((s"s,
                                  "NN(s"s,
                                  "\xff"s,
                                  "X\xff\xff\xff\xff"s,
                                  "\x8e\xff\xff\xff\xff\xff\xff\xff\xff"s,
                                  "\x8b\xff\xff\xff\x7f"s,
                                  "Nr\xff\xff\xff\xff"s,
                                  "gx\n"s,
                                  "Np0&1\n"s,
                                  "Np18446744073709551615\n"s,
                                  "Np18446744073709551614\n"s,
                                  "NNNNp18446744073709551613\n"s,
                                  "N("s,
                                  "cos"s,
                                  "I5"s}) {
    const auto file = read_pickle("\x80\x02" + body);
    ASSERT_FALSE(file.ok()) << ::testing::PrintToString(body);
    EXPECT_THAT(file.error().message,
                AllOf(StartsWith("m.pt: byte "), HasSubstr("fetch it again")));
  }
}

TEST(TorchHostile, ValuesBeyondWhatTheLengthExplains) {
  // A million empty tuples, dicts, marks, memo entries: refused, not stored.
  for (const char* const op : {")", "}", "(", "N2"}) {
    std::string body;
    for (int i = 0; i < 1'000'000; ++i) body += op;
    EXPECT_THAT(torch_fault(read_pickle("\x80\x02" + body)), torch_complains("length explains"))
        << op;
  }
  EXPECT_THAT(torch_fault(read_pickle("\x80\x02N" + std::string(1'000'000, '\x94'))),
              torch_complains("length explains"));
}

TEST(TorchHostile, DictsThatHoldThemselves) {
  std::string body = "}q" + std::string(1, '\0') + "(" + pkl::text("state_dict") + "h" +
                     std::string(1, '\0') + pkl::text("w") + pkl::tensor("FloatStorage", 2, {2}) +
                     "u";
  const auto file = read_zip(craft::torch_zip(body));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->tensors.size(), 1u);
}

TEST(TorchHostile, ZipBomb) {
  const auto deflated =
      read_zip(craft::zip({{"a/data.pkl", std::string(100, '\0'), 8}}, 0x7fffffff));
  ASSERT_FALSE(deflated.ok());
  EXPECT_EQ(deflated.error().code, ErrorCode::unsupported);
  EXPECT_THAT(deflated.error().message, torch_complains("save it again"));
  EXPECT_THAT(torch_fault(read_zip(craft::zip({{"a/data.pkl", "N.", 0}}, 0x7fffffff))),
              torch_complains("two different sizes"));
}

TEST(TorchHostile, ArchivesThatAreNone) {
  const auto none = read_zip(craft::zip({{"a/other", "x", 0}}));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::unsupported);
  EXPECT_THAT(torch_fault(read_zip(craft::zip({{"a/data.pkl", "N.", 0}, {"b/data.pkl", "N.", 0}}))),
              torch_complains("more than one data.pkl"));
  EXPECT_THAT(torch_fault(read_zip("PK\x03\x04" + std::string(60, 'x'))),
              torch_complains("directory"));
  std::string moved = craft::torch_zip(kWeights);
  moved[moved.size() - 22 + 16] = '\x7f';
  EXPECT_NE(torch_fault(read_zip(moved)), "");
}

}  // namespace
}  // namespace genscope::inspect
