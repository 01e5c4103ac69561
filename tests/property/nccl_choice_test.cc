// Properties of NCCL's choice and launch on generated jobs, so that no answer is stored per
// machine: whatever graphs a search finds, what is taken is the fastest, the launch fits its
// limits, lists of methods never let anything through that they exclude.
#include <gtest/gtest.h>

#include <random>

#include "nccl/algo_lists.h"
#include "nccl/crossover.h"
#include "nccl/readers/conf_file.h"

namespace comm_probe::nccl {
namespace {

using topology::PathType;

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}
  int number(int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random_);
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + number(0, static_cast<int>(values.size()) - 1));
  }

  GraphTraits graph(Pattern pattern) {
    GraphTraits traits;
    traits.pattern = pattern;
    traits.n_channels = number(1, 32);
    traits.same_channels = number(0, 1) == 1;
    traits.bw_intra = {one_of({0.1F, 1.2F, 3.0F, 12.0F, 24.0F, 48.0F, 60.0F})};
    traits.bw_inter = {one_of({0.1F, 1.2F, 3.0F, 12.0F, 24.0F, 48.0F, 96.0F})};
    traits.type_intra = one_of({PathType::kLoc, PathType::kNvl, PathType::kPix, PathType::kSys});
    traits.type_inter = one_of({PathType::kPix, PathType::kPxb, PathType::kPxn, PathType::kPhb});
    return traits;
  }

  TuningJob job() {
    TuningJob job;
    Agreement& all = job.agreement;
    all.ring = graph(Pattern::kRing);
    all.tree = graph(one_of({Pattern::kBalancedTree, Pattern::kTree}));
    all.tree.n_channels = all.ring.n_channels;
    all.nodes = number(1, 64);
    all.most_local_ranks = number(1, 8);
    all.ranks = all.nodes * all.most_local_ranks;
    all.least_sm = all.most_sm = one_of({70, 80, 89, 90, 100, 120});
    all.cpu_arch = topology::Cpu::Arch::kX86;
    all.cpu_vendor = one_of({topology::Cpu::Vendor::kIntel, topology::Cpu::Vendor::kAmd});
    all.nvswitches = number(0, 1);
    all.is_nvls_usable = number(0, 1) == 1;
    if (all.is_nvls_usable) all.nvls = graph(Pattern::kNvls);
    all.is_collnet_usable = all.nodes > 1 && number(0, 3) == 0;
    if (all.is_collnet_usable) {
      all.collnet_chain = graph(Pattern::kTree);
      all.collnet_direct = graph(Pattern::kCollnetDirect);
      all.collnet_heads = all.most_local_ranks;
    }
    job.channels.coll = number(1, 64);
    job.channels.nvls = all.is_nvls_usable ? number(1, 32) : 0;
    job.channels.nvls_heads = all.is_nvls_usable ? all.most_local_ranks : 0;
    job.settings.lists = default_method_lists();
    return job;
  }

  Call call(int ranks) {
    const auto function = kAllFunctions[static_cast<std::size_t>(number(0, 4))];
    const auto bytes = std::uint64_t{1} << number(3, 34);
    Call made = call_of(function, bytes + static_cast<std::uint64_t>(number(0, 4096)), ranks);
    made.count = std::max<std::uint64_t>(1, made.count);
    return made;
  }

  std::string text(const std::string& alphabet, int most) {
    std::string made;
    for (int i = number(0, most); i > 0; --i)
      made += alphabet[static_cast<std::size_t>(number(0, static_cast<int>(alphabet.size()) - 1))];
    return made;
  }

 private:
  std::mt19937 random_;
};

constexpr int kJobs = 3000;

TEST(NcclChoice, TheFastestIsTaken) {
  Generator generator(1);
  for (int i = 0; i < kJobs; ++i) {
    const TuningJob job = generator.job();
    const Tuning tuning = tune(job);
    const Call call = generator.call(job.agreement.ranks);
    const auto choice = choose(tuning, call);
    if (job.agreement.ranks == 1) continue;
    ASSERT_TRUE(choice.ok()) << choice.error().one_line();
    for (const Candidate& other : choice->others) EXPECT_GE(other.time, choice->taken.time);
    EXPECT_GT(choice->taken.time.us, 0);
    for (const Algorithm algorithm : kAllAlgorithms)
      if (const auto one = forced(*choice, algorithm)) {
        EXPECT_GE(one->ratio, 1);
      }
  }
}

