// A job written call by call, as its ranks would have recorded it, and judged in this process.
//
//   JobWriter job(4);                      // group "0" of ranks 0-3
//   job.everyone("0", "all_reduce", 1024);          // completed on all
//   job.call(2, "0", "all_reduce", 2048).open();
//   EXPECT_EQ(job.judge().verdict.culprits, ...);
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "diagnose/hang.h"
#include "diagnose/hang_logs.h"
#include "torch/torch.h"

namespace comm_probe::test {

class JobWriter {
 public:
  explicit JobWriter(int ranks);
  void group(const std::string& name, const std::vector<int>& ranks,
             const std::string& desc = "undefined");

  struct Written {
    nlohmann::json* entry;
    Written& open() {
      (*entry)["state"] = "scheduled";
      (*entry)["retired"] = false;
      return *this;
    }
    Written& at(const std::string& file, int line) {
      (*entry)["frames"] = {{{"name", "step"}, {"filename", file}, {"line", line}}};
      return *this;
    }
  };
  // A completed collective with equal sizes in and out.
  Written call(int rank, const std::string& group, const std::string& op, std::int64_t elements,
               const std::string& type = "Float");
  void everyone(const std::string& group, const std::string& op, std::int64_t elements);
  // A send or receive outside of a batch; group ranks.
  Written send(int rank, const std::string& group, int from, int to, std::int64_t elements);
  Written receive(int rank, const std::string& group, int to, int from, std::int64_t elements);
  void without_dump(int rank) { dumps_.erase(rank); }
  nlohmann::json& dump(int rank) { return dumps_.at(rank); }
  // The name of a rank's log and a line of it.
  void log(int rank, const std::string& line) { logs_[rank] += line + "\n"; }

  torch::Job job() const;
  torch::JobLines lines() const;
  diagnose::HangJudgement judge() const;
  // Without any dump.
  diagnose::HangJudgement judge_logs() const { return diagnose::judge_logs(lines()); }

 private:
  Written add(int rank, const std::string& group, nlohmann::json entry);
  std::map<int, nlohmann::json> dumps_ = {};
  std::map<int, std::string> logs_ = {};
  std::map<std::pair<int, std::string>, int> collectives_ = {};
  std::map<std::pair<int, std::string>, int> messages_ = {};
  std::map<std::string, std::pair<std::vector<int>, std::string>> groups_ = {};
  std::int64_t clock_ = 1'760'000'000'000'000'000;
};

std::string timeout_line(int rank, int seq, const std::string& op, std::int64_t elements,
                         std::int64_t limit_ms = 600000);

}  // namespace comm_probe::test
