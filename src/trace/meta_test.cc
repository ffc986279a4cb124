#include "trace/meta.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/random.h"

namespace genscope::trace {
namespace {

using internal::make_word;
using internal::MetaType;
using internal::Op;

std::vector<std::uint64_t> encoded(const Meta& meta) {
  std::vector<std::uint64_t> words(kMaxMetaWords, ~std::uint64_t{0});
  words.resize(encode(meta, words.data()));
  return words;
}

std::optional<Meta> decoded(const std::vector<std::uint64_t>& words) {
  return decode(words[0], std::span(words).subspan(1));
}

TEST(Meta, SiteRoundTripAtEveryLength) {
  for (std::size_t n = 0; n <= 255; ++n) {
    const std::string name(n, 'n');
    const auto words = encoded(SiteMeta{0xFFF04, SpanKind::step, name});
    ASSERT_LE(words.size(), kMaxMetaWords);
    ASSERT_EQ(internal::op_of(words[0]), Op::meta);
    ASSERT_EQ(internal::payload_words(words[0]), words.size() - 1);
    const auto meta = decoded(words);
    ASSERT_TRUE(meta);
    const auto& site = std::get<SiteMeta>(*meta);
    EXPECT_EQ(site.id, 0xFFF04u);
    EXPECT_EQ(site.kind, SpanKind::step);
    EXPECT_EQ(site.name, name);
  }
}

TEST(Meta, LongNamesAreCutAtACharacter) {
  std::string name(254, 'a');
  name += "€";
  const auto words = encoded(ThreadMeta{3, 4, name});
  const auto meta = decoded(words);
  ASSERT_TRUE(meta);
  EXPECT_EQ(std::get<ThreadMeta>(*meta).name, std::string(254, 'a'));
  EXPECT_EQ(std::get<ThreadMeta>(*meta).lane, 3u);
  EXPECT_EQ(std::get<ThreadMeta>(*meta).tid, 4u);
}

TEST(Meta, ClockRoundTripWithNegativeTimes) {
  const auto words = encoded(ClockMeta{1, -2, -3, -4, 5});
  const auto meta = decoded(words);
  ASSERT_TRUE(meta);
  const auto& clock = std::get<ClockMeta>(*meta);
  EXPECT_EQ(clock.ticks, 1u);
  EXPECT_EQ(clock.monotonic_ns, -2);
  EXPECT_EQ(clock.realtime_ns, -3);
  EXPECT_EQ(clock.boottime_ns, -4);
  EXPECT_EQ(clock.width_ticks, 5u);
}

TEST(Meta, LossRoundTrip) {
  const auto words = encoded(LossMeta{9, ~std::uint64_t{0}, 2, 3, 4});
  const auto meta = decoded(words);
  ASSERT_TRUE(meta);
  const auto& loss = std::get<LossMeta>(*meta);
  EXPECT_EQ(loss.lane, 9u);
  EXPECT_EQ(loss.spans, ~std::uint64_t{0});
  EXPECT_EQ(loss.records, 2u);
  EXPECT_EQ(loss.first_tick, 3u);
  EXPECT_EQ(loss.last_tick, 4u);
}

TEST(Meta, RefusesWhatIsMalformed) {
  const std::vector<std::uint64_t> payload(40, 0);
  const auto head = [](unsigned type, std::uint64_t bytes) {
    return make_word(Op::meta, type, bytes);
  };
  const auto site = static_cast<unsigned>(MetaType::site);
  const auto clock = static_cast<unsigned>(MetaType::clock);
  const auto loss = static_cast<unsigned>(MetaType::loss);
  EXPECT_FALSE(decode(head(site, 7), payload));  // no room for the number
  EXPECT_FALSE(decode(head(site, 0), {}));
  EXPECT_FALSE(decode(head(site, 8 + 256), payload));  // longer than any name
  EXPECT_FALSE(decode(head(site, 41 * 8), payload));   // longer than its payload
  EXPECT_FALSE(decode(head(clock, 39), payload));
  EXPECT_FALSE(decode(head(clock, 48), payload));
  EXPECT_FALSE(decode(head(loss, 32), payload));
  EXPECT_FALSE(decode(head(0, 40), payload));  // unknown types
  EXPECT_FALSE(decode(head(77, 40), payload));
  EXPECT_FALSE(decode(head(site, internal::kLowMask), payload));
}

TEST(Meta, AnyWordsDecodeToSomethingOrNothing) {
  testing::Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint64_t> payload(random.below(40));
    for (std::uint64_t& w : payload) w = random.next();
    const std::uint64_t head = make_word(Op::meta, static_cast<std::uint32_t>(random.below(6)),
                                         random.below(payload.size() * 8 + 20));
    const auto meta = decode(head, payload);
    if (meta && std::holds_alternative<SiteMeta>(*meta)) {
      EXPECT_LE(std::get<SiteMeta>(*meta).name.size(), 255u);
    }
  }
}

}  // namespace
}  // namespace genscope::trace
