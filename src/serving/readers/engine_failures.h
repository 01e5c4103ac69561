// What an inference engine prints when its communication fails while it serves: the custom
// all-reduce refuses a call, a KV cache does not arrive, the NIC of a transfer answers with an
// error, GPU memory is taken for host memory. Streaming, one line at a time, any text in front; a
// text that somebody quotes does not count.
//
//   "RuntimeError: custom allreduce currently requires input length to be multiple of 8"
//   "Prefill transfer failed for request rank=10 ... with exception KVTransferError(...): Decode
//    instance could be dead, ..."                                 (SGLang)
//   "Worker: Process failed for slice (... local_nic: mlx5_7, ...): local protection error"
//                                                                 (Mooncake, under either engine)
//   "VRAM memory is detected as host by UCX. ..."                 (NIXL)
//   "KV Transfer metrics: ... Num failed transfers=2, Num KV expired reqs=1"   (vLLM)
//
// Texts: shared spec custom-allreduce 1.6, kv-transfer 4.1 and 7; sglang issue 10560; Mooncake
// worker_pool.cpp. A request that its client gave up ("Aborted by AbortReq") is no failure, a flush
// error of a NIC follows another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/finding.h"
#include "core/input.h"

namespace comm_probe::serving {

enum class FailureKind {
  kAllReduceLength,    // the custom all-reduce: elements are no multiple of its pack
  kAllReduceBuffer,    // a buffer that was not registered
  kAllReduceRankData,  // more captured addresses than its table holds
  kKvTransfer,         // a KV cache did not arrive
  kKvPeerLost,         // no heartbeat from the prefill instance
  kKvNic,              // work completion of a NIC; detail: its text
  kVramAsHost          // UCX does not know GPU memory
};

struct EngineFailure {
  FailureKind kind = FailureKind::kKvTransfer;
  std::string detail = {};  // "8", "local protection error", the exception
  std::string nic = {};     // "mlx5_7", where the line names it
  std::uint64_t times = 0;  // lines that say it
  core::Evidence evidence = {};
};

// Sum over the intervals that vLLM prints; the evidence is the first that is not 0.
struct KvCount {
  std::int64_t number = 0;
  core::Evidence evidence = {};
};

struct EngineFailures {
  std::vector<EngineFailure> all = {};
  KvCount failed_transfers = {};
  KvCount expired_requests = {};

  const EngineFailure* find(FailureKind kind) const;
  bool empty() const {
    return all.empty() && failed_transfers.number == 0 && expired_requests.number == 0;
  }
};

class EngineFailureReader {
 public:
  void begin_file(const std::string& name) { file_ = name; }
  void add(const core::Line& line);
  // Lines so far that said something.
  std::size_t found() const { return found_; }
  EngineFailures finish();

 private:
  void add_failure(const core::Line& line, std::size_t at, EngineFailure failure);
  void add_nic(const core::Line& line);
  void add_counts(const core::Line& line);

  void add_expiry(const core::Line& line);

  EngineFailures failures_ = {};
  std::unordered_set<std::string> expired_ = {};  // ids; every worker prints them
  std::int64_t unnamed_ = 0;                      // lines without an id
  core::Evidence expiry_ = {};
  std::string file_ = {};
  std::size_t found_ = 0;
};

}  // namespace comm_probe::serving
