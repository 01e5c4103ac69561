// What the names of token kernels say: names as they stand in public profiles.
#include "torch/moe_calls.h"

#include <gtest/gtest.h>

namespace comm_probe::torch {
namespace {

MoeKernelFacts facts_of(std::string_view name) {
  const auto kernel = comm_kernel_of(name);
  EXPECT_TRUE(kernel) << name;
  return kernel ? moe_kernel_facts(name, *kernel) : MoeKernelFacts{};
}

TEST(MoeKernelFacts, LowLatencySaysHiddenAndFormat) {
  const auto old = facts_of("void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*, int)");
  EXPECT_EQ(old.hidden, 7168);
  EXPECT_EQ(old.is_fp8, true);
  EXPECT_FALSE(old.nodes || old.ranks_per_node);
  const auto nsys = facts_of("void deep_ep::internode_ll::dispatch<(bool)0, (bool)1, (int)6144>()");
  EXPECT_EQ(nsys.hidden, 6144);
  EXPECT_EQ(nsys.is_fp8, false);
  for (const char* combine : {"void deep_ep::internode_ll::combine<3, 10, 7168, 9>(void*)",
                              "void deep_ep::internode_ll::combine<false, 7168, 11, 4>(void*)"}) {
    EXPECT_EQ(facts_of(combine).hidden, 7168) << combine;
    EXPECT_FALSE(facts_of(combine).is_fp8) << combine << ": that bool is LogFMT";
  }
  EXPECT_EQ(facts_of("void nccl_ep::internode_ll::dispatch<(bool)0,(bool)0,(int)7168,"
                     "(ncclEpLayout_t)1,(bool)1>(int)")
                .hidden,
            7168);
}

TEST(MoeKernelFacts, NormalSaysNodesOrRanks) {
  EXPECT_EQ(facts_of("void deep_ep::internode::dispatch<false, 4, false, 7, 4>(int4*)").nodes, 4);
  EXPECT_EQ(
      facts_of("void deep_ep::internode::combine<false, 4, __nv_bfloat16, 16, 4>(int4*)").nodes, 4);
  const auto inside = facts_of("void deep_ep::intranode::dispatch<(int)4, (int)768, (int)8192>()");
  EXPECT_EQ(inside.ranks_per_node, 4);
  EXPECT_EQ(inside.nodes, 1);
  EXPECT_FALSE(inside.hidden) << "8192 is shared memory";
  EXPECT_EQ(
      facts_of("void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>()").ranks_per_node,
      8);
}

// Cut, nested and foreign names say nothing and break nothing.
TEST(MoeKernelFacts, StrangeNamesSayNothing) {
  for (const char* name :
       {"void deep_ep::internode_ll::dispatch", "void deep_ep::internode_ll::dispatch<true, 3, 10",
        "void deep_ep::internode_ll::dispatch<>()", "void deep_ep::internode_ll::dispatch<(bool)>",
        "void deep_ep::internode_ll::dispatch<99999999999999999999>()",
        "void deep_ep::internode_ll::dispatch<a<7168>>()", "void deep_ep::intranode::combine<8>()",
        "void deep_ep::internode::dispatch<4, 4>()", "void deep_ep::intranode::dispatch<-8, 1>()",
        "void deep_ep::internode::notify_dispatch<false, 4>()"}) {
    const auto facts = facts_of(name);
    EXPECT_FALSE(facts.hidden || facts.nodes || facts.ranks_per_node) << name;
  }
}

}  // namespace
}  // namespace comm_probe::torch
