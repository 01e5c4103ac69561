// The rules of judge_log, by what they look at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/diagnose.h"
#include "diagnose/log.h"
#include "nccl/debug_log.h"
#include "torch/job_lines.h"

namespace comm_probe::diagnose {

// Warnings and errors; in the order of time, causes before what follows from them.
Judgement judge_log_problems(const nccl::DebugLog& log);
// Which network is used, NICs, GPUDirect RDMA, interfaces.
Judgement judge_log_network(const nccl::DebugLog& log, const HostGroups& known = {});
// Who is there, how far the ranks came, whether they agree.
Judgement judge_log_ranks(const nccl::DebugLog& log);

// What shows only between the ranks: versions, networks, calls and their order.
Judgement judge_log_across(const nccl::DebugLog& log);
// What to run next, for findings that do not say it themselves.
void add_log_next(Judgement& judgement);
// What PyTorch, the kernel and tracebacks say, put before or behind what NCCL's lines say.
void add_log_job(const nccl::DebugLog& log, const torch::JobLines& job, Judgement& judgement);

core::Evidence log_evidence(const nccl::DebugLog& log, const nccl::LogPlace& place);
core::Finding log_finding(const nccl::DebugLog& log, const char* id, std::string summary,
                          const nccl::LogPlace& place);
// A conjecture, without a line of its own.
core::Finding log_possible(const nccl::DebugLog& log, const char* id, std::string summary);
// "node03", "node03 and node04", "node03, node04 and 14 more"
std::string hosts_text(const nccl::DebugLog& log, const std::vector<int>& hosts);
// The ranks that these processes have, as far as the log says it, at most 64.
std::vector<int> ranks_of(const nccl::DebugLog& log, const std::vector<int>& processes);
// Hosts whose ranks share communicators have one number, others another one; -1: a host of which no
// communicator is known.
// What joins hosts beside the log (a table that lists both) is `known`.
std::vector<int> host_sets(const nccl::DebugLog& log, const HostGroups& known = {});
// A communicator of several nodes, or a connection over the network.
bool is_multi_node(const nccl::DebugLog& log);
// NCCL_IB_DISABLE=1 or NCCL_NET=Socket.
bool sends_over_sockets(std::string_view name, std::string_view value);
// What sends it over TCP. Null where the log shows no such setting.
const nccl::LogSetting* socket_setting(const nccl::DebugLog& log);
// GPUs that have no GPUDirect RDMA, by the list of the benchmark.
bool is_without_gdr(const nccl::DebugLog& log);
// Some line tells of a failure: a cause, a follow-up, an error code.
bool has_failed(const nccl::DebugLog& log);
// A line that shows RDMA; or none that shows anything of the network, not even a peer of this host.
bool uses_rdma(const nccl::DebugLog& log);
// Ranks without a word of trouble where most others lost somebody (shared spec users-nccl, 10): at
// most a few, and only where all ranks of a communicator are in the log.
std::vector<int> silent_ranks(const nccl::DebugLog& log);

}  // namespace comm_probe::diagnose
