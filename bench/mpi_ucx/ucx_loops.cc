// The ucx engine beside a loop as ucx_perftest and the OSU put and get latency tests have it,
// written directly against UCX here: two processes on two processors, registered memory, one
// transfer at a time until it is complete. Alternating runs, the median of the ratios.
//   bench_ucx_loops [LARGEST_BYTES=1048576] [RUNS=15]
//   rows "what ours(us) direct(us) ratio"; exit 1 where the median ratio of a verb is above 1.03
#include <ucp/api/ucp.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "measure/clock.h"
#include "measure/engines/local/processes.h"
#include "measure/engines/local/shared_memory.h"
#include "measure/engines/ucx/engine.h"
#include "measure/rank_samples.h"

namespace {

using namespace comm_probe;
using measure::Verb;
using Times = std::map<std::size_t, std::vector<double>>;  // microseconds by size, one per run

constexpr double kBar = 1.03;
constexpr int kBlocks = 5;
constexpr std::size_t kMostSizes = 32;

struct Shared {
  std::atomic<int> ready[2];
  std::atomic<int> done;
  char address[2][8192];
  char key[8192];
  std::uint64_t memory;
  double seconds[kMostSizes];
};

struct Side {
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  ucp_ep_h endpoint = nullptr;
  ucp_mem_h memory = nullptr;
  ucp_rkey_h key = nullptr;
  char* data = nullptr;
  std::uint64_t remote = 0;

  void open(Shared& all, int rank, char* at, std::size_t size) {
    data = at;
    ucp_params_t params = {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_RMA;
    ucp_worker_params_t single = {};
    single.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    single.thread_mode = UCS_THREAD_MODE_SINGLE;
    ucp_mem_map_params_t map = {};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address = at;
    map.length = size;
    if (ucp_init(&params, nullptr, &context) != UCS_OK ||
        ucp_worker_create(context, &single, &worker) != UCS_OK ||
        ucp_mem_map(context, &map, &memory) != UCS_OK)
      std::exit(3);
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    void* packed = nullptr;
    ucp_worker_get_address(worker, &address, &length);
    std::memcpy(all.address[rank], address, length);
    if (rank == 1) {
      ucp_rkey_pack(context, memory, &packed, &length);
      std::memcpy(all.key, packed, length);
      all.memory = reinterpret_cast<std::uint64_t>(at);
    }
    meet(all, rank);
    ucp_ep_params_t peer = {};
    peer.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    peer.address = reinterpret_cast<ucp_address_t*>(all.address[1 - rank]);
    if (ucp_ep_create(worker, &peer, &endpoint) != UCS_OK) std::exit(3);
    if (rank == 0) ucp_ep_rkey_unpack(endpoint, all.key, &key);
    remote = all.memory;
    meet(all, rank);
  }
  void meet(Shared& all, int rank) const {
    const int mine = ++all.ready[rank];
    while (all.ready[1 - rank] < mine) ucp_worker_progress(worker);
  }
  void finish(ucs_status_ptr_t request) const {
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) std::exit(3);
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker);
    ucp_request_free(request);
  }
  void once(Verb verb, std::size_t size) const {
    ucp_request_param_t params = {};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_MEMH;
    params.memh = memory;
    if (verb == Verb::kGet) return finish(ucp_get_nbx(endpoint, data, size, remote, key, &params));
    finish(ucp_put_nbx(endpoint, data, size, remote, key, &params));
    const ucp_request_param_t none = {};
    finish(ucp_ep_flush_nbx(endpoint, &none));
  }
  double block(Verb verb, std::size_t size, int calls) const {
    const double start = measure::now_seconds();
    for (int i = 0; i < calls; ++i) once(verb, size);
    return (measure::now_seconds() - start) / calls;
  }
};

