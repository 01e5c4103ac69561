#include "measure/engines/ucx/session.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>

#include "measure/clock.h"
#include "measure/known_data.h"
#include "measure/rank_samples.h"

namespace comm_probe::measure::ucx {
namespace {

constexpr int kRegistrations = 16;
constexpr double kLongestRegistrations = 20e-3;  // seconds

// Half of the slots of a pool, in an order of their own for each rank and always the same.
std::vector<std::uint64_t> slots(const Scattered& scattered, int rank) {
  constexpr std::uint64_t kSeed = 20260101;
  std::vector<std::uint64_t> all(scattered.pieces * kPoolFactor);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i * scattered.piece.whole();
  std::mt19937_64 random(kSeed + static_cast<std::uint64_t>(rank));
  std::shuffle(all.begin(), all.end(), random);
  all.resize(scattered.pieces);
  return all;
}

// What a process registers.
std::size_t pool_size(const Session& session) {
  const std::size_t bytes = session.amounts.back().count * element_bytes(session.plan.element);
  return std::max<std::size_t>(8, session.plan.scattered ? bytes * kPoolFactor : bytes);
}

class Side {
 public:
  Side(const Session& session, int rank, std::byte* memory, std::byte* spare)
      : session_(session),
        ucx_(session.calls),
        all_(session.exchange.shared()),
        rank_(rank),
        memory_(memory),
        spare_(spare) {
    if (!session.plan.scattered) return;
    own_ = slots(*session.plan.scattered, rank);
    others_ = slots(*session.plan.scattered, 1 - rank);
  }
  ~Side() {
    if (registered_ != nullptr) ucx_.unmap(side_, registered_);
    if (side_ != nullptr) ucx_.close(side_);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void run() {
    if (!fine(ucx_.open(&side_)) || !fine(connect()) || !fine(share_memory()) || !describe())
      return;
    for (std::size_t at = 0; at < session_.amounts.size(); ++at) {
      if (!(rank_ == 0 ? measure(at) : serve(at))) return;
      if (rank_ == 0) all_.finished.store(static_cast<std::uint32_t>(at + 1));
    }
    meet();
  }

 private:
  bool fine(const char* failure) {
    if (failure != nullptr) all_.both.fail(failure);
    return failure == nullptr;
  }
  bool meet() {
    return all_.both.meet(rank_, [this] {
      if (side_ != nullptr) ucx_.progress(side_);
    });
  }
  static const char* keep(char* to, std::size_t* size, const void* bytes, std::size_t length) {
    if (length > kMostBytes) return "an address or key of UCX is longer than expected";
    std::memcpy(to, bytes, length);
    *size = length;
    return nullptr;
  }

  const char* connect() {
    const void* bytes = nullptr;
    std::size_t size = 0;
    Shared::Side& mine = all_.sides[rank_];
    if (const char* why = ucx_.address(side_, &bytes, &size)) return why;
    if (const char* why = keep(mine.address, &mine.address_size, bytes, size)) return why;
    if (!meet()) return "the other process has failed";
    return ucx_.connect(side_, all_.sides[1 - rank_].address);
  }

  const char* share_memory() {
    const std::size_t size = largest();
    Shared::Side& mine = all_.sides[rank_];
    if (const char* why = ucx_.map(side_, memory_, size, &registered_)) return why;
    const void* bytes = nullptr;
    std::size_t length = 0;
    if (const char* why = ucx_.key(side_, registered_, &bytes, &length)) return why;
    if (const char* why = keep(mine.key, &mine.key_size, bytes, length)) return why;
    mine.memory = reinterpret_cast<std::uint64_t>(memory_);
    if (!meet()) return "the other process has failed";
    return ucx_.use_key(side_, all_.sides[1 - rank_].key);
  }

  // After a first transfer the endpoint knows which ways it uses.
  bool describe() {
    if (rank_ == 0) {
      if (!fine(transfer(1, 1))) return false;
      ucx_.describe(side_, all_.description, sizeof all_.description);
      std::snprintf(all_.library, sizeof all_.library, "%s", ucx_.library());
      all_.moves_cuda_memory = static_cast<std::uint32_t>(ucx_.moves_cuda_memory(side_));
    }
    return meet();
  }

  std::size_t largest() const { return pool_size(session_); }
  bool gets() const { return session_.plan.verb == Verb::kGet; }

  const char* transfer(std::size_t bytes, int window) {
    comm_probe_ucx_transfer asked = {};
    asked.local = memory_;
    asked.memory = registered_;
    asked.remote = all_.sides[1 - rank_].memory;
    asked.size = bytes;
    asked.is_get = gets() ? 1 : 0;
    asked.window = window;
    return ucx_.transfer(side_, &asked);
  }

  // All pieces at the same time, each between slots of its own.
  const char* transfer_scattered(double* posting) {
    comm_probe_ucx_transfer asked = {};
    asked.local = memory_;
    asked.memory = registered_;
    asked.remote = all_.sides[1 - rank_].memory;
    asked.size = session_.plan.scattered->piece.whole();
    asked.is_get = gets() ? 1 : 0;
    asked.local_offsets = own_.data();
    asked.remote_offsets = others_.data();
    asked.pieces = own_.size();
    asked.posting_seconds = posting;
    return ucx_.transfer(side_, &asked);
  }

  // What the plan times: one message, or all pieces of a scattered one.
  const char* transfer_once(std::size_t bytes) {
    return session_.plan.scattered ? transfer_scattered(nullptr) : transfer(bytes, 1);
  }

  // As a send_recv from rank 0 to rank 1 (put), or from rank 1 to rank 0 (get).
  Call call(std::size_t count) const {
    return {.op = model::Op::kSendRecv,
            .element = session_.plan.element,
            .count = count,
            .send = data(),
            .recv = data()};
  }
  // Scattered data is laid out and looked at in one piece, beside the pool.
  std::byte* data() const { return session_.plan.scattered ? spare_ : memory_; }
  enum class Way { kIntoSlots, kOutOfSlots };
  void lay_out(Way way) {
    if (!session_.plan.scattered) return;
    const std::size_t piece = session_.plan.scattered->piece.whole();
    for (std::size_t i = 0; i < own_.size(); ++i) {
      std::byte* const slot = memory_ + own_[i];
      std::byte* const whole = spare_ + i * piece;
      std::memcpy(way == Way::kIntoSlots ? slot : whole, way == Way::kIntoSlots ? whole : slot,
                  piece);
    }
  }
  bool is_sender() const { return gets() ? rank_ == 1 : rank_ == 0; }

  // Elements that are wrong after one transfer; all meet before and after it.
  bool check(std::size_t count, std::uint64_t& wrong) {
    const Call shape = call(count);
    if (is_sender()) {
      fill_input(shape, rank_, 2, data());
      lay_out(Way::kIntoSlots);
    } else {
      std::memset(memory_, 0x5a, session_.plan.scattered ? largest() : shape.bytes(count));
    }
    if (!meet()) return false;
    if (rank_ == 0 && count > 0 && !fine(transfer_once(shape.bytes(count)))) return false;
    if (!meet()) return false;
    if (!is_sender()) {
      lay_out(Way::kOutOfSlots);
      all_.wrong.store(count_wrong(shape, rank_, 2));
    }
    if (!meet()) return false;
    wrong = all_.wrong.load();
    return meet();
  }

  bool serve(std::size_t at) {
    std::uint64_t wrong = 0;
    if (session_.plan.check && !check(session_.amounts[at].count, wrong)) return false;
    return meet();
  }

  double timed(std::size_t bytes, int calls, int window) {
    const double start = now_seconds();
    for (int i = 0; i < calls; ++i)
      if (bytes > 0 && !fine(transfer(bytes, window))) return 0;
    return (now_seconds() - start) / calls;
  }
  double timed_once(std::size_t bytes, int calls) {
    const double start = now_seconds();
    for (int i = 0; i < calls; ++i)
      if (bytes > 0 && !fine(transfer_once(bytes))) return 0;
    return (now_seconds() - start) / calls;
  }

  bool measure(std::size_t at) {
    const std::size_t count = session_.amounts[at].count;
    const std::size_t bytes = call(count).bytes(count);
    SizeResult& result = session_.exchange.result(at);
    if (session_.plan.check && !check(count, result.wrong)) return false;
    if (session_.plan.scattered) measure_parts(bytes, result);
    timed_once(bytes, std::max(1, session_.plan.warmup));
    int calls = session_.plan.iterations;
    if (calls == 0) calls = iterations_for(timed_once(bytes, 2));
    if (session_.plan.iterations == 0)
      calls = iterations_for(timed_once(bytes, std::min(calls, 100)));
    result.iterations = calls;
    const std::int64_t before = preemptions_so_far();
    for (int block = 0; block < session_.plan.blocks; ++block)
      result.seconds[block] = timed_once(bytes, calls);
    result.preemptions = preemptions_so_far() - before;
    if (session_.plan.scattered) {
      fine(transfer_scattered(&result.posting));
      register_again(largest(), result);
    } else {
      result.in_flight = windowed(bytes, std::max(1, calls / kWindow));
      register_again(bytes, result);
    }
    return !all_.both.has_failed() && meet();
  }

  // What the parts cost alone: the smallest piece with many under way, and all bytes at once.
  void measure_parts(std::size_t bytes, SizeResult& result) {
    constexpr std::size_t kSmallPiece = 8;
    constexpr int kSmallCalls = 200, kWholeCalls = 2;
    result.piece = windowed(kSmallPiece, kSmallCalls);
    std::vector<double> seconds;
    timed(bytes, 1, 1);
    for (int block = 0; block < session_.plan.blocks; ++block)
      seconds.push_back(timed(bytes, kWholeCalls, 1));
    std::sort(seconds.begin(), seconds.end());
    result.contiguous = seconds[seconds.size() / 2];
  }

  double windowed(std::size_t bytes, int calls) {
    std::vector<double> seconds;
    timed(bytes, 1, kWindow);
    for (int block = 0; block < session_.plan.blocks; ++block)
      seconds.push_back(timed(bytes, calls, kWindow) / kWindow);
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }

  // The cost of registering memory that is there: pages touched, never registered before in this
  // process's `spare_`.
  void register_again(std::size_t bytes, SizeResult& result) {
    if (bytes == 0) return;
    std::vector<double> in, out;
    const double begin = now_seconds();
    for (int i = 0; i < kRegistrations && (i < 3 || now_seconds() - begin < kLongestRegistrations);
         ++i) {
      comm_probe_ucx_memory* memory = nullptr;
      const double start = now_seconds();
      if (!fine(ucx_.map(side_, spare_, bytes, &memory))) return;
      const double mapped = now_seconds();
      if (!fine(ucx_.unmap(side_, memory))) return;
      in.push_back(mapped - start);
      out.push_back(now_seconds() - mapped);
    }
    std::sort(in.begin(), in.end());
    std::sort(out.begin(), out.end());
    result.registration = in[in.size() / 2];
    result.withdrawal = out[out.size() / 2];
  }

  const Session& session_;
  const comm_probe_ucx& ucx_;
  Shared& all_;
  int rank_;
  std::byte* memory_;
  std::byte* spare_;
  std::vector<std::uint64_t> own_ = {}, others_ = {};  // slots of the pools, by piece
  comm_probe_ucx_side* side_ = nullptr;
  comm_probe_ucx_memory* registered_ = nullptr;
};

}  // namespace

// Where one fails, the other may wait inside UCX for what it will never send: a bad exit status
// makes the parent end it.
void run_session(const Session& session, int rank) {
  local::TwoProcesses& both = session.exchange.shared().both;
  const std::size_t size = std::max<std::size_t>(4096, pool_size(session));
  const auto memory = local::PrivateMemory::map(size);
  const auto spare = local::PrivateMemory::map(size);
  if (!memory || !spare) {
    both.fail("no memory for the buffers; use a smaller -e");
    ::_exit(local::kLeftItsReason);
  }
  std::memset(memory->data(), 1, size);
  std::memset(spare->data(), 1, size);
  Side(session, rank, memory->data(), spare->data()).run();
  if (both.has_failed()) ::_exit(local::kLeftItsReason);
}

}  // namespace comm_probe::measure::ucx
