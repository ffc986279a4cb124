// The store reads chunk headers of the live file as plain bytes: their places must be those of the
// recorder's struct. (Neither module may include the other, so it is checked here.)
#include <cstddef>

#include "genscope/internal/hot.h"
#include "support.h"
#include "trace/live.h"

namespace genscope::testing {
namespace {

using internal::ChunkHeader;

// A copy of store's ChunkBytes (src/store/live_reader.cc), and of docs/trace-format.md.
struct ChunkBytes {
  std::uint64_t tail, data, base;
  std::uint32_t state, lane, seq, link, cycle, last;
  std::uint32_t reserved[4];
};

TEST(ChunkLayout, TheReadersBytesAreTheWritersStruct) {
  EXPECT_EQ(sizeof(ChunkBytes), sizeof(ChunkHeader));
  EXPECT_EQ(offsetof(ChunkBytes, tail), offsetof(ChunkHeader, tail));
  EXPECT_EQ(offsetof(ChunkBytes, data), offsetof(ChunkHeader, data));
  EXPECT_EQ(offsetof(ChunkBytes, base), offsetof(ChunkHeader, base));
  EXPECT_EQ(offsetof(ChunkBytes, state), offsetof(ChunkHeader, state));
  EXPECT_EQ(offsetof(ChunkBytes, lane), offsetof(ChunkHeader, lane));
  EXPECT_EQ(offsetof(ChunkBytes, seq), offsetof(ChunkHeader, seq));
  EXPECT_EQ(offsetof(ChunkBytes, link), offsetof(ChunkHeader, link));
  EXPECT_EQ(offsetof(ChunkBytes, cycle), offsetof(ChunkHeader, cycle));
  EXPECT_EQ(offsetof(ChunkBytes, last), offsetof(ChunkHeader, last));
  EXPECT_EQ(static_cast<int>(internal::ChunkState::open), 1);
  EXPECT_EQ(static_cast<int>(internal::ChunkState::filled), 2);
  EXPECT_LE(sizeof(trace::LiveHeader), trace::kSlotsOffset);
  EXPECT_EQ(offsetof(trace::LaneSlot, dropped_spans), 8u);
  EXPECT_EQ(offsetof(trace::LaneSlot, lost_last_tick), 32u);
}

// The copy above could rot: so also by behaviour, every field that a reader uses.
TEST(ChunkLayout, AnOpenTraceIsReadFromItsBuffersAlone) {
  const TempDir dir;
  const Session session("layout", options_in(dir));
  ASSERT_TRUE(session.active()) << session.error();
  {
    const Stage outer("outer");
    const Stage inner("inner");
  }
  const Trace trace = only_trace(dir);
  EXPECT_EQ(parent_name(trace, span_named(trace, "inner")), "outer");
  EXPECT_GT(trace.integrity.recovered_chunks, 0u);
  EXPECT_TRUE(trace.integrity.in_progress);
  EXPECT_EQ(trace.integrity.unfinished_spans, 1u);  // the session
}

}  // namespace
}  // namespace genscope::testing
