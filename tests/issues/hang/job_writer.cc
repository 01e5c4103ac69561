#include "job_writer.h"

#include <fmt/format.h>

namespace comm_probe::test {

using nlohmann::json;

JobWriter::JobWriter(int ranks) {
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(rank);
    dumps_[rank] = {{"version", "2.10"},
                    {"pg_config", json::object()},
                    {"pg_status", json::object()},
                    {"entries", json::array()}};
  }
  group("0", all, "default_pg");
}

void JobWriter::group(const std::string& name, const std::vector<int>& ranks,
                      const std::string& desc) {
  groups_[name] = {ranks, desc};
  std::string list = "[";
  for (const int rank : ranks) list += (list.size() > 1 ? ", " : "") + std::to_string(rank);
  for (const int rank : ranks)
    dumps_[rank]["pg_config"][name] = {{"name", name}, {"desc", desc}, {"ranks", list + "]"}};
}

JobWriter::Written JobWriter::add(int rank, const std::string& group, json entry) {
  json& entries = dumps_[rank]["entries"];
  clock_ += 1'000'000;
  entry["record_id"] = entries.size();
  entry["pg_id"] = std::stoi(group);
  entry["process_group"] = {group, groups_[group].second};
  entry["time_created_ns"] = clock_;
  entry["time_discovered_completed_ns"] = 0;
  entry["state"] = "completed";
  entry["retired"] = true;
  entry["timeout_ms"] = 600000;
  entries.push_back(std::move(entry));
  return {&entries.back()};
}

JobWriter::Written JobWriter::call(int rank, const std::string& group, const std::string& op,
                                   std::int64_t elements, const std::string& type) {
  const int seq = ++collectives_[{rank, group}];
  return add(rank, group,
             {{"collective_seq_id", seq},
              {"p2p_seq_id", messages_[{rank, group}]},
              {"op_id", seq},
              {"profiling_name", "nccl:" + op},
              {"input_sizes", {{elements}}},
              {"input_dtypes", {type}},
              {"output_sizes", {{elements}}},
              {"output_dtypes", {type}},
              {"is_p2p", false}});
}

void JobWriter::everyone(const std::string& group, const std::string& op, std::int64_t elements) {
  for (const int rank : groups_[group].first) call(rank, group, op, elements);
}

JobWriter::Written JobWriter::send(int rank, const std::string& group, int from, int to,
                                   std::int64_t elements) {
  const int seq = ++messages_[{rank, group}];
  return add(rank, group,
             {{"collective_seq_id", collectives_[{rank, group}]},
              {"p2p_seq_id", seq},
              {"op_id", seq},
              {"profiling_name", fmt::format("nccl:send {}->{}", from, to)},
              {"input_sizes", {{elements}}},
              {"input_dtypes", {"Float"}},
              {"output_sizes", {{elements}}},
              {"output_dtypes", {"Float"}},
              {"is_p2p", true}});
}

JobWriter::Written JobWriter::receive(int rank, const std::string& group, int to, int from,
                                      std::int64_t elements) {
  Written written = send(rank, group, from, to, elements);
  (*written.entry)["profiling_name"] = fmt::format("nccl:recv {}<-{}", to, from);
  return written;
}

torch::Job JobWriter::job() const {
  torch::RankLists lists;
  std::vector<std::shared_ptr<const torch::Digest>> digests;
  for (const auto& [rank, dump] : dumps_) {
    auto read = torch::read_dump("rank_" + std::to_string(rank), dump.dump(), lists);
    if (read)
      digests.push_back(std::make_shared<const torch::Digest>(torch::digest(std::move(*read))));
  }
  return torch::align(std::move(digests));
}

torch::JobLines JobWriter::lines() const {
  torch::JobLines lines;
  for (const auto& [rank, text] : logs_) {
    auto input = core::Input::from_memory("rank" + std::to_string(rank) + ".log", text);
    torch::read_job_lines(input, lines);
  }
  return lines;
}

diagnose::HangJudgement JobWriter::judge() const {
  const torch::Job aligned = job();
  diagnose::HangJudgement judgement = diagnose::judge_hang(aligned);
  diagnose::add_logs(judgement, aligned, lines());
  return judgement;
}

std::string timeout_line(int rank, int seq, const std::string& op, std::int64_t elements,
                         std::int64_t limit_ms) {
  return fmt::format(
      "[rank{0}]:[E1016 03:31:38.928019586 ProcessGroupNCCL.cpp:607] [Rank {0}] Watchdog caught "
      "collective operation timeout: WorkNCCL(SeqNum={1}, OpType={2}, NumelIn={3}, NumelOut={3}, "
      "Timeout(ms)={4}) ran for {5} milliseconds before timing out.",
      rank, seq, op, elements, limit_ms, limit_ms + 31);
}

}  // namespace comm_probe::test
