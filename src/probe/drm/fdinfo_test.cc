#include "probe/drm/fdinfo.h"

#include <gtest/gtest.h>

namespace genscope::probe::drm {
namespace {

TEST(Fdinfo, ReadsAmdgpu) {
  Fdinfo info;
  ASSERT_TRUE(
      parse_fdinfo("pos:\t0\nflags:\t02100002\ndrm-driver:\tamdgpu\ndrm-client-id:\t42\n"
                   "drm-pdev:\t0000:03:00.0\npasid:\t32770\ndrm-memory-vram:\t2048 KiB\n"
                   "drm-memory-gtt: \t3 MiB\ndrm-memory-cpu: \t9 KiB\n"
                   "drm-engine-gfx:\t1000 ns\ndrm-engine-compute:\t500 ns\ndrm-engine-dec:\t7 ns\n",
                   info));
  EXPECT_EQ(info.driver, "amdgpu");
  EXPECT_EQ(info.pdev, "0000:03:00.0");
  EXPECT_EQ(info.client_id, 42u);
  EXPECT_EQ(info.local_bytes, 2048u * 1024);
  EXPECT_EQ(info.shared_bytes, 3u << 20);
  EXPECT_EQ(info.engines[kRender].busy_ns, 1000u);
  EXPECT_EQ(info.engines[kCompute].busy_ns, 500u);
}

TEST(Fdinfo, PrefersResidentMemoryAndSumsRegions) {
  Fdinfo info;
  ASSERT_TRUE(
      parse_fdinfo("drm-total-vram0: 100\ndrm-resident-vram0: 60\ndrm-resident-vram1: 5\n"
                   "drm-memory-vram: 90\ndrm-total-system: 12 KiB\n",
                   info));
  EXPECT_EQ(info.local_bytes, 65u);
  EXPECT_EQ(info.shared_bytes, 12288u);
  ASSERT_TRUE(parse_fdinfo("drm-total-local0: 7\n", info));
  EXPECT_EQ(info.local_bytes, 7u);
  EXPECT_FALSE(info.shared_bytes);
}

TEST(Fdinfo, ReadsI915AndXe) {
  Fdinfo info;
  ASSERT_TRUE(
      parse_fdinfo("drm-driver: i915\ndrm-engine-render: 25662044495 ns\n"
                   "drm-engine-capacity-render: 2\ndrm-engine-copy: 3 ns\n",
                   info));
  EXPECT_EQ(info.engines[kRender].busy_ns, 25662044495u);
  EXPECT_EQ(info.engines[kRender].capacity, 2u);
  ASSERT_TRUE(
      parse_fdinfo("drm-driver: xe\ndrm-cycles-rcs: 28257900\ndrm-total-cycles-rcs: 7655183225\n"
                   "drm-cycles-ccs: 5\ndrm-total-cycles-ccs: 6\ndrm-engine-capacity-ccs: 4\n",
                   info));
  EXPECT_EQ(info.engines[kRender].cycles, 28257900u);
  EXPECT_EQ(info.engines[kRender].total_cycles, 7655183225u);
  EXPECT_FALSE(info.engines[kRender].busy_ns);
  EXPECT_EQ(info.engines[kCompute].capacity, 4u);
}

TEST(Fdinfo, SkipsNonsense) {
  Fdinfo info;
  EXPECT_FALSE(parse_fdinfo("pos:\t0\nflags:\t02\n", info));
  EXPECT_FALSE(parse_fdinfo("", info));
  ASSERT_TRUE(
      parse_fdinfo("drm-client-id: -3\ndrm-memory-vram: 99999999999999999999 KiB\n"
                   "drm-resident-vram: 18446744073709551615 MiB\ndrm-engine-gfx\n"
                   "drm-engine-capacity-gfx: 0\n:::\ndrm-:\n",
                   info));
  EXPECT_FALSE(info.client_id || info.local_bytes || info.engines[kRender].busy_ns);
  EXPECT_EQ(info.engines[kRender].capacity, 1u) << "0 would divide";
}

}  // namespace
}  // namespace genscope::probe::drm