TEST(NcclChoice, TheLaunchFitsItsLimits) {
  Generator generator(2);
  for (int i = 0; i < kJobs; ++i) {
    const TuningJob job = generator.job();
    if (job.agreement.ranks == 1) continue;
    const Tuning tuning = tune(job);
    const Call call = generator.call(job.agreement.ranks);
    const auto choice = choose(tuning, call);
    ASSERT_TRUE(choice.ok());
    const Launch& launch = choice->launch;
    SCOPED_TRACE(call_name(choice->taken.algorithm));
    EXPECT_GE(launch.channel_limit, 1);
    EXPECT_LE(launch.channel_limit, std::max(job.channels.coll, job.channels.nvls));
    EXPECT_GE(launch.channels, 1);
    EXPECT_LE(launch.channels, launch.channel_limit);
    EXPECT_EQ(launch.threads % 32, 0);
    EXPECT_GE(launch.threads, 96);
    EXPECT_LE(launch.threads, 640);
    EXPECT_GT(launch.chunk, 0);
    EXPECT_EQ(launch.chunk % 16, 0);
  }
}

// What a list excludes is never taken; what it leaves costs no less than the free choice.
TEST(NcclChoice, ListsOnlyTakeAway) {
  Generator generator(3);
  for (int i = 0; i < kJobs; ++i) {
    TuningJob job = generator.job();
    if (job.agreement.ranks == 1) continue;
    const Call call = generator.call(job.agreement.ranks);
    const auto free = choose(tune(job), call);
    const Algorithm without = kAllAlgorithms[static_cast<std::size_t>(generator.number(0, 6))];
    job.settings.lists = parse_method_lists(std::string("^") + table_name(without), "").value();
    const auto made = choose(tune(job), call);
    if (!made) continue;
    EXPECT_NE(made->taken.algorithm, without);
    EXPECT_GE(made->taken.time, free->taken.time);
  }
}

// At a crossover the new choice holds, one element before the old one.
TEST(NcclChoice, CrossoversHold) {
  Generator generator(4);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = 1 << 14; size <= std::uint64_t{1} << 32; size *= 2)
    sizes.push_back(size);
  for (int i = 0; i < 200; ++i) {
    const TuningJob job = generator.job();
    if (job.agreement.ranks == 1) continue;
    const Tuning tuning = tune(job);
    for (const Crossover& crossover : crossovers(tuning, {Function::kAllReduce}, sizes)) {
      const auto method = [&](std::uint64_t bytes) {
        const auto choice = choose(tuning, {Function::kAllReduce, bytes / 4});
        return std::pair(choice->taken.algorithm, choice->taken.protocol);
      };
      EXPECT_EQ(method(crossover.bytes), std::pair(crossover.to.algorithm, crossover.to.protocol));
      EXPECT_EQ(method(crossover.bytes - 4),
                std::pair(crossover.from.algorithm, crossover.from.protocol));
    }
  }
}

// Hostile text gives a list or one line of error, and a settings file never loses a line.
TEST(NcclSettings, AnyTextIsRead) {
  Generator generator(5);
  for (int i = 0; i < 20000; ++i) {
    const std::string list = generator.text("^;:, ringtreLL128alduc", 40);
    const auto parsed = parse_method_lists(list, list);
    if (!parsed) {
      EXPECT_FALSE(parsed.error().message.empty());
    }
    const std::string file = generator.text("#=\nNCCL_ A1\r", 60);
    const ConfFile conf = read_conf_file(file);
    const auto lines = static_cast<std::size_t>(std::count(file.begin(), file.end(), '\n')) + 1;
    EXPECT_LE(conf.settings.size() + conf.ignored.size(), lines);
  }
}

}  // namespace
}  // namespace comm_probe::nccl
