#include "sim/chakra_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sim/collective_ops.h"
#include "sim/what_if.h"

namespace comm_probe::sim {
namespace {

using core::Bytes;
using core::Duration;
using model::Op;
using model::OpId;
using model::ProgramOp;
using Kind = ChakraNode::Kind;

// Zero-length work, so that it never waits for a processor.
constexpr std::uint8_t kGpu = 0, kCpu = 1, kMemory = 2, kMarker = 255;

struct Call {
  int rank = 0;
  const ChakraNode* node = nullptr;
};
// The k-th collective of every group, by group.
using Calls = std::map<std::string, std::vector<std::vector<Call>>>;

struct CommType {
  std::uint64_t number;
  std::optional<Op> op;  // nothing: barrier
  const char* name;
};
constexpr CommType kTypes[] = {
    {0, Op::kAllReduce, "all_reduce"},         {1, Op::kReduce, "reduce"},
    {2, Op::kAllGather, "all_gather"},         {5, Op::kBroadcast, "broadcast"},
    {6, Op::kAllToAll, "all_to_all"},          {7, Op::kReduceScatter, "reduce_scatter"},
    {8, Op::kReduceScatter, "reduce_scatter"}, {9, std::nullopt, "barrier"}};

const CommType* type_of(const ChakraNode& node) {
  for (const CommType& type : kTypes)
    if (node.comm_type && *node.comm_type == type.number) return &type;
  return nullptr;
}

core::Error at(const ChakraTrace& trace, const ChakraNode& node, const std::string& what) {
  core::Error error = core::input_error(fmt::format("node {}: {}", node.id, what));
  error.where.file = trace.name;
  return error;
}

class Lowering {
 public:
  explicit Lowering(std::span<const ChakraTrace> traces) : traces_(traces) {}

  core::Result<ChakraProgram> run() {
    if (auto failed = check_ranks()) return *std::move(failed);
    result_.file.program = model::Program(static_cast<int>(traces_.size()));
    result_.file.name = traces_.front().name;
    if (traces_.size() > 1) result_.file.name += fmt::format(" and {} more", traces_.size() - 1);
    result_.file.unit = "node";
    for (const ChakraTrace& trace : traces_)
      if (auto failed = find_calls(trace)) return *std::move(failed);
    if (auto failed = check_calls()) return *std::move(failed);
    for (const ChakraTrace& trace : traces_)
      if (auto failed = add(trace)) return *std::move(failed);
    const std::vector<OpId> circle = result_.file.program.seal();
    if (circle.empty()) return std::move(result_);
    const int rank = result_.file.program.at(circle[0]).rank;
    return core::input_error(fmt::format("{}: nodes wait for each other in a circle, among them {}",
                                         traces_[static_cast<std::size_t>(rank)].name,
                                         result_.file.lines[circle[0]]));
  }

 private:
  using Failed = std::optional<core::Error>;

  Failed check_ranks() const {
    if (traces_.size() > kMostPlayedRanks)
      return core::input_error(fmt::format("{} traces are more than the {} ranks that are played",
                                           traces_.size(), static_cast<int>(kMostPlayedRanks)));
    for (std::size_t i = 0; i < traces_.size(); ++i)
      if (traces_[i].rank != static_cast<int>(i))
        return core::input_error(
            fmt::format("the trace of rank {} is missing, found that of rank {}", i,
                        traces_[i].rank),
            "every rank from 0 on has a file that ends in its number and .et");
    return std::nullopt;
  }

  Failed find_calls(const ChakraTrace& trace) {
    std::map<std::string, std::size_t> counts;
    for (const ChakraNode& node : trace.nodes) {
      if (node.kind != Kind::kCollective) continue;
      const CommType* type = type_of(node);
      if (type == nullptr)
        return at(trace, node,
                  node.comm_type ? fmt::format("collective type {} is not played", *node.comm_type)
                                 : "a collective without comm_type");
      if (type->op && !node.bytes) return at(trace, node, "a collective without comm_size");
      auto& calls = calls_[node.group];
      const std::size_t number = counts[node.group]++;
      if (number == calls.size()) calls.emplace_back();
      calls[number].push_back({trace.rank, &node});
    }
    return std::nullopt;
  }

  // All members of a group call the same.
  Failed check_calls() const {
    for (const auto& [group, calls] : calls_)
      for (std::size_t i = 0; i < calls.size(); ++i)
        for (const Call& call : calls[i]) {
          const Call& first = calls[i].front();
          const ChakraTrace& trace = traces_[static_cast<std::size_t>(call.rank)];
          if (calls[i].size() < calls.front().size())
            return at(trace, *call.node,
                      fmt::format("collective {} of group '{}' is called by {} of its {} ranks", i,
                                  group, calls[i].size(), calls.front().size()));
          const bool is_barrier = !type_of(*call.node)->op;
          if (type_of(*call.node)->op != type_of(*first.node)->op ||
              (!is_barrier && call.node->bytes != first.node->bytes))
            return at(
                trace, *call.node,
                fmt::format("collective {} of group '{}' is {} of {} bytes, on rank {} it is "
                            "{} of {}",
                            i, group, type_of(*call.node)->name, call.node->bytes.value_or(0),
                            first.rank, type_of(*first.node)->name, first.node->bytes.value_or(0)));
        }
    return std::nullopt;
  }

