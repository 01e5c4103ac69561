// What vLLM prints about moving KV caches between a prefill and a decode instance: how the
// connector was set up, and the metrics of its transfers. Streaming, one line at a time, any text
// in front.
//
//   "... kv_connector='NixlConnector', kv_buffer_device='cpu', kv_role='kv_both' ..."
//   "KV Transfer metrics: Num successful transfers=12, Avg xfer time (ms)=7.412, P90 xfer time
//    (ms)=7.9, Avg post time (ms)=0.31, ..., Avg MB per transfer=160.0, Throughput (MB/s)=21586.0"
//   -> connector "NixlConnector", buffer "cpu", transfer of 160 MiB in 7.412 ms
//   "UCX_TLS=tcp,cuda_copy", "UCX DIAG cuda-ipc get zcopy disabled as no nvlinks detected",
//   "NIXL handshake failed with 127.0.0.1:5600" -> what carries the reads, who was asked
//
// vLLM's MB is 2^20 bytes, and its throughput counts overlapping transfers twice: the time of one
// transfer is used, never the printed throughput (shared spec kv-transfer 3.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/input.h"
#include "core/quantity.h"

namespace comm_probe::serving {

// All intervals of one file: means over their transfers; the line is that of the slowest interval.
struct KvTransfers {
  std::int64_t count = 0;
  std::size_t intervals = 0;
  core::Bytes bytes = {};        // of one, on one rank
  core::Duration time = {};      // of one
  core::Duration post = {};      // of it: the CPU's posting
  std::int64_t descriptors = 0;  // of one; 0: not printed
  std::string file = {};
  std::uint64_t line = 0;
  std::string text = {};  // shortened
};

struct KvLines {
  std::string connector = {};  // "NixlConnector"; of SGLang "nixl"
  std::string buffer = {};     // "cpu", "cuda"; empty: not printed
  std::string role = {};       // "kv_producer" prefills, "kv_consumer" decodes, "kv_both"
  std::string config_file = {};
  std::uint64_t config_line = 0;
  std::string config_text = {};
  std::vector<KvTransfers> transfers = {};             // one per file
  std::optional<core::Evidence> tcp_only = {};         // UCX_TLS with tcp and without RDMA
  std::optional<core::Evidence> no_nvlink = {};        // UCX: no zero-copy reads over cuda_ipc
  std::optional<core::Evidence> local_handshake = {};  // of NIXL, with this host itself

  bool empty() const {
    return connector.empty() && transfers.empty() && !tcp_only && !no_nvlink && !local_handshake;
  }
};

class KvLineReader {
 public:
  void begin_file(const std::string& name) {
    file_ = name;
    in_file_ = false;
  }
  void add(const core::Line& line);
  // Lines so far that said something.
  std::size_t found() const { return found_; }
  KvLines finish() { return std::move(lines_); }

 private:
  void add_config(const core::Line& line);
  void add_disaggregation(const core::Line& line);
  void add_metrics(const core::Line& line);
  void add_ucx(const core::Line& line);
  void note(const core::Line& line, std::size_t at, std::optional<core::Evidence>& place);

  KvLines lines_ = {};
  std::string file_ = {};
  std::size_t found_ = 0;
  bool in_file_ = false;          // the last transfer is of this file
  core::Bandwidth slowest_ = {};  // of its intervals
};

}  // namespace comm_probe::serving
