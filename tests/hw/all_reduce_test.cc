// The custom all_reduce on a real GPU: skipped, with the reason, where there is none. Expected
// values are made here, on the host, in float64, from data that the host has made.
#include "measure/engines/cuda/all_reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "measure/engines/cuda/all_reduce_kernels.h"
#include "measure/engines/cuda/all_reduce_memory.h"
#include "measure/engines/cuda/visible_devices.h"
#include "measure/known_data.h"

namespace comm_probe::measure::cuda {
namespace {

using model::Algorithm;

constexpr std::array kAlgorithms = {Algorithm::kOneShot, Algorithm::kTwoShot, Algorithm::kRing};
constexpr std::array kElements = {Element::kF32, Element::kF16, Element::kBf16};

#define NEEDS_GPU()                                                                 \
  if (const auto absent = missing_all_reduce()) GTEST_SKIP() << absent->one_line(); \
  static_assert(true)

Plan plan_for(Algorithm algorithm, Element element, int ranks) {
  Plan plan;
  plan.algorithm = algorithm;
  plan.element = element;
  plan.ranks = ranks;
  plan.iterations = 3;
  plan.warmup = 1;
  plan.blocks = 3;
  return plan;
}

core::Result<Run> run_quietly(const Plan& plan) {
  return run_all_reduce_plan(plan, [](const std::string&) {});
}

void expect_right(const core::Result<Run>& run, std::size_t sizes) {
  ASSERT_TRUE(run.ok()) << run.error().one_line();
  ASSERT_EQ(run->rows.size(), sizes);
  for (const Row& row : run->rows) {
    EXPECT_EQ(row.out_of_place.wrong, 0u) << row.bytes.count();
    EXPECT_EQ(row.in_place.wrong, 0u) << row.bytes.count();
    EXPECT_GT(row.out_of_place.time.in_seconds(), 0);
    EXPECT_GT(row.floor.value_or(core::Duration{}).in_seconds(), 0);
  }
}

// First, while the driver is not in use in this process: the ranks are processes.
TEST(AllReduceProcesses, MapEachOthersMemory) {
  NEEDS_GPU();
  if (visible_devices()->driver_runs_here) GTEST_SKIP() << "the driver is in use in this process";
  for (const Algorithm algorithm : kAlgorithms) {
    Plan plan = plan_for(algorithm, Element::kF32, 3);
    plan.shares_one_gpu = true;
    plan.begin = core::Bytes::of(4);
    plan.end = core::Bytes::of(400004);
    plan.factor = 10;
    const auto run = run_quietly(plan);
    expect_right(run, 6);
    ASSERT_EQ(run->context.devices.size(), 3u);
    EXPECT_NE(run->context.devices[0].process, run->context.devices[1].process);
  }
}

// Launches on data of the host, of up to kMostElements.
constexpr std::size_t kMostElements = 20011;
class Machine {
 public:
  Machine(Element element, int ranks)
      : element_(element),
        ranks_(ranks),
        context_(Context::open(0).value()),
        kernels_(AllReduceKernels::load(element, ranks).value()),
        memory_(kMostElements * element_bytes(element), ranks, 1),
        buffer_(DeviceBuffer::make(core::Bytes::of(memory_.bytes(0))).value()) {
    clear();
  }

  void use(std::size_t count) {
    count_ = count;
    clear();
  }
  // Inputs of all ranks, as the type holds them.
  std::vector<std::vector<double>> upload_random(unsigned seed) {
    std::mt19937_64 generator(seed);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<std::vector<double>> inputs;
    for (int rank = 0; rank < ranks_; ++rank) {
      std::vector<std::byte> raw(bytes());
      for (std::size_t i = 0; i < count_; ++i)
        store_element(element_, raw.data() + i * element_bytes(element_),
                      values(generator) * std::exp2(static_cast<float>(i % 9)));
      EXPECT_TRUE(driver().cuMemcpyHtoD_v2(address(call().send[rank]), raw.data(), raw.size()));
      inputs.push_back(doubles(raw));
    }
    return inputs;
  }

  bool launch(Algorithm algorithm, bool in_place, int ranks_that_come, double seconds) {
    AllReduceCall call = this->call();
    call.count = count_;
    call.timeout_ns = static_cast<std::uint64_t>(seconds * 1e9);
    for (int rank = 0; rank < ranks_ && in_place; ++rank)
      call.recv[rank] = const_cast<void*>(call.send[rank]);
    const FunctionHandle kernel = *kernels_.of(algorithm);
    const auto shape = *shape_for({algorithm, bytes(), ranks_, ranks_,
                                   *resident_blocks(kernel, kMostThreads, context_),
                                   static_cast<unsigned>(context_.attribute(kMultiprocessors))});
    std::array<void*, 1> parameters = {&call};
    return driver().cuLaunchKernel(kernel, shape.blocks, static_cast<unsigned>(ranks_that_come), 1,
                                   shape.threads, 1, 1, 0, nullptr, parameters.data(), nullptr) &&
           driver().cuCtxSynchronize();
  }

  std::vector<std::byte> download(int rank, bool in_place) const {
    std::vector<std::byte> raw(bytes());
    const void* from = in_place ? call().send[rank] : call().recv[rank];
    EXPECT_TRUE(driver().cuMemcpyDtoH_v2(raw.data(), address(from), raw.size()));
    return raw;
  }
  Failure failure(int rank) const {
    Failure failure = {};
    const Address at = address(call().signals[rank]) + offsetof(Signals, failure);
    EXPECT_TRUE(driver().cuMemcpyDtoH_v2(&failure, at, sizeof failure));
    return failure;
  }
  void clear() {
    EXPECT_TRUE(driver().cuMemsetD8Async(buffer_.address(), 0, memory_.bytes(0), nullptr));
    EXPECT_TRUE(driver().cuCtxSynchronize());
  }

