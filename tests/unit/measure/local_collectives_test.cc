// Every op x algorithm x element x reduction x number of ranks on small odd sizes, against data
// whose result is known, and against a sum in double for random data.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <random>

#include "local_team.h"
#include "measure/engines/local/algorithms.h"
#include "measure/engines/local/store_choice.h"
#include "measure/known_data.h"

namespace comm_probe::measure::local {
namespace {

using model::Algorithm;
using model::Op;

constexpr std::array kOps = {Op::kAllReduce, Op::kAllGather, Op::kReduceScatter, Op::kBroadcast,
                             Op::kReduce,    Op::kAllToAll,  Op::kSendRecv};

bool reduces(Op op) {
  return op == Op::kAllReduce || op == Op::kReduce || op == Op::kReduceScatter;
}

// Buffers of one rank, large enough for every case.
class Buffers {
 public:
  explicit Buffers(std::size_t bytes) : send_(bytes), recv_(bytes) {}
  Call call(Call shape, bool in_place, int rank) {
    shape.send = in_place ? recv_.data() : send_.data();
    shape.recv = recv_.data();
    const std::size_t own = static_cast<std::size_t>(rank) * shape.bytes(shape.count);
    if (in_place && shape.op == Op::kAllGather) shape.send += own;
    if (in_place && shape.op == Op::kReduceScatter) shape.recv += own;
    return shape;
  }

