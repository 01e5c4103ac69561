// The communication that is being priced: operation, ranks, bytes.
//
// `bytes` means what nccl-tests means: the message of all_reduce, broadcast, reduce and send_recv;
// the total over all ranks for all_gather, reduce_scatter and all_to_all (each rank sends bytes/n
// to each other rank).
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/quantity.h"

namespace comm_probe::model {

enum class Op { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kReduce, kAllToAll, kSendRecv };
enum class Algorithm {
  kRing,
  kTree,        // plain binary tree: 2*ceil(log2 n) steps, inner nodes carry 2S each way
  kNcclTree,    // NCCL: chain inside the node, tree over the nodes: 2*((p-1) + log2 N) steps
  kDoubleTree,  // two complementary trees, each carries half: full bandwidth
  kRecursiveDoubling,
  kOneShot,        // every rank reads all others' data and reduces
  kTwoShot,        // reduce_scatter + all_gather, each in one step over all peers
  kHierarchical,   // reduce_scatter inside, all_reduce between nodes, all_gather inside
  kNvls,           // reduction in the NVSwitch
  kNvlsTree,       // NCCL: reduction in the NVSwitch of every node, trees over the nodes
  kCollNetDirect,  // NCCL: reduction in the network, every GPU to its NIC's GPU
  kCollNetChain,   // NCCL: reduction in the network, a chain inside the node
  kPat,            // NCCL: parallel aggregated trees (all_gather, reduce_scatter)
  kDirect,         // every pair directly (all_to_all, send_recv)
  kBruck           // all_to_all and all_gather in ceil(log2 n) rounds
};
enum class Protocol { kSimple, kLl, kLl128 };
inline constexpr std::array kAllAlgorithms = {Algorithm::kRing,
                                              Algorithm::kTree,
                                              Algorithm::kNcclTree,
                                              Algorithm::kDoubleTree,
                                              Algorithm::kRecursiveDoubling,
                                              Algorithm::kOneShot,
                                              Algorithm::kTwoShot,
                                              Algorithm::kHierarchical,
                                              Algorithm::kNvls,
                                              Algorithm::kNvlsTree,
                                              Algorithm::kCollNetDirect,
                                              Algorithm::kCollNetChain,
                                              Algorithm::kPat,
                                              Algorithm::kDirect,
                                              Algorithm::kBruck};
inline constexpr std::array kAllProtocols = {Protocol::kSimple, Protocol::kLl, Protocol::kLl128};

struct Collective {
  Op op = Op::kAllReduce;
  int ranks = 1;
  core::Bytes bytes = {};
};

// One step over one link costs alpha + bytes / beta; beta is one direction.
struct Link {
  core::Duration alpha = {};
  core::Bandwidth beta = {};
};

// busbw = algbw * factor: 2(n-1)/n all_reduce; (n-1)/n all_gather, reduce_scatter, all_to_all; 1
// broadcast, reduce, send_recv (nccl-tests doc/PERFORMANCE.md; golden G1-05..07). One rank: 0 for
// the ops with (n-1).
double busbw_factor(Op op, int ranks);

// Ranks of an nccl-tests run: one per GPU, processes x threads (-t) x GPUs per thread (-g).
constexpr int ranks_of_run(int processes, int threads, int gpus_per_thread) {
  return processes * threads * gpus_per_thread;
}

inline constexpr std::array kAllOps = {Op::kAllReduce, Op::kAllGather, Op::kReduceScatter,
                                       Op::kBroadcast, Op::kReduce,    Op::kAllToAll,
                                       Op::kSendRecv};
const char* op_name(Op op);  // "all_reduce"
std::optional<Op> op_from_name(
    std::string_view name);  // also "alltoall", "sendrecv", "allreduce", "all_reduce_perf"
const char* algorithm_name(Algorithm algorithm);  // "double-tree"
std::optional<Algorithm> algorithm_from_name(std::string_view name);
const char* protocol_name(Protocol protocol);  // "simple" | "ll" | "ll128"
std::optional<Protocol> protocol_from_name(std::string_view name);

}  // namespace comm_probe::model
