// What the error lines of a test of a link mean, tool by tool, and what to do about each.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/finding_table.h"
#include "diagnose/link_tests.h"
#include "model/rdma.h"

namespace comm_probe::diagnose {
namespace {

using core::Finding;
using core::make_finding;
using curve::LinkTest;

// What an error line means and what to look at. A part of the line, as its tool prints it.
struct ErrorMeaning {
  const char* text;
  const char* meaning;
  const char* next;
  bool is_gpu = false;  // the GPU or its driver said so, nothing that a network does
};
constexpr const char* kNotRegistered =
    "memory could not be registered: the memlock limit is too low, or, for GPU memory, neither "
    "nvidia_peermem nor DMA-BUF is there";
constexpr const char* kRegister = "ulimit -l; lsmod | grep nvidia_peermem; or --use_cuda_dmabuf";
constexpr const char* kNoTcp = "the TCP connection that exchanges addresses was not made";
constexpr const char* kTcp =
    "start the server first; check the host name, port 18515 and the firewall";
constexpr const char* kNoCuda = "a CUDA call failed";
constexpr const char* kCuda = "nvidia-smi; dmesg | grep -i xid";
constexpr std::array kErrors = {
    ErrorMeaning{"allocate MR", kNotRegistered, kRegister},
    ErrorMeaning{"reate mr", kNotRegistered, kRegister},
    ErrorMeaning{"create MR", kNotRegistered, kRegister},
    ErrorMeaning{"modify QP",
                 "the queue pair could not be connected: GID index or MTU do not fit the peer",
                 "show_gids at both ends; the same -x index must be RoCE v2 of one address family"},
    ErrorMeaning{"Unable to Connect the HCA",
                 "the queue pair could not be connected: GID index or MTU do not fit the peer",
                 "show_gids at both ends; the same -x index must be RoCE v2 of one address family"},
    ErrorMeaning{"socket connection", kNoTcp, kTcp},
    ErrorMeaning{"Couldn't connect to", kNoTcp, kTcp},
    ErrorMeaning{"not found", "the device that was named is not there", "ibv_devices"},
    ErrorMeaning{"Unable to find the Infiniband/RoCE device",
                 "the device that was named is not there, or none is", "ibv_devices"},
    ErrorMeaning{"context for the device", "the device could not be opened",
                 "ibv_devinfo -d DEVICE; in a container: /dev/infiniband must be there"},
    ErrorMeaning{"device attributes", "the device could not be opened",
                 "ibv_devinfo -d DEVICE; in a container: /dev/infiniband must be there"},
    ErrorMeaning{"create IB resources",
                 "the device did not give the queues and memory that the test asked for",
                 "ulimit -l; fewer queue pairs (-q) and a smaller --tx-depth"},
    ErrorMeaning{"Port number 1 state is", "the port is not active", "ibstat"},
    ErrorMeaning{"set the link layer", "the port is not active", "ibstat"},
    ErrorMeaning{"exchange data between server and clients",
                 "the two ends did not exchange their addresses: the other end stopped, or the two "
                 "are of different versions or have different options",
                 "read the output of the other end; the same perftest and the same options at "
                 "both (--version)"},
    ErrorMeaning{"Unexpected CM event", "the connection manager (-R) did not connect the two ends",
                 "the IP address of the RDMA interface as the server's name; rping -s, rping -c"},
    ErrorMeaning{"rdma_client function", "the connection manager (-R) did not connect the two ends",
                 "the IP address of the RDMA interface as the server's name; rping -s, rping -c"},
    ErrorMeaning{"Completion with error",
                 "a message ended with an error completion; its status is not in this text",
                 "give the line `Failed status N`, too; ibstat at both ends"},
    ErrorMeaning{"complete run_iter",
                 "the measurement ended with an error; this text does not say which",
                 "read the lines before it and the output of the other end"},
    ErrorMeaning{
        "fi_getinfo", "libfabric has no provider for what was asked (-61: no data available)",
        "fi_info -l; check the security group or firewall and the device in the container"},
    ErrorMeaning{"Result = FAIL", "the tool itself says that the run failed", kCuda, true},
    ErrorMeaning{"cuda init failed", kNoCuda, kCuda, true},
    ErrorMeaning{"cuMemAlloc", kNoCuda, kCuda, true},
    ErrorMeaning{"CUDA_ERROR", kNoCuda, kCuda, true},
    ErrorMeaning{"CUDA error at", kNoCuda, kCuda, true},
    ErrorMeaning{"Cuda failure", kNoCuda, kCuda, true},
    ErrorMeaning{"NVML_ERROR", "a call of the driver's library failed", kCuda, true}};

// "Failed status 12: wr_id 0 syndrom 0x81" -> 12
std::optional<int> status_of(const std::string& line) {
  constexpr std::string_view kStatus = "Failed status ";
  const std::size_t at = line.find(kStatus);
  if (at == std::string::npos) return std::nullopt;
  int code = 0;
  std::size_t end = at + kStatus.size();
  for (; end < line.size() && line[end] >= '0' && line[end] <= '9' && code < 1000; ++end)
    code = code * 10 + (line[end] - '0');
  return end > at + kStatus.size() ? std::optional(code) : std::nullopt;
}

std::string status_meaning(int code) {
  for (const model::CompletionStatus& status : model::completion_statuses())
    if (status.code == code)
      return fmt::format("completion status {} ({}): {}", code, status.name, status.meaning);
  return fmt::format("completion status {}", code);
}

void explain_error(const LinkTest& test, Finding& finding, std::string& meaning) {
  for (const core::Evidence& error : test.errors)
    if (const auto code = status_of(error.text)) {
      meaning = status_meaning(*code);
      finding.next = {fmt::format("comm-probe explain \"status {}\"", *code), "ibstat",
                      "comm-probe topo check --net"};
      return;
    }
  for (const core::Evidence& error : test.errors)
    for (const ErrorMeaning& known : kErrors)
      if (error.text.find(known.text) != std::string::npos) {
        meaning = known.meaning;
        finding.next = {known.next};
        if (known.is_gpu) finding.layer = core::Layer::kHardware;
        return;
      }
  finding.next = {"read the lines around it and the output of the other end"};
}

void keep_first(std::vector<core::Evidence> evidence, Finding& finding) {
  constexpr std::size_t kMost = 4;
  if (evidence.size() > kMost) evidence.resize(kMost);
  finding.evidence = std::move(evidence);
}

void say_failed(const LinkTest& test, Judgement& out) {
  if (test.errors.empty()) return;
  Finding finding = make_finding("curve.link-failed", "");
  std::string meaning;
  explain_error(test, finding, meaning);
  finding.summary = fmt::format("{} stopped: {}", name_of(test), test.errors.front().text);
  if (!meaning.empty()) finding.summary += "; " + meaning;
  finding.confidence = core::Confidence::kCertain;
  keep_first(test.errors, finding);
  out.findings.push_back(std::move(finding));
}

// The benchmark compared what arrived with what was sent. The network checks every packet, so this
// is never a finding of the network.
void say_wrong_results(const LinkTest& test, Judgement& out) {
  if (test.wrong_results.empty()) return;
  Finding finding = make_finding(
      "curve.wrong-results", fmt::format("{} found wrong data in {} of its {} sizes", name_of(test),
                                         test.wrong_results.size(),
                                         std::max(test.rows.size(), test.wrong_results.size())));
  finding.confidence = core::Confidence::kCertain;
  keep_first(test.wrong_results, finding);
  finding.next = {
      "the same run twice: the same sizes wrong each time is software (the MPI, UCX or "
      "a patched library)"};
  if (test.gpu.is_used)
    finding.next.insert(finding.next.begin(),
                        "the same run with host memory (H H): right there means the copies to and "
                        "from GPU memory, or one GPU");
  out.findings.push_back(std::move(finding));
}

}  // namespace

Judgement judge_link_errors(const LinkTest& test) {
  Judgement out;
  say_failed(test, out);
  say_wrong_results(test, out);
  return out;
}

}  // namespace comm_probe::diagnose
