#include "nccl/price.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "catalog/catalog.h"
#include "nccl/nccl.h"

namespace comm_probe::nccl {
namespace {

using core::Bytes;
using model::Collective;
using model::Op;

const catalog::Machine& machine(const char* name) {
  return *catalog::Catalog::builtin().find_machine(name);
}

Tuning tuning_of(const char* name, int nodes) {
  return tune_catalog_job(machine(name), {machine(name).gpus * nodes, nodes}).value();
}

// tests/oracle has 25.20048 us for this call (dgxh100, n2).
TEST(Price, NamesWhatATreeOfEightBytesIsMadeOf) {
  const auto ledger = price({Op::kAllReduce, 16, Bytes::of(8)}, tuning_of("dgx-h100", 2)).value();
  EXPECT_EQ(ledger.algorithm, model::Algorithm::kNcclTree);
  EXPECT_EQ(ledger.protocol, model::Protocol::kLl);
  EXPECT_NEAR(ledger.time().in_us(), 25.20048, 1e-4);
  ASSERT_EQ(ledger.terms.size(), 4U);
  EXPECT_NEAR(ledger.terms[0].time().in_us(), 6.8, 1e-5);
  EXPECT_EQ(ledger.terms[1].steps, 14);
  EXPECT_NEAR(ledger.terms[1].link.alpha.in_us(), 0.6, 1e-6);
  EXPECT_EQ(ledger.terms[2].steps, 2);
  EXPECT_EQ(ledger.steps, 16);
  EXPECT_TRUE(ledger.is_latency_bound());
}

constexpr std::uint64_t kSizes[] = {std::uint64_t{64} << 10, std::uint64_t{32} << 20,
                                    std::uint64_t{4} << 30};

// The terms of every method on every machine add up to the time that decides NCCL's choice.
TEST(Price, TermsAddUpToNcclsTime) {
  int compared = 0;
  for (const catalog::Machine& each : catalog::Catalog::builtin().machines()) {
    for (const int nodes : {1, 2, 5}) {
      const int ranks = each.gpus * nodes;
      const auto tuning = tune_catalog_job(each, {ranks, nodes});
      if (!tuning || ranks < 2) continue;
      for (const Function function : kAllFunctions)
        for (const Algorithm algorithm : kAllAlgorithms)
          for (const Protocol protocol : kAllProtocols)
            for (const std::uint64_t bytes : kSizes) {
              const auto candidate =
                  candidate_of(*tuning, call_of(function, bytes, ranks), algorithm, protocol);
              if (!candidate) continue;
              const auto ledger = price({op_of(function), ranks, Bytes::of(bytes)}, *tuning,
                                        {.algorithm = algorithm, .protocol = protocol});
              ASSERT_TRUE(ledger.ok()) << each.name << nodes;
              EXPECT_NEAR(ledger->time().in_us() / candidate->time.us, 1, 1e-5)
                  << each.name << " " << nodes << " " << function_name(function) << " "
                  << table_name(algorithm) << " " << table_name(protocol) << " " << bytes;
              ++compared;
            }
    }
  }
  EXPECT_GT(compared, 5000);
}

// What limits leave is never faster than the free choice, and the free choice is among the others.
TEST(Price, LimitsNeverHelp) {
  const Tuning tuning = tuning_of("dgx-h100", 4);
  for (std::uint64_t bytes = 8; bytes <= std::uint64_t{4} << 30; bytes *= 4) {
    const Collective collective = {Op::kAllReduce, 32, Bytes::of(bytes)};
    const auto free = price(collective, tuning).value();
    for (const Protocol protocol : kAllProtocols) {
      const auto limited = price(collective, tuning, {.protocol = protocol}).value();
      EXPECT_GE(limited.time(), free.time());
      if (limited.protocol == free.protocol) continue;
      EXPECT_TRUE(std::any_of(
          limited.rejected.begin(), limited.rejected.end(),
          [&](const auto& other) { return std::abs(other.time / free.time() - 1) < 1e-6; }));
    }
  }
}

TEST(Price, KneeAndPlateauAreSizesOfTheChoice) {
  const Tuning tuning = tuning_of("dgx-a100", 2);
  const auto ledger = price({Op::kAllReduce, 16, Bytes::of(1 << 20)}, tuning).value();
  const auto at = [&](Bytes bytes) { return price({Op::kAllReduce, 16, bytes}, tuning).value(); };
  EXPECT_FALSE(at(ledger.knee).is_latency_bound());
  EXPECT_TRUE(at(ledger.knee * 0.95).is_latency_bound());
  EXPECT_GE(at(ledger.plateau90).busbw(), ledger.plateau_busbw * 0.8999);
  EXPECT_LT(at(ledger.plateau90 * 0.9).busbw(), ledger.plateau_busbw * 0.9);
}

TEST(Price, RefusesWhatHasNoModel) {
  const Tuning tuning = tuning_of("dgx-a100", 1);
  EXPECT_NE(price({Op::kAllToAll, 8, Bytes::of(8)}, tuning).error().message.find("no model"),
            std::string::npos);
  EXPECT_NE(price({Op::kAllReduce, 16, Bytes::of(8)}, tuning).error().message.find("the job has 8"),
            std::string::npos);
  const auto nvls =
      price({Op::kAllReduce, 8, Bytes::of(8)}, tuning, {.algorithm = Algorithm::kNvls});
  EXPECT_NE(nvls.error().message.find("NCCL has no NVLS for all_reduce"), std::string::npos);
}

TEST(CatalogJob, PlateauOfTwoDgxH100) {
  const auto ledger =
      price({Op::kAllReduce, 16, Bytes::of(std::uint64_t{8} << 30)}, tuning_of("dgx-h100", 2))
          .value();
  EXPECT_EQ(ledger.algorithm, model::Algorithm::kNvlsTree);
  EXPECT_NEAR(ledger.busbw().in_GBps(), 461, 0.5);
}

TEST(CatalogJob, APartOfANodeIsItsFirstGpus) {
  const catalog::Machine part = with_first_gpus(machine("dgx-1v"), 4);
  EXPECT_EQ(part.gpus, 4);
  for (const auto& pair : part.gpu_pairs) EXPECT_LT(std::max(pair.first, pair.second), 4);
  const auto tuning = tune_catalog_job(machine("dgx-h100"), {4, 1}).value();
  EXPECT_EQ(tuning.job.agreement.ranks, 4);
}

TEST(CatalogJob, RefusesWhatItCannotPlan) {
  EXPECT_FALSE(tune_catalog_job(machine("oci-mi300x"), {8, 1}).ok());
  EXPECT_FALSE(tune_catalog_job(machine("dgx-h100"), {9, 2}).ok());
  const auto trays = tune_catalog_job(machine("gb200-nvl72-tray"), {80, 20});
  ASSERT_FALSE(trays.ok());
  EXPECT_NE(trays.error().message.find("do not fill NVLink domains"), std::string::npos);
}

// tests/oracle has 915.1 GB/s for the rack; public curves c16 and c17 measured 839 and 810.
TEST(CatalogJob, TraysOfARackAreOneDomain) {
  const auto busbw = [](int racks) {
    const int ranks = 72 * racks;
    const auto tuning = tune_catalog_job(machine("gb200-nvl72-tray"), {ranks, 18 * racks}).value();
    return price({Op::kAllReduce, ranks, Bytes::of(std::uint64_t{4} << 30)}, tuning)
        .value()
        .busbw()
        .in_GBps();
  };
  EXPECT_NEAR(busbw(1), 915.1, 0.5);
  EXPECT_NEAR(busbw(2), 911.1, 0.5);
}

}  // namespace
}  // namespace comm_probe::nccl