 private:
  std::vector<std::byte> send_;
  std::vector<std::byte> recv_;
};

struct Tally {
  std::uint64_t wrong = 0;
  std::uint64_t calls = 0;
};

void run_case(Comm& comm, Buffers& buffers, const Call& shape, Tally& tally) {
  for (const Algorithm algorithm : algorithms_for(shape.op))
    for (const bool in_place : {false, true}) {
      const Call call = buffers.call(shape, in_place, comm.rank());
      fill_input(call, comm.rank(), comm.ranks(), const_cast<std::byte*>(call.send));
      find_algorithm(call.op, algorithm)(comm, call);
      const std::uint64_t wrong = count_wrong(call, comm.rank(), comm.ranks());
      if (wrong > 0 && tally.wrong == 0)  // in a child: only the output reaches the reader
        std::fprintf(stderr, "rank %d of %d: %s %s %s %s count %zu in place %d: %lu wrong\n",
                     comm.rank(), comm.ranks(), algorithm_name(algorithm), op_name(call.op),
                     element_name(call.element), reduction_name(call.reduction), call.count,
                     in_place, wrong);
      tally.wrong += wrong;
      ++tally.calls;
    }
}

// Counts around nothing, one line of a flag, and the cuts between ranks and chunks.
void run_all_cases(Comm& comm, Tally& tally) {
  constexpr std::size_t kLong = 20011;
  Buffers buffers(kLong * sizeof(double) * static_cast<std::size_t>(comm.ranks()));
  for (const Op op : kOps)
    for (const Element element : kAllElements)
      for (const Reduction reduction : kAllReductions) {
        if (!reduces(op) && reduction != Reduction::kSum) continue;
        Call shape = {.op = op, .element = element, .reduction = reduction};
        shape.root = comm.ranks() - 1;
        for (const std::size_t count :
             {std::size_t{0}, std::size_t{1}, std::size_t{13}, std::size_t{1003}}) {
          shape.count = count;
          run_case(comm, buffers, shape, tally);
        }
        const bool is_common = element == Element::kF32 || reduction == Reduction::kAvg;
        shape.count = kLong;
        if (is_common && comm.ranks() <= 5) run_case(comm, buffers, shape, tally);
      }
}

struct Team {
  int ranks;
  Stores stores;
};
void PrintTo(const Team& team, std::ostream* out) {
  *out << team.ranks << " ranks, " << (team.stores == Stores::kCached ? "cached" : "streaming");
}
class Collectives : public testing::TestWithParam<Team> {};

TEST_P(Collectives, ResultsOfKnownDataAreRightBitForBit) {
  const Cells cells(2);
  const Ended ended = in_processes(GetParam().ranks, [&](Comm& comm) {
    Tally tally;
    comm.use(GetParam().stores);
    run_all_cases(comm, tally);
    cells[0] += tally.wrong;
    cells[1] += tally.calls;
  });
  EXPECT_TRUE(ended.ok()) << (ended.died ? ended.died->sentence() : "");
  EXPECT_EQ(cells[0], 0u);
  EXPECT_GT(cells[1], 1000u);
}
INSTANTIATE_TEST_SUITE_P(Ranks, Collectives,
                         testing::Values(Team{1, Stores::kCached}, Team{2, Stores::kCached},
                                         Team{3, Stores::kCached}, Team{4, Stores::kCached},
                                         Team{5, Stores::kCached}, Team{8, Stores::kCached},
                                         Team{2, Stores::kStreaming}, Team{3, Stores::kStreaming},
                                         Team{5, Stores::kStreaming}));

// All ranks end with the same kind, whichever it is; what is too short to stream stays cached.
TEST(StoreChoice, IsOneForAllRanks) {
  const Cells cells(4);
  const Ended ended = in_processes(2, [&](Comm& comm) {
    std::vector<std::byte> send(65536), recv(65536);
    const Call call = {.count = 65536 / 4, .send = send.data(), .recv = recv.data()};
    const auto once = [&] { one_shot_all_reduce(comm, call); };
    use_faster_stores(comm, 65536, once);
    cells[static_cast<std::size_t>(comm.rank())] = comm.stores() == Stores::kStreaming ? 1 : 2;
    comm.use(Stores::kStreaming);
    use_faster_stores(comm, kLeastStreamed - 1, once);
    cells[static_cast<std::size_t>(2 + comm.rank())] = comm.stores() == Stores::kStreaming ? 1 : 2;
  });
  EXPECT_TRUE(ended.ok());
  EXPECT_NE(cells[0], 0u);
  EXPECT_EQ(cells[0], cells[1]);
  EXPECT_EQ(cells[2], 2u);
  EXPECT_EQ(cells[3], 2u);
}

// The trial is what decides: the kind that is made slow is not taken.
TEST(StoreChoice, TakesTheFasterKind) {
  for (const Stores slow : {Stores::kCached, Stores::kStreaming}) {
    const Cells cells(2);
    const Ended ended = in_processes(2, [&](Comm& comm) {
      use_faster_stores(comm, 1 << 20, [&] {
        comm.barrier();
        if (comm.stores() == slow) ::usleep(30000);
      });
      cells[static_cast<std::size_t>(comm.rank())] = comm.stores() == slow ? 1 : 2;
    });
    EXPECT_TRUE(ended.ok());
    EXPECT_EQ(cells[0], 2u);
    EXPECT_EQ(cells[1], 2u);
  }
}

double loaded(Element element, const std::byte* at) {
  if (element == Element::kF64) {
    double value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint32_t bits = 0;
  if (element == Element::kF32) {
    std::memcpy(&bits, at, sizeof bits);
  } else {
    std::uint16_t half;
    std::memcpy(&half, at, sizeof half);
    bits = static_cast<std::uint32_t>(half) << 16;  // bf16
  }
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::vector<double> random_values(int rank, std::size_t count) {
  std::mt19937 source(static_cast<unsigned>(rank) + 1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(count);
  for (double& value : values) value = uniform(source);
  return values;
}

// The sum in double of what each rank has after rounding to the element, and how far it may be off:
// one unit in the last place of the largest partial sum per addition.
struct Reference {
  std::vector<double> sum;
  double tolerance;
};
Reference reference(Element element, int ranks, std::size_t count) {
  const double unit = element == Element::kBf16  ? std::ldexp(1, -8)
                      : element == Element::kF32 ? std::ldexp(1, -24)
                                                 : std::ldexp(1, -53);
  Reference r = {std::vector<double>(count, 0.0), unit * ranks * ranks};
  std::byte stored[8];
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<double> values = random_values(rank, count);
    for (std::size_t i = 0; i < count; ++i) {
      store_element(element, stored, values[i]);
      r.sum[i] += loaded(element, stored);
    }
  }
  return r;
}

std::uint64_t hash_of(const std::byte* data, std::size_t bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (std::size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<std::uint64_t>(data[i])) * 1099511628211ULL;
  return hash;
}

// Cells: 0 counts values outside the tolerance; then one hash per algorithm and rank.
void sum_random(Comm& comm, Element element, const Cells& cells) {
  constexpr std::size_t kCount = 3001;
  const Reference expected = reference(element, comm.ranks(), kCount);
  const std::vector<double> own = random_values(comm.rank(), kCount);
  std::vector<std::byte> send(kCount * 8), recv(kCount * 8);
  const Call call = {.op = Op::kAllReduce,
                     .element = element,
                     .count = kCount,
                     .send = send.data(),
                     .recv = recv.data()};
  for (std::size_t i = 0; i < kCount; ++i)
    store_element(element, send.data() + call.bytes(i), own[i]);
  std::size_t cell = 1 + static_cast<std::size_t>(comm.rank());
  for (const Algorithm algorithm : algorithms_for(Op::kAllReduce)) {
    find_algorithm(Op::kAllReduce, algorithm)(comm, call);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double got = loaded(element, recv.data() + call.bytes(i));
      if (std::fabs(got - expected.sum[i]) > expected.tolerance) ++cells[0];
    }
    cells[cell] = hash_of(recv.data(), call.bytes(kCount));
    cell += static_cast<std::size_t>(comm.ranks());
  }
}

TEST(RandomData, SumsAreNearTheSumInDoubleAndTheSameOnEveryRank) {
  for (const Element element : {Element::kF32, Element::kF64, Element::kBf16})
    for (const std::size_t ranks : {2u, 3u, 4u, 5u, 8u}) {
      const std::size_t algorithms = algorithms_for(Op::kAllReduce).size();
      const Cells cells(1 + algorithms * ranks);
      const Ended ended = in_processes(static_cast<int>(ranks),
                                       [&](Comm& comm) { sum_random(comm, element, cells); });
      ASSERT_TRUE(ended.ok());
      EXPECT_EQ(cells[0], 0u) << element_name(element) << " on " << ranks << " ranks";
      for (std::size_t row = 0; row < algorithms; ++row)
        for (std::size_t rank = 1; rank < ranks; ++rank)
          EXPECT_EQ(cells[1 + row * ranks], cells[1 + row * ranks + rank])
              << "algorithm " << row << ", rank " << rank << " of " << ranks;
    }
}

// The same protocol between threads: what the thread sanitizer checks.
TEST(Threads, FlagsOrderEveryAccess) {
  for (const int ranks : {2, 3, 4}) {
    std::atomic<std::uint64_t> wrong = 0;
    in_threads(ranks, [&](Comm& comm) {
      Buffers buffers(40013 * sizeof(float) * static_cast<std::size_t>(comm.ranks()));
      Tally tally;
      for (const Op op : kOps)
        for (const std::size_t count : {std::size_t{2}, std::size_t{100}, std::size_t{40013}})
          for (int again = 0; again < 3; ++again)
            run_case(comm, buffers, {.op = op, .count = count}, tally);
      comm.barrier();
      wrong += tally.wrong;
    });
    EXPECT_EQ(wrong, 0u) << ranks << " ranks";
  }
}

// Streams outlive many turns of their ring, and of the numbers' reuse of slots.
TEST(Streams, ThousandsOfMessagesOneWay) {
  const Cells cells(1);
  const Ended ended = in_processes(2, [&](Comm& comm) {
    for (std::uint32_t message = 0; message < 20000; ++message) {
      if (comm.rank() == 0) {
        std::memcpy(comm.to(1).reserve(4), &message, 4);
        comm.to(1).post();
        continue;
      }
      std::uint32_t got = 0;
      std::memcpy(&got, comm.from(0).wait(4), 4);
      comm.from(0).release();
      if (got != message) ++cells[0];
    }
  });
  EXPECT_TRUE(ended.ok());
  EXPECT_EQ(cells[0], 0u);
}

// Five ranks once had chunks of 26214 bytes: flags lay across two lines.
TEST(Streams, EveryFlagHasALineOfItsOwn) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    const ChunkSizes chunks = chunk_sizes(ranks);
    EXPECT_EQ(chunks.board % kLine, 0u) << ranks;
    EXPECT_EQ(chunks.pair % kLine, 0u) << ranks;
    EXPECT_GE(chunks.pair, 4096u) << ranks;
    EXPECT_LE(chunks.board, 64u << 10) << ranks;  // the spare operand of one_shot.cc
  }
}

TEST(Algorithms, WhatDoesNotExistIsRefusedWithWhatDoes) {
  const auto refused = require_algorithm(Op::kAllGather, Algorithm::kTree);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().one_line(),
            "the local engine has no tree all_gather; it has: ring, one-shot");
}

}  // namespace
}  // namespace comm_probe::measure::local
