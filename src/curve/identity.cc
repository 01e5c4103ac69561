#include "curve/identity.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "curve/ratios.h"
#include "curve/tokens.h"

namespace comm_probe::curve {
namespace {

using model::Op;

// What file names call the operations; a name inside a longer one ("reduce" in "all_reduce") must
// stand behind it, since each found name is taken out.
struct OpWord {
  std::string_view word;  // lower case, without _ and -
  std::string_view program;
};
constexpr std::array kOpWords = {
    OpWord{"allreduce", "all_reduce"}, OpWord{"reducescatter", "reduce_scatter"},
    OpWord{"allgather", "all_gather"}, OpWord{"alltoallv", "alltoallv"},
    OpWord{"alltoall", "alltoall"},    OpWord{"all2all", "alltoall"},
    OpWord{"a2a", "alltoall"},         OpWord{"sendrecv", "sendrecv"},
    OpWord{"broadcast", "broadcast"},  OpWord{"bcast", "broadcast"},
    OpWord{"hypercube", "hypercube"},  OpWord{"gather", "gather"},
    OpWord{"reduce", "reduce"},        OpWord{"scatter", "scatter"},
};

std::string lower_base_name(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name;
}

// "c55_2n_64gpu.txt" -> {"c55", "2n", "64gpu", "txt"}
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name)
    if (is_letter(c) || is_digit(c))
      words.back() += c;
    else
      words.emplace_back();
  return words;
}

// The number in front of one of the units: "2n", "128nodes".
std::optional<int> number_in_name(const std::string& path,
                                  std::initializer_list<const char*> units) {
  std::optional<int> found;
  for (const std::string& word : words_of(lower_base_name(path)))
    for (const char* unit : units) {
      const std::string_view text = word;
      if (!text.ends_with(unit)) continue;
      const auto number = parse_whole(text.substr(0, text.size() - std::string_view(unit).size()));
      if (number && *number > 0 && *number < 100000) found = static_cast<int>(*number);
    }
  return found;
}

bool has_redop(const Curve& curve) {
  const Word& redop = curve.rows.front().redop;
  return !redop.empty() && redop != "none";
}

// all_to_all, send_recv, gather and scatter cannot work in place: "#wrong" is N/A in that half
// only.
bool skips_in_place_check(const Curve& curve) {
  return std::any_of(curve.rows.begin(), curve.rows.end(), [](const Row& row) {
    return row.out_of_place && row.in_place && row.out_of_place->wrong && !row.in_place->wrong;
  });
}

bool checks_in_place(const Curve& curve) {
  return std::any_of(curve.rows.begin(), curve.rows.end(),
                     [](const Row& row) { return row.in_place && row.in_place->wrong; });
}

std::optional<Op> op_of_columns(const Curve& curve, const FactorRange& range) {
  if (curve.rows.empty() || curve.rows.front().redop.empty()) return std::nullopt;
  const bool reduces = has_redop(curve);
  const bool rooted = curve.rows.front().root.value_or(-1) >= 0;
  if (rooted) return reduces ? Op::kReduce : Op::kBroadcast;
  const auto ratio = bytes_per_count(curve);
  if (!ratio) return std::nullopt;
  if (reduces && *ratio > 1) return Op::kReduceScatter;
  if (reduces && skips_in_place_check(curve)) return Op::kSendRecv;
  if (reduces) return Op::kAllReduce;
  if (*ratio > 1 && skips_in_place_check(curve)) return Op::kAllToAll;
  if (*ratio > 1 && checks_in_place(curve)) return Op::kAllGather;
  if (*ratio == 1 && skips_in_place_check(curve) && range.is_consistent() && range.low > 0.5)
    return Op::kSendRecv;
  return std::nullopt;
}

void set_op(Curve& curve, const NamedOp& named, KnownFrom from) {
  curve.op = named.op;
  curve.op_from = from;
  if (curve.program.empty()) curve.program = named.program;
}

void find_op(Curve& curve, const Said& said, const FactorRange& range) {
  if (curve.program.empty()) curve.program = said.program;
  if (!curve.program.empty())
    return set_op(curve, op_of_program(curve.program), KnownFrom::kStated);
  const NamedOp named = op_of_file_name(curve.file);
  if (!named.program.empty()) return set_op(curve, named, KnownFrom::kFileName);
  // Only all_reduce counts bytes more than once.
  if (range.is_consistent() && range.low > 1.01)
    return set_op(curve, {"", Op::kAllReduce}, KnownFrom::kBusbwFactor);
  if (const auto op = op_of_columns(curve, range)) set_op(curve, {"", *op}, KnownFrom::kColumns);
}

int devices_per_host(const Curve& curve) {
  int most = 0;
  for (const Device& device : curve.devices) most = std::max(most, device.device + 1);
  return most;
}

