#include <gtest/gtest.h>

#include <genscope/analyze.h>

#include "analyze/aggregate/clock_offsets.h"
#include "analyze/aggregate/waits.h"
#include "analyze/testing/trace_builder.h"
#include "testing/units.h"

namespace genscope {
namespace {

using testing::kMs;
using testing::kSecond;

// A rank of a job of 10 s that all ranks share.
RankFigures rank_of(int rank, int world = 4) {
  RankFigures r;
  r.source = "run/trace-" + std::to_string(rank);
  r.run = "run";
  r.name = "train";
  r.rank = rank;
  r.world_size = world;
  r.run_processes = 4;
  r.pid = static_cast<std::uint32_t>(1000 + rank);
  r.wall_ns = 10 * kSecond;
  r.begin_unix_ns = 1'700'000'000 * kSecond;
  return r;
}

RankFigures waiting(int rank, double collective_seconds) {
  RankFigures r = rank_of(rank);
  r.collectives = 100;
  r.collective_seconds = collective_seconds;
  return r;
}

Aggregate aggregate(std::vector<RankFigures> ranks) {
  Aggregator all;
  for (RankFigures& rank : ranks) all.add(std::move(rank));
  return all.finish();
}

const AcrossRanks* find(const std::vector<AcrossRanks>& rows, std::string_view name) {
  for (const AcrossRanks& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// "culprit rank 2, victim rank 0".
std::string roles(const Aggregate& sum) {
  std::string out;
  for (const Straggler& one : sum.stragglers) {
    out += (out.empty() ? "" : ", ") + one.role + " " + one.rank;
  }
  return out;
}

TEST(Aggregate, StagesOfAllRanksCountNotOnlyThoseOfTheFirst) {
  std::vector<RankFigures> ranks{rank_of(0), rank_of(1), rank_of(2)};
  ranks[0].stage_seconds = {{"stage/denoise", 4}};
  ranks[1].stage_seconds = {{"stage/denoise", 5}, {"stage/vae_decode", 7}};
  ranks[2].stage_seconds = {{"stage/denoise", 9}};
  const Aggregate sum = aggregate(std::move(ranks));
  ASSERT_EQ(sum.stages.size(), 2u);
  EXPECT_EQ(sum.stages[0].name, "stage/vae_decode") << "the longest median comes first";
  EXPECT_EQ(sum.stages[0].ranks, 1u);
  const AcrossRanks* denoise = find(sum.stages, "stage/denoise");
  ASSERT_NE(denoise, nullptr);
  EXPECT_EQ(denoise->ranks, 3u);
  EXPECT_EQ(denoise->min, 4);
  EXPECT_EQ(denoise->median, 5);
  EXPECT_EQ(denoise->max, 9);
  EXPECT_EQ(denoise->mean, 6);
  EXPECT_EQ(denoise->skew, 9.0 / 5);
  EXPECT_EQ(denoise->min_rank, "rank 0");
  EXPECT_EQ(denoise->max_rank, "rank 2");
}

TEST(Aggregate, ZeroRanksAndOneRankAreFine) {
  const Aggregate none = aggregate({});
  EXPECT_EQ(none.ranks, 0u);
  EXPECT_TRUE(none.figures.empty());
  RankFigures alone = waiting(0, 1);
  alone.world_size = 1;
  const Aggregate one = aggregate({alone});
  EXPECT_EQ(one.ranks, 1u);
  EXPECT_EQ(roles(one), "");
  EXPECT_TRUE(one.clocks.empty());
  EXPECT_TRUE(one.missing.empty());
  EXPECT_EQ(find(one.figures, "wall_seconds")->skew, 1);
}

TEST(Aggregate, MissingFailedUnreadAndDoubleRanksAreNamed) {
  std::vector<RankFigures> ranks{rank_of(0, 8), rank_of(3, 8), rank_of(3, 8), rank_of(5, 8)};
  ranks[1].failed_spans = 2;
  ranks[2].source = "run/copy";
  ranks[3].closed = false;
  ranks.push_back(unread_figures("rank_7/trace-1.gst", 7, "no header"));
  const Aggregate sum = aggregate(std::move(ranks));
  EXPECT_EQ(sum.ranks, 4u);
  EXPECT_EQ(sum.world_size, 8);
  EXPECT_EQ(sum.missing, (std::vector<int>{1, 2, 4, 6})) << "of rank 7 there is a file";
  EXPECT_EQ(sum.missing_count, 4u);
  EXPECT_EQ(sum.failed, (std::vector<std::string>{
                            "rank 3 (run/trace-3): 2 sessions, requests, batches or steps failed",
                            "rank 5: ended without closing its record (killed?)"}));
  EXPECT_EQ(sum.unread, std::vector<std::string>{"rank_7/trace-1.gst: no header"});
  EXPECT_EQ(sum.duplicate, std::vector<std::string>{"rank 3: run/trace-3 and run/copy"});
}

TEST(Aggregate, TheExitCodeOfARunOfManyIsToldOnceAndOfTheRun) {
  std::vector<RankFigures> ranks{rank_of(0), rank_of(1)};
  ranks[0].exit_code = ranks[1].exit_code = 9;
  EXPECT_EQ(aggregate(ranks).failed, std::vector<std::string>{"run train: exit code 9"});
  ranks[0].run_processes = ranks[1].run_processes = 1;
  ranks[1].run = "another";
  EXPECT_EQ(aggregate(ranks).failed,
            (std::vector<std::string>{"rank 0: exit code 9", "rank 1: exit code 9"}));
}

TEST(Aggregate, SessionsOneAfterTheOtherAreNoDuplicates) {
  RankFigures later = rank_of(0);
  later.run = "later";
  later.source = "later";
  *later.begin_unix_ns += 10 * kSecond;
  const Aggregate sum = aggregate({later, rank_of(0)});
  EXPECT_TRUE(sum.duplicate.empty());
  EXPECT_EQ(sum.runs, 2u);
  EXPECT_EQ(sum.rows[0].label, "rank 0 (later)");
}

TEST(Aggregate, AnEnormousWorldSizeListsAThousandMissing) {
  const Aggregate sum = aggregate({rank_of(0, 2'000'000'000)});
  EXPECT_EQ(sum.missing_count, 1'999'999'999u);
  EXPECT_EQ(sum.missing.size(), 1000u);
  EXPECT_EQ(aggregate({rank_of(0, -5)}).missing_count, 0u);
}

TEST(Aggregate, WorkersOfARankAndProbesOfARunAreNoRanks) {
  RankFigures worker = rank_of(1);
  worker.pid = 77;
  worker.ppid = 1001;
  worker.stage_seconds = {{"stage/read", 3}};
  RankFigures probes = rank_of(0);
  probes.rank.reset();
  probes.samples_only = true;
  probes.figures = {{"rss_peak_bytes", 5e9}};
  const Aggregate sum = aggregate({worker, rank_of(0), rank_of(1), probes});
  EXPECT_EQ(sum.ranks, 2u);
  EXPECT_TRUE(sum.duplicate.empty());
  EXPECT_TRUE(sum.stages.empty());
  EXPECT_EQ(find(sum.figures, "wall_seconds")->ranks, 2u);
  EXPECT_EQ(find(sum.figures, "rss_peak_bytes")->ranks, 1u);
  EXPECT_EQ(find(sum.figures, "rss_peak_bytes")->max_rank, "all of train");
  EXPECT_EQ(sum.notes, std::vector<std::string>{"1 process that a rank started is left out"});
}

TEST(Aggregate, TheRankThatWaitsLeastInCollectivesIsTheCulprit) {
  const Aggregate sum =
      aggregate({waiting(0, 3.0), waiting(1, 3.1), waiting(2, 0.2), waiting(3, 2.0)});
  EXPECT_EQ(roles(sum), "culprit rank 2, victim rank 1, victim rank 0");
  EXPECT_EQ(sum.stragglers[0].value, 0.2);
  EXPECT_EQ(sum.stragglers[0].median, 2.5);
}

TEST(Aggregate, ASmallSpreadIsNoStraggler) {
  EXPECT_EQ(roles(aggregate({waiting(0, 3), waiting(1, 3.1), waiting(2, 1.6)})), "")
      << "more than half of the median";
  EXPECT_EQ(roles(aggregate({waiting(0, 0.2), waiting(1, 0.21), waiting(2, 0.01)})), "")
      << "less than 2 % of the wall time";
}

TEST(Aggregate, WhoHasOtherCollectivesIsNotCompared) {
  RankFigures killed = waiting(2, 0.1);
  killed.collectives = 3;
  const Aggregate sum = aggregate({waiting(0, 3), waiting(1, 3.1), killed});
  EXPECT_EQ(roles(sum), "");
  ASSERT_EQ(sum.notes.size(), 1u);
  EXPECT_NE(sum.notes[0].find("1 rank has another number of collectives"), std::string::npos);
}

TEST(Aggregate, WithoutCollectivesTheLongestStepsAreSlow) {
  std::vector<RankFigures> ranks{rank_of(0), rank_of(1), rank_of(2)};
  ranks[0].step_p50_seconds = 0.1;
  ranks[1].step_p50_seconds = 0.13;
  ranks[2].step_p50_seconds = 0.1;
  EXPECT_EQ(roles(aggregate(ranks)), "slow rank 1");
  ranks[1].step_p50_seconds = 0.12;
  EXPECT_EQ(roles(aggregate(ranks)), "");
}

TEST(Aggregate, ARankThatWaitsForInputIsNamedForIt) {
  std::vector<RankFigures> ranks{waiting(0, 3), waiting(1, 3), waiting(2, 3)};
  for (RankFigures& rank : ranks) rank.input_seconds = 1;
  ranks[1].input_seconds = 1.5;
  EXPECT_EQ(roles(aggregate(ranks)), "input rank 1");
  ranks[1].input_seconds = 1.2;
  EXPECT_EQ(roles(aggregate(ranks)), "");
}

TEST(Aggregate, RanksWhoseClocksAreHoursApartAreStillOneJob) {
  std::vector<RankFigures> ranks{waiting(0, 3), waiting(1, 3), waiting(2, 0.1), waiting(3, 3)};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    *ranks[i].begin_unix_ns += static_cast<std::int64_t>(i) * 3600 * kSecond;
  }
  EXPECT_EQ(aggregate(ranks).stragglers.at(0).rank, "rank 2") << "one run";
  for (RankFigures& rank : ranks) rank.run = rank.source;
  EXPECT_EQ(aggregate(ranks).stragglers.at(0).rank, "rank 2") << "no rank in common";
  for (RankFigures& rank : ranks) rank.world_size.reset();
  EXPECT_EQ(roles(aggregate(ranks)), "") << "nothing says that they belong together";
  EXPECT_EQ(aggregate(ranks).compared, 0u);
  for (RankFigures& rank : ranks) rank.begin_unix_ns = ranks[0].begin_unix_ns;
  EXPECT_EQ(aggregate(ranks).compared, 4u);
}

TEST(Aggregate, StragglersAreLookedForAmongRanksOfTheSameTime) {
  std::vector<RankFigures> ranks{waiting(0, 3), waiting(1, 3), waiting(0, 0.1), waiting(1, 0.1)};
  for (int i : {2, 3}) {
    ranks[static_cast<std::size_t>(i)].run = "later";
    *ranks[static_cast<std::size_t>(i)].begin_unix_ns += 60 * kSecond;
  }
  EXPECT_EQ(roles(aggregate(ranks)), "");
}

TEST(Aggregate, FiveThousandRanksHaveMediansWithinAPercent) {
  constexpr int kRanks = 5000;
  Aggregator all;
  for (int i = 0; i < kRanks; ++i) {
    RankFigures rank = waiting(i, i == 4321 ? 0.05 : 2 + 1e-4 * i);
    rank.world_size = kRanks;
    rank.stage_seconds = {{"stage/denoise", 1 + i * 1e-3}};
    all.add(std::move(rank));
  }
  const Aggregate sum = all.finish();
  EXPECT_EQ(sum.ranks, 5000u);
  EXPECT_EQ(sum.missing_count, 0u);
  EXPECT_EQ(sum.rows.size(), kExactRanks);
  const AcrossRanks* denoise = find(sum.stages, "stage/denoise");
  EXPECT_FALSE(denoise->exact);
  EXPECT_EQ(denoise->ranks, 5000u);
  EXPECT_NEAR(denoise->median, 3.5, 0.035);
  EXPECT_NEAR(denoise->mean, 3.4995, 1e-9);
  EXPECT_EQ(denoise->max, 1 + 4999 * 1e-3);
  EXPECT_EQ(denoise->max_rank, "rank 4999");
  ASSERT_FALSE(sum.stragglers.empty());
  EXPECT_EQ(sum.stragglers[0].rank, "rank 4321");
}

TEST(Aggregate, NamesBeyondAThousandAreCountedNotKept) {
  RankFigures rank = rank_of(0);
  for (int i = 0; i < 1500; ++i) rank.stage_seconds.emplace_back("stage/" + std::to_string(i), 1);
  const Aggregate sum = aggregate({rank});
  EXPECT_EQ(sum.stages.size(), 1000u);
  ASSERT_FALSE(sum.notes.empty());
  EXPECT_EQ(sum.notes.back(), "more than 1000 names: 500 values left out");
}

// --- clocks

std::vector<Meeting> meetings(int count, std::int64_t shift_ns, std::int64_t jitter_ns = 0) {
  std::vector<Meeting> out;
  for (int i = 0; i < count; ++i) {
    out.push_back({1'700'000'000 * kSecond + i * kSecond + shift_ns + (i % 3 - 1) * jitter_ns,
                   static_cast<std::uint8_t>(1 + i % 2)});
  }
  return out;
}

TEST(ClockOffsets, ComeFromTheEndsOfCollectivesWithTheirSpread) {
  const auto offset = analysis::meeting_offset(meetings(30, 0), meetings(30, 5 * kMs, kMs));
  ASSERT_TRUE(offset);
  EXPECT_NEAR(offset->offset_seconds, 5e-3, 1e-6);
  EXPECT_NEAR(offset->error_seconds, 1e-3, 1e-6);
  EXPECT_EQ(offset->meetings, 30u);
  EXPECT_FALSE(analysis::meeting_offset(meetings(4, 0), meetings(30, 0))) << "too few";
  std::vector<Meeting> other = meetings(30, 0);
  other[2].operation = 9;
  EXPECT_FALSE(analysis::meeting_offset(meetings(30, 0), other)) << "another order";
}

TEST(ClockOffsets, OfOneBootAreNoneAndWithoutCollectivesUnknown) {
  std::vector<RankFigures> ranks{waiting(0, 3), waiting(1, 3), waiting(2, 3), waiting(3, 3)};
  ranks[0].boot_id = ranks[1].boot_id = "a";
  ranks[2].boot_id = "b";
  ranks[3].boot_id = "c";
  ranks[0].meetings = meetings(10, 0);
  ranks[1].meetings = meetings(10, 9 * kMs);
  ranks[2].meetings = meetings(10, -2 * kMs);
  const Aggregate sum = aggregate(std::move(ranks));
  EXPECT_EQ(sum.clock_reference, "rank 0");
  ASSERT_EQ(sum.clocks.size(), 3u);
  EXPECT_EQ(sum.clocks[0].method, "same boot");
  EXPECT_EQ(sum.clocks[0].offset_seconds, 0);
  EXPECT_EQ(sum.clocks[0].error_seconds, 0);
  EXPECT_EQ(sum.clocks[1].method, "collectives");
  EXPECT_NEAR(sum.clocks[1].offset_seconds, -2e-3, 1e-6);
  EXPECT_EQ(sum.clocks[2].method, "unix clocks");
  EXPECT_EQ(sum.clocks[2].error_seconds, std::nullopt);
}

// --- what is kept of a trace

using analysis::WaitKind;

TEST(Waits, NamesOfCollectivesAndInputAreKnownAndOthersAreNot) {
  for (const char* name : {"all_reduce", "AllReduce", "torch.distributed.all_reduce(t)", "barrier",
                           "nccl:all_gather", "c10d::allreduce_", "reduce_scatter_tensor", "send",
                           "dist/broadcast", "all_to_all_single", "nccl:_all_gather_base"}) {
    EXPECT_EQ(analysis::wait_name(name, SpanKind::task).kind, WaitKind::host_collective) << name;
  }
  EXPECT_EQ(
      analysis::wait_name("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)", SpanKind::task)
          .kind,
      WaitKind::kernel_collective);
  for (const char* name : {"data_wait", "Data-Loader", "enumerate(DataLoader)#_Single.__next__"}) {
    EXPECT_EQ(analysis::wait_name(name, SpanKind::task).kind, WaitKind::input) << name;
  }
  for (const char* name : {"vae_decode", "aten::broadcast_tensors", "send_frames", "input_blocks.0",
                           "all_gathered", "", "c10d::Work", "barrier_free", "void gemm"}) {
    EXPECT_EQ(analysis::wait_name(name, SpanKind::task).kind, WaitKind::none) << name;
  }
  EXPECT_EQ(analysis::wait_name("broadcast", SpanKind::task).meeting, 0)
      << "its root does not wait";
  EXPECT_EQ(analysis::wait_name("all_reduce", SpanKind::task).meeting,
            analysis::wait_name("ncclDevKernel_AllReduce_x", SpanKind::task).meeting);
}

TEST(Waits, OverlapAndNestingCountOnceAndKernelsComeBeforeTheHost) {
  testing::TraceBuilder t;
  const auto stream = t.track("stream 7", 0);
  const auto other = t.track("stream 8", 0);
  const auto outer = t.span("all_reduce", SpanKind::task, 0, 100 * kMs);
  t.span("nccl:all_reduce", SpanKind::task, 10 * kMs, 50 * kMs, {.parent = outer});
  analysis::Waits waits = analysis::waits_of(t.trace());
  EXPECT_EQ(waits.collectives, 1u);
  EXPECT_EQ(waits.collective_seconds, 0.1);
  t.span("ncclDevKernel_AllReduce_a", SpanKind::task, 20 * kMs, 30 * kMs, {.track = stream});
  t.span("ncclDevKernel_AllGather_b", SpanKind::task, 40 * kMs, 30 * kMs, {.track = other});
  t.span("ncclDevKernel_AllReduce_a", SpanKind::task, 10 * kMs, 5 * kMs,
         {.track = other, .flags = kSpanUnfinished});
  t.trace().process.unix_offset_ns = 1000;
  waits = analysis::waits_of(t.trace());
  EXPECT_EQ(waits.collectives, 3u);
  EXPECT_NEAR(*waits.collective_seconds, 0.055, 1e-12);
  ASSERT_EQ(waits.meetings.size(), 2u) << "an unfinished one is no meeting";
  EXPECT_EQ(waits.meetings[0].end_unix_ns, 50 * kMs + 1000);
  EXPECT_EQ(waits.input_seconds, std::nullopt);
}

TEST(Waits, WhatLoadsAheadOnAnotherThreadStopsNobody) {
  testing::TraceBuilder t;
  const auto loader = t.track("loader", 5);
  t.span("step", SpanKind::step, 0, 50 * kMs);
  t.span("data_wait", SpanKind::task, 50 * kMs, 7 * kMs);
  t.span("load_batch", SpanKind::task, 0, 90 * kMs, {.track = loader});
  EXPECT_EQ(analysis::waits_of(t.trace()).input_seconds, 0.007);
  EXPECT_EQ(analysis::waits_of(t.trace()).collective_seconds, std::nullopt);
}

TEST(RankFiguresOf, ATraceHaveItsStagesStepsAndState) {
  testing::TraceBuilder t(42);
  const auto session = t.span("gen", SpanKind::session, kSecond, kSecond, {.flags = kSpanFailed});
  t.span("denoise", SpanKind::stage, kSecond, 600 * kMs, {.parent = session});
  for (int i = 0; i < 3; ++i) {
    t.span("step", SpanKind::step, kSecond + i * 200 * kMs, 200 * kMs, {.parent = 1});
  }
  t.span("gemm", SpanKind::task, kSecond, kMs, {.parent = 1});
  t.trace().process.rank = 3;
  t.trace().process.world_size = 8;
  t.trace().process.unix_offset_ns = 500;
  t.trace().integrity.closed = false;
  const genscope::Run run = testing::make_run(t.trace());
  const RankFigures r = rank_figures(run, analyze(run));
  EXPECT_EQ(r.rank, 3);
  EXPECT_EQ(r.world_size, 8);
  EXPECT_EQ(r.pid, 42u);
  EXPECT_EQ(r.wall_ns, kSecond);
  EXPECT_EQ(r.begin_unix_ns, kSecond + 500);
  EXPECT_FALSE(r.closed);
  EXPECT_EQ(r.failed_spans, 1u);
  EXPECT_EQ(r.steps, 3u);
  EXPECT_EQ(r.step_p50_seconds, 0.2);
  EXPECT_EQ(r.stage_seconds, (std::vector<std::pair<std::string, double>>{{"stage/denoise", 0.6},
                                                                          {"step/step", 0.6}}));
  EXPECT_EQ(r.collective_seconds, std::nullopt);
}

}  // namespace
}  // namespace genscope