  std::vector<double> doubles(const std::vector<std::byte>& raw) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < count_; ++i) values.push_back(value_at(raw.data(), i));
    return values;
  }

 private:
  std::size_t bytes() const { return count_ * element_bytes(element_); }
  AllReduceCall call() const { return memory_.call_over(std::array{buffer_.address()}); }
  static Address address(const void* at) { return reinterpret_cast<Address>(at); }

  double value_at(const std::byte* raw, std::size_t i) const {
    if (element_ == Element::kF32) {
      float value = 0;
      std::memcpy(&value, raw + 4 * i, 4);
      return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, raw + 2 * i, 2);
    const int digits = element_ == Element::kF16 ? 10 : 7;
    const int bias = element_ == Element::kF16 ? 15 : 127;
    const int exponent = (bits & 0x7fff) >> digits;
    const int fraction = bits & ((1 << digits) - 1);
    const double size = exponent == 0
                            ? std::ldexp(fraction, 1 - bias - digits)
                            : std::ldexp(fraction + (1 << digits), exponent - bias - digits);
    return bits >> 15 != 0 ? -size : size;
  }

  Element element_;
  int ranks_;
  std::size_t count_ = kMostElements;
  Context context_;
  AllReduceKernels kernels_;
  AllReduceMemory memory_;
  DeviceBuffer buffer_;
};

// Unit of rounding of the type, and of the float that sums are kept in.
double unit_of(Element element) {
  if (element == Element::kF32) return 0;
  return element == Element::kF16 ? 0x1p-11 : 0x1p-8;
}

// Also that all ranks have the same bits.
void expect_near_float64(Machine& machine, Algorithm algorithm, Element element, int ranks,
                         bool in_place) {
  const auto inputs = machine.upload_random(static_cast<unsigned>(ranks));
  ASSERT_TRUE(machine.launch(algorithm, in_place, ranks, 5));
  const std::vector<std::byte> first = machine.download(0, in_place);
  for (int rank = 1; rank < ranks; ++rank)
    ASSERT_EQ(machine.download(rank, in_place), first) << "rank " << rank;
  const std::vector<double> got = machine.doubles(first);
  const double u = 0x1p-24, v = unit_of(element), n = ranks;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double exact = 0, size = 0;
    for (const auto& input : inputs) exact += input[i], size += std::fabs(input[i]);
    const double once = (n - 1) * u * size * (1 + v) + v * std::fabs(exact);
    const double each = (n - 1) * (u + v) * std::pow(1 + u + v, n) * size;
    ASSERT_LE(std::fabs(got[i] - exact),
              (algorithm == Algorithm::kRing ? each : once) + n * 0x1p-25)
        << model::algorithm_name(algorithm) << " of " << got.size() << " " << element_name(element)
        << " on " << ranks << " ranks, element " << i;
  }
}

TEST(AllReduce, IsNearTheSumInFloat64AndTheSameOnAllRanks) {
  NEEDS_GPU();
  const auto context = Context::open(0);  // kept open between the machines
  for (const Element element : kElements)
    for (const int ranks : {2, 3, 4, 5, 6, 7, 8}) {
      Machine machine(element, ranks);
      for (const std::size_t count :
           {std::size_t{1}, std::size_t{3}, std::size_t{7}, std::size_t{8}, std::size_t{17},
            std::size_t{1001}, std::size_t{4096}, kMostElements})
        for (const Algorithm algorithm : kAlgorithms)
          for (const bool in_place : {false, true}) {
            machine.use(count);
            expect_near_float64(machine, algorithm, element, ranks, in_place);
          }
    }
}

TEST(AllReduce, IsRightAtEverySizeFromSixteenBytesToEightMiB) {
  NEEDS_GPU();
  for (const Algorithm algorithm : kAlgorithms)
    for (const Element element : kElements)
      for (const int ranks : {2, 4, 8}) {
        Plan plan = plan_for(algorithm, element, ranks);
        plan.begin = core::Bytes::of(16);
        plan.end = core::Bytes::of(8 << 20);
        expect_right(run_quietly(plan), 20);
      }
}

TEST(AllReduce, IsCapturedAndReplayed) {
  NEEDS_GPU();
  for (const Algorithm algorithm : kAlgorithms) {
    Plan plan = plan_for(algorithm, Element::kBf16, 8);
    plan.begin = plan.end = core::Bytes::of(8192);
    plan.graph_launches = 5;
    expect_right(run_quietly(plan), 1);
  }
}

// Calls on ever new data, with blocks held up at random (-c N).
TEST(AllReduce, StaysRightUnderRandomDelays) {
  NEEDS_GPU();
  for (const Algorithm algorithm : kAlgorithms) {
    Plan plan = plan_for(algorithm, Element::kBf16, 8);
    plan.begin = plan.end = core::Bytes::of(12346);
    plan.checks = 5000;
    expect_right(run_quietly(plan), 1);
  }
}

// A rank that never comes ends the wait of the others, who say for whom they waited.
TEST(AllReduce, GivesUpOnAPeerThatDoesNotCome) {
  NEEDS_GPU();
  for (const Algorithm algorithm : kAlgorithms) {
    Machine machine(Element::kF32, 4);
    machine.use(1000);
    ASSERT_TRUE(machine.launch(algorithm, false, 3, 0.1));
    const Failure failure = machine.failure(0);
    EXPECT_EQ(failure.happened, 1u);
    EXPECT_EQ(failure.rank, 0u);
    EXPECT_EQ(failure.peer, 3u);
    EXPECT_EQ(failure.seen, 0u);
    EXPECT_EQ(failure.wanted, 1u);
  }
}

}  // namespace
}  // namespace comm_probe::measure::cuda