  OpId add_op(const ProgramOp& op, const ChakraNode& node) {
    result_.file.lines.push_back(node.id);
    return result_.file.program.add(op);
  }

  Failed add(const ChakraTrace& trace) {
    ends_.clear();
    std::map<std::string, std::size_t> counts;
    std::vector<std::pair<OpId, const ChakraNode*>> begins;
    for (const ChakraNode& node : trace.nodes) {
      if (result_.file.program.size() >= kMostOps)
        return core::input_error(
            fmt::format("more than the {} operations that are played", kMostOps));
      const auto begin = [&](OpId op) { begins.emplace_back(op, &node); };
      if (node.kind == Kind::kCollective) {
        if (auto failed = add_collective(trace, node, counts[node.group]++, begin)) return failed;
        continue;
      }
      const auto op = op_of(trace, node);
      if (!op) return op.error();
      const OpId id = add_op(*op, node);
      begin(id);
      ends_[node.id] = id;
    }
    return require_all(begins);
  }

  // After all nodes of the rank, because a node may need one that stands further down.
  Failed require_all(const std::vector<std::pair<OpId, const ChakraNode*>>& begins) {
    for (const auto& [op, node] : begins)
      for (const std::uint64_t need : node->needs) {
        if (const auto found = ends_.find(need); found == ends_.end())
          ++result_.dangling;
        else if (++dependencies_ > kMostDependencies)
          return core::input_error(
              fmt::format("more than the {} dependencies that are played", kMostDependencies));
        else
          result_.file.program.require(op, found->second);
      }
    return std::nullopt;
  }

  core::Result<ProgramOp> op_of(const ChakraTrace& trace, const ChakraNode& node) {
    ProgramOp op{.cpu = kMarker, .rank = trace.rank};
    switch (node.kind) {
      case Kind::kCompute:
        result_.without_duration += node.micros == 0 ? 1 : 0;
        op.cpu = node.is_cpu ? kCpu : kGpu;
        op.time = Duration::from_us(static_cast<double>(node.micros));
        return op;
      case Kind::kMemory:
        op.cpu = kMemory;
        op.time = Duration::from_us(static_cast<double>(node.micros));
        return op;
      case Kind::kSend:
      case Kind::kReceive:
        if (!node.peer || *node.peer >= static_cast<int>(traces_.size()))
          return at(trace, node,
                    node.peer ? fmt::format("rank {} has no trace", *node.peer)
                              : "a message without comm_src or comm_dst");
        op.kind = node.kind == Kind::kSend ? ProgramOp::Kind::kSend : ProgramOp::Kind::kRecv;
        op.peer = *node.peer;
        op.tag = node.tag;
        op.bytes = Bytes::of(node.bytes.value_or(0));
        return op;
      case Kind::kOther:
      case Kind::kCollective:
        return op;
    }
    COMM_PROBE_CHECK(false, "an unknown kind of node");
  }

  // Its messages, and one marker that is over when all of them are.
  Failed add_collective(const ChakraTrace& trace, const ChakraNode& node, std::size_t number,
                        const std::function<void(OpId)>& begin) {
    const auto& calls = calls_[node.group][number];
    CollectiveOps ops{.op = type_of(node)->op, .input = Bytes::of(node.bytes.value_or(0))};
    for (const Call& call : calls) ops.members.push_back(call.rank);
    ops.tag = tag_of(node.group, number);
    const double size = static_cast<double>(result_.file.program.size()) + operations_of(ops);
    if (size > static_cast<double>(kMostOps))
      return core::input_error(
          fmt::format("more than the {} operations that are played", kMostOps));
    const auto member = std::find(ops.members.begin(), ops.members.end(), trace.rank);
    const auto last = add_member(
        ops, static_cast<int>(member - ops.members.begin()),
        {result_.file.program, [&](const ProgramOp& op) { return add_op(op, node); }, begin});
    const OpId over = add_op({.cpu = kMarker, .rank = trace.rank}, node);
    for (const OpId op : last) result_.file.program.require(over, op);
    if (last.empty()) begin(over);  // a group of one rank
    ends_[node.id] = over;
    result_.collectives += member == ops.members.begin() ? 1 : 0;
    return std::nullopt;
  }

  // The upper half of all tags; those of messages are in the lower one.
  std::uint32_t tag_of(const std::string& group, std::size_t number) {
    const auto [found, is_new] =
        tags_.try_emplace({group, number}, static_cast<std::uint32_t>(tags_.size()));
    return 0x80000000U + found->second % 0x7ffffffeU;
  }

  std::span<const ChakraTrace> traces_;
  ChakraProgram result_ = {};
  Calls calls_ = {};
  std::map<std::pair<std::string, std::size_t>, std::uint32_t> tags_ = {};
  std::unordered_map<std::uint64_t, OpId> ends_ = {};  // by node of one rank
  std::size_t dependencies_ = 0;
};

}  // namespace

core::Result<ChakraProgram> program_of(std::span<const ChakraTrace> traces) {
  if (traces.empty()) return core::input_error("no Chakra trace");
  return Lowering(traces).run();
}

}  // namespace comm_probe::sim
