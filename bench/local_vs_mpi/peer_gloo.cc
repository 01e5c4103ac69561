// Gloo's all_reduce of floats over loopback TCP (Gloo has no shared-memory transport).
//   peer_gloo LARGEST_BYTES BLOCKS RANKS
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "peer_timing.h"

namespace {

std::shared_ptr<gloo::rendezvous::Context> connect(int rank, int ranks, const std::string& folder) {
  gloo::transport::tcp::attr where;
  where.iface = "lo";
  auto device = gloo::transport::tcp::CreateDevice(where);
  gloo::rendezvous::FileStore store(folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->connectFullMesh(store, device);
  return context;
}

void all_reduce(const std::shared_ptr<gloo::Context>& context, const float* send, float* recv,
                std::size_t count) {
  gloo::AllreduceOptions options(context);
  options.setInput(const_cast<float*>(send), count);
  options.setOutput(recv, count);
  options.setReduceFunction(
      static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
  gloo::allreduce(options);
}

void run(int rank, int ranks, const std::string& folder, std::size_t largest, int blocks) {
  const std::shared_ptr<gloo::Context> context = connect(rank, ranks, folder);
  peer::Peer gloo_peer;
  gloo_peer.is_first = rank == 0;
  gloo_peer.all_reduce = [&](const float* send, float* recv, std::size_t count) {
    all_reduce(context, send, recv, count);
  };
  gloo_peer.barrier = [&] {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
  };
  gloo_peer.from_first = [&](int value) {
    gloo::BroadcastOptions options(context);
    options.setOutput(&value, 1);
    options.setRoot(0);
    gloo::broadcast(options);
    return value;
  };
  peer::measure(gloo_peer, largest, blocks);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t largest = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 20;
  const int blocks = argc > 2 ? std::atoi(argv[2]) : 3;
  const int ranks = argc > 3 ? std::atoi(argv[3]) : 2;
  char folder[] = "/tmp/peer_gloo.XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  for (int rank = 1; rank < ranks; ++rank)
    if (fork() == 0) {
      run(rank, ranks, folder, largest, blocks);
      _exit(0);
    }
  run(0, ranks, folder, largest, blocks);
  std::fflush(stdout);
  while (wait(nullptr) > 0) {
  }
  std::filesystem::remove_all(folder);
  return 0;
}
