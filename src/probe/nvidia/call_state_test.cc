#include "probe/nvidia/call_state.h"

#include <gtest/gtest.h>

namespace genscope::probe::nvml {
namespace {

using Kind = Verdict::Kind;

TEST(NvmlCallState, RemembersWhatIsNotSupported) {
  for (const Return code : {kNotSupported, kDeprecated, kFunctionNotFound, kArgumentVersionMismatch,
                            kInvalidArgument}) {
    CallState state;
    EXPECT_TRUE(state.due(0));
    const Verdict verdict = state.judge(code, 0);
    EXPECT_EQ(verdict.kind, Kind::say) << code;
    EXPECT_EQ(verdict.status, SampleStatus::not_supported) << code;
    EXPECT_FALSE(state.due(1000 * kSecond)) << code;
  }
}

TEST(NvmlCallState, AsksAgainForPermissionAfterAMinute) {
  CallState state;
  EXPECT_EQ(state.judge(kNoPermission, 5 * kSecond).status, SampleStatus::not_permitted);
  EXPECT_FALSE(state.due(64 * kSecond));
  EXPECT_TRUE(state.due(65 * kSecond));
}

TEST(NvmlCallState, KeepsAValueThroughTwoMissesAndCallsTheThirdStale) {
  CallState state;
  EXPECT_EQ(state.judge(kNoData, 0).status, SampleStatus::pending);
  EXPECT_EQ(state.judge(kSuccess, 0).kind, Kind::value);
  EXPECT_EQ(state.judge(kNotFound, 0).kind, Kind::keep);
  EXPECT_EQ(state.judge(kTimeout, 0).kind, Kind::keep);
  EXPECT_EQ(state.judge(kNotReady, 0).status, SampleStatus::stale);
  EXPECT_EQ(state.judge(kSuccess, 0).kind, Kind::value);
  EXPECT_EQ(state.judge(kNotFound, 0).kind, Kind::keep);
}

TEST(NvmlCallState, ReadsTenTimesLessOftenAfterFiveFailures) {
  CallState state;
  for (int i = 1; i <= 5; ++i) {
    EXPECT_TRUE(state.due(0));
    const Verdict verdict = state.judge(kUnknown, 0);
    EXPECT_EQ(verdict.status, SampleStatus::error);
    EXPECT_EQ(verdict.degraded, i == 5);
  }
  int asked = 0;
  for (int tick = 0; tick < 100; ++tick) {
    if (!state.due(0)) continue;
    asked++;
    EXPECT_FALSE(state.judge(kUnknown, 0).degraded);
  }
  EXPECT_EQ(asked, 10);
  while (!state.due(0)) {
  }
  state.judge(kSuccess, 0);
  EXPECT_TRUE(state.due(0));
  EXPECT_TRUE(state.due(0));
}

TEST(NvmlCallState, TellsALostDeviceFromALostLibrary) {
  CallState state;
  state.judge(kSuccess, 0);
  for (const Return code : {kGpuIsLost, kResetRequired, kGpuNotFound}) {
    EXPECT_EQ(state.judge(code, 0).kind, Kind::lost);
  }
  EXPECT_EQ(state.judge(kUninitialized, 0).kind, Kind::reinitialize);
  EXPECT_EQ(state.judge(kInvalidArgument, 0).kind, Kind::reinitialize);
}

TEST(NvmlCallState, TakesACodeItDoesNotKnowForAFailure) {
  CallState state;
  EXPECT_EQ(state.judge(0xFFFFFFFF, 0).status, SampleStatus::error);
  EXPECT_EQ(state.judge(5, 0).status, SampleStatus::error);
}

}  // namespace
}  // namespace genscope::probe::nvml