void be_side(Shared& all, int rank, Verb verb, const std::vector<std::size_t>& sizes) {
  const auto memory = measure::local::PrivateMemory::map(std::max<std::size_t>(4096, sizes.back()));
  if (!memory) std::exit(3);
  std::memset(memory->data(), 1, sizes.back());
  Side side;
  side.open(all, rank, reinterpret_cast<char*>(memory->data()), sizes.back());
  if (rank == 1) {
    while (all.done == 0) ucp_worker_progress(side.worker);
    return;
  }
  for (std::size_t at = 0; at < sizes.size(); ++at) {
    side.block(verb, sizes[at], 5);
    int calls = measure::iterations_for(side.block(verb, sizes[at], 2));
    calls = measure::iterations_for(side.block(verb, sizes[at], std::min(calls, 100)));
    std::vector<double> seconds;
    for (int i = 0; i < kBlocks; ++i) seconds.push_back(side.block(verb, sizes[at], calls));
    std::sort(seconds.begin(), seconds.end());
    all.seconds[at] = seconds[seconds.size() / 2];
  }
  all.done = 1;
}

void run_direct(Verb verb, const std::vector<std::size_t>& sizes, Times& times) {
  const auto memory = measure::local::SharedMemory::map(sizeof(Shared), false);
  if (!memory) std::exit(3);
  auto& all = *reinterpret_cast<Shared*>(memory->data());
  const auto ended =
      measure::local::run_ranks(2, [&](int rank) { be_side(all, rank, verb, sizes); });
  if (!ended.ok()) std::exit(3);
  for (std::size_t at = 0; at < sizes.size(); ++at)
    times[sizes[at]].push_back(all.seconds[at] * 1e6);
}

void run_ours(Verb verb, std::size_t largest, Times& times) {
  measure::Plan plan = {.op = model::Op::kSendRecv, .element = measure::Element::kU8};
  plan.end = core::Bytes::of(std::uint64_t{largest});
  plan.factor = 8;
  plan.blocks = kBlocks;
  plan.check = false;
  plan.verb = verb;
  const auto run = measure::ucx::run(plan, [](const std::string&) {});
  if (!run || run->died) {
    std::printf("%s\n", run ? run->died->sentence.c_str() : run.error().one_line().c_str());
    std::exit(3);
  }
  for (const measure::Row& row : run->rows)
    times[row.bytes.whole()].push_back(row.out_of_place.time.in_us());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Prints the rows of a verb; the median of its ratios.
double report(Verb verb, const Times& ours, const Times& direct) {
  std::vector<double> medians;
  for (const auto& [size, mine] : ours) {
    const std::vector<double>& theirs = direct.at(size);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < mine.size(); ++i) ratios.push_back(mine[i] / theirs[i]);
    medians.push_back(median(ratios));
    std::printf("%-6s %10zu B %12.3f %12.3f %8.3f\n", verb_name(verb), size, median(mine),
                median(theirs), medians.back());
  }
  return median(medians);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t largest = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 20;
  const int runs = argc > 2 ? std::atoi(argv[2]) : 15;
  std::vector<std::size_t> sizes;
  for (std::size_t size = 8; size <= largest; size *= 8) sizes.push_back(size);
  std::printf("UCX %s, 2 processes: median of %d alternating runs\n%-6s %12s %12s %12s %8s\n",
              ucp_get_version_string(), runs, "what", "size", "ours (us)", "direct (us)", "ratio");
  bool is_met = true;
  for (const Verb verb : {Verb::kPut, Verb::kGet}) {
    Times ours, direct;
    for (int run = 0; run < runs; ++run) {
      run_ours(verb, largest, ours);
      run_direct(verb, sizes, direct);
    }
    const double ratio = report(verb, ours, direct);
    std::printf("%-6s median ratio over %zu sizes %.3f\n", verb_name(verb), sizes.size(), ratio);
    is_met = is_met && ratio <= kBar;
  }
  std::printf("bar (every median <= %.2f) %s\n", kBar, is_met ? "met" : "missed");
  return is_met ? 0 : 1;
}