bool counts_shares(Op op) {
  return op == Op::kAllGather || op == Op::kReduceScatter || op == Op::kAllToAll;
}

// The first source that the numbers of the table do not contradict.
void find_ranks(Curve& curve, const Said& said, const FactorRange& range) {
  const auto accept = [&](std::optional<int> ranks, KnownFrom from) {
    if (curve.ranks || !ranks || *ranks < 1) return;
    if (curve.op && range.is_consistent() && !fits(*curve.op, *ranks, range)) return;
    curve.ranks = ranks;
    curve.ranks_from = from;
  };
  const int listed = listed_ranks(curve);
  if (curve.op && counts_shares(*curve.op) && bytes_per_count(curve).value_or(1) > 1) {
    const auto share = bytes_per_count(curve);
    accept(share, share == listed ? KnownFrom::kDevices : KnownFrom::kColumns);
  }
  const bool complete = std::cmp_equal(curve.devices.size(), listed) || !curve.misrun.empty();
  if (listed > 0 && complete) accept(listed, KnownFrom::kDevices);
  accept(said.nranks, KnownFrom::kStated);
  accept(said.ranks, KnownFrom::kStated);
  if (listed > 0) accept(listed, KnownFrom::kDevices);
  if (curve.op) accept(ranks_from_factor(*curve.op, range), KnownFrom::kBusbwFactor);
  if (!range.is_consistent()) return;  // a name alone is no evidence
  const auto nodes = number_in_name(curve.file, {"n", "node", "nodes"});
  if (nodes && devices_per_host(curve) > 0)
    accept(*nodes * devices_per_host(curve), KnownFrom::kFileName);
  if (curve.op) accept(number_in_name(curve.file, {"gpu", "gpus", "ranks"}), KnownFrom::kFileName);
}

void find_nodes(Curve& curve, const Said& said) {
  std::set<std::string> hosts;
  for (const Device& device : curve.devices) hosts.insert(device.host);
  const int per_host = devices_per_host(curve);
  if (!hosts.empty() && curve.ranks && std::cmp_equal(curve.devices.size(), *curve.ranks)) {
    curve.nodes = 0;
    for (const std::string& host : hosts) *curve.nodes += nodes_named(curve, host);
    curve.nodes_from = KnownFrom::kDevices;
  } else if (per_host > 0 && curve.ranks && *curve.ranks % per_host == 0) {
    curve.nodes = *curve.ranks / per_host;
    curve.nodes_from = KnownFrom::kDevices;
  } else if (said.nodes) {
    curve.nodes = said.nodes;
    curve.nodes_from = KnownFrom::kStated;
  } else if (const auto named = number_in_name(curve.file, {"n", "node", "nodes"})) {
    if (curve.misrun.empty() && (!curve.ranks || *curve.ranks % *named == 0)) {
      curve.nodes = named;
      curve.nodes_from = KnownFrom::kFileName;
    }
  }
}

}  // namespace

int listed_ranks(const Curve& curve) {
  int ranks = 0;
  for (const Device& device : curve.devices) ranks = std::max(ranks, device.rank + 1);
  return ranks;
}

int nodes_named(const Curve& curve, std::string_view host) {
  if (!curve.misrun.empty()) return 1;
  std::vector<std::pair<int, std::string_view>> listed;
  for (const Device& device : curve.devices)
    if (device.host == host) listed.emplace_back(device.device, device.bus_id);
  const std::size_t block = std::set(listed.begin(), listed.end()).size();
  if (block < 2 || listed.size() <= block || listed.size() % block != 0) return 1;
  for (std::size_t i = block; i < listed.size(); ++i)
    if (listed[i] != listed[i - block]) return 1;
  return static_cast<int>(listed.size() / block);
}

NamedOp op_of_program(const std::string& program) {
  std::string name = program;
  if (name.ends_with("_mpi")) name.resize(name.size() - 4);
  return {program, model::op_from_name(name)};
}

NamedOp op_of_file_name(const std::string& path) {
  std::string name;
  for (const char c : lower_base_name(path))
    if (c != '_' && c != '-') name += c;
  NamedOp found;
  for (const OpWord& word : kOpWords)
    for (std::size_t at; (at = name.find(word.word)) != std::string::npos;) {
      name.replace(at, word.word.size(), " ");
      if (!found.program.empty() && found.program != word.program) return {};
      found = {std::string(word.program), model::op_from_name(word.program)};
    }
  return found;
}

void identify(Curve& curve, const Said& said) {
  const FactorRange range = factor_range(curve);
  find_op(curve, said, range);
  find_ranks(curve, said, range);
  find_nodes(curve, said);
}

}  // namespace comm_probe::curve
