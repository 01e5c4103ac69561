// The plainest loop around NCCL, as nccl-tests times it: one process, N GPUs, grouped calls, host
// clock from the first call to the last stream's end. bench/gpu/nccl_peers.py builds and runs it
// beside `comm-probe bench --backend nccl`.
//
//   nccl_loop GPUS GRAPH_LAUNCHES ITERATIONS BYTES...     prints a line "BYTES MICROSECONDS" per
//   size: the median of nine
//                                                         samples of ITERATIONS calls (as a graph,
//                                                         launched GRAPH_LAUNCHES times, where that
//                                                         is not 0), out of place, floats, sum
#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int kSamples = 9;
constexpr int kWarmup = 5;
constexpr double kLongestSample = 60e-3;  // s; comm-probe shortens its samples likewise

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "nccl_loop: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(2);
}

void require(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  std::fprintf(stderr, "nccl_loop: %s: %s\n", what, ncclGetErrorString(status));
  std::exit(2);
}

struct Rank {
  ncclComm_t comm;
  cudaStream_t stream;
  float* from;
  float* to;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void call(const std::vector<Rank>& ranks, size_t count) {
  require(ncclGroupStart(), "ncclGroupStart");
  for (const Rank& rank : ranks)
    require(ncclAllReduce(rank.from, rank.to, count, ncclFloat, ncclSum, rank.comm, rank.stream),
            "ncclAllReduce");
  require(ncclGroupEnd(), "ncclGroupEnd");
}

void wait(const std::vector<Rank>& ranks) {
  for (size_t gpu = 0; gpu < ranks.size(); ++gpu) {
    require(cudaSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
    require(cudaStreamSynchronize(ranks[gpu].stream), "cudaStreamSynchronize");
  }
}

std::vector<cudaGraphExec_t> captured(const std::vector<Rank>& ranks, size_t count,
                                      int iterations) {
  for (size_t gpu = 0; gpu < ranks.size(); ++gpu) {
    require(cudaSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
    require(cudaStreamBeginCapture(ranks[gpu].stream, cudaStreamCaptureModeThreadLocal),
            "cudaStreamBeginCapture");
  }
  for (int i = 0; i < iterations; ++i) call(ranks, count);
  std::vector<cudaGraph_t> ended(ranks.size());
  for (size_t gpu = 0; gpu < ranks.size(); ++gpu)
    require(cudaStreamEndCapture(ranks[gpu].stream, &ended[gpu]), "cudaStreamEndCapture");
  std::vector<cudaGraphExec_t> graphs(ranks.size());
  for (size_t gpu = 0; gpu < ranks.size(); ++gpu) {
    require(cudaSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
    require(cudaGraphInstantiate(&graphs[gpu], ended[gpu], 0), "cudaGraphInstantiate");
  }
  return graphs;
}

double median_us(const std::vector<Rank>& ranks, const std::function<void()>& calls, int number) {
  std::vector<double> samples;
  for (int i = 0; i < kSamples; ++i) {
    const double begin = now();
    calls();
    wait(ranks);
    samples.push_back((now() - begin) / number * 1e6);
  }
  std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
  return samples[kSamples / 2];
}

double time_of(const std::vector<Rank>& ranks, size_t count, int launches, int iterations) {
  for (int i = 0; i < kWarmup; ++i) call(ranks, count);
  wait(ranks);
  const double begin = now();
  call(ranks, count);
  wait(ranks);
  const double once = now() - begin;
  iterations = std::max(1, std::min(iterations, static_cast<int>(kLongestSample / once)));
  if (launches == 0)
    return median_us(
        ranks,
        [&] {
          for (int i = 0; i < iterations; ++i) call(ranks, count);
        },
        iterations);
  const std::vector<cudaGraphExec_t> graphs = captured(ranks, count, iterations);
  const auto launch = [&](int times) {
    for (int i = 0; i < times; ++i)
      for (size_t gpu = 0; gpu < ranks.size(); ++gpu) {
        require(cudaSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
        require(cudaGraphLaunch(graphs[gpu], ranks[gpu].stream), "cudaGraphLaunch");
      }
  };
  launch(1);  // the first launch uploads
  wait(ranks);
  const double us = median_us(
      ranks, [&] { launch(launches); }, iterations * launches);
  for (cudaGraphExec_t graph : graphs) require(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
  return us;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: nccl_loop GPUS GRAPH_LAUNCHES ITERATIONS BYTES...\n");
    return 2;
  }
  const int gpus = std::atoi(argv[1]), launches = std::atoi(argv[2]),
            iterations = std::atoi(argv[3]);
  std::vector<size_t> sizes;
  for (int i = 4; i < argc; ++i) sizes.push_back(std::stoull(argv[i]));
  const size_t largest = *std::max_element(sizes.begin(), sizes.end());
  std::vector<ncclComm_t> comms(gpus);
  require(ncclCommInitAll(comms.data(), gpus, nullptr), "ncclCommInitAll");
  std::vector<Rank> ranks(gpus);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    Rank& rank = ranks[gpu];
    rank.comm = comms[gpu];
    require(cudaSetDevice(gpu), "cudaSetDevice");
    require(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    require(cudaMalloc(&rank.from, largest), "cudaMalloc");
    require(cudaMalloc(&rank.to, largest), "cudaMalloc");
    require(cudaMemset(rank.from, 0, largest), "cudaMemset");
  }
  for (const size_t bytes : sizes) {
    std::printf("%zu %.3f\n", bytes, time_of(ranks, bytes / sizeof(float), launches, iterations));
    std::fflush(stdout);
  }
  return 0;
}
