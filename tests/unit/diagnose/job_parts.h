// The parts of a job for tests of the job's rules, written as the tools write them.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "core/finding_table.h"
#include "core/input.h"
#include "curve/analysis.h"
#include "curve/curve.h"
#include "diagnose/job.h"
#include "nccl/readers/debug_log_reader.h"
#include "topology/merge.h"

namespace comm_probe::diagnose {

// Owns what JobFacts points at.
struct JobParts {
  nccl::DebugLog log = {};
  torch::JobLines lines = {};
  std::vector<JobMachine> machines = {};
  std::vector<JudgedReading> curves = {};
  std::vector<torch::Trace> traces = {};
  std::list<curve::Curve> tables = {};

  JobFacts facts() const {
    return {.log = log, .lines = lines, .machines = machines, .curves = curves, .traces = traces};
  }

  void add_log(const std::string& text) {
    core::Input input = core::Input::from_memory("nccl.log", text);
    if (auto read = nccl::read_debug_log(input); read) log = std::move(*read);
  }

  // `texts`: outputs of commands on one machine.
  void add_machine(const std::string& name, bool is_host, const std::vector<std::string>& texts) {
    std::vector<topology::Source> sources;
    for (const std::string& text : texts) {
      core::Input input = core::Input::from_memory(name + ".txt", text);
      if (auto source = topology::read_source(input); source) sources.push_back(std::move(*source));
    }
    if (auto survey = topology::combine(std::move(sources)); survey)
      machines.push_back({name, is_host, std::move(*survey)});
  }

  // all_reduce that follows t = 40 us + S * 2(n-1)/n / b.
  void add_table(const std::string& file, int ranks, int nodes, double GBps) {
    curve::Curve curve;
    curve.file = file;
    curve.op = model::Op::kAllReduce;
    curve.ranks = ranks;
    curve.nodes = nodes;
    const double factor = 2.0 * (ranks - 1) / ranks;
    for (double size = 8; size <= 8.6e9; size *= 2) {
      const double us = 40 + size * factor / GBps / 1e3;
      curve::Row row;
      row.bytes = core::Bytes::of(size);
      row.count = static_cast<std::uint64_t>(size / 4);
      row.type = "float";
      row.out_of_place = row.in_place =
          curve::Timing{core::Duration::from_us(us),
                        core::Bandwidth::from_GBps(size / us / 1e3),
                        core::Bandwidth::from_GBps(size / us / 1e3 * factor),
                        0.0,
                        {}};
      row.line = 10 + curve.rows.size();
      curve.rows.push_back(row);
    }
    tables.push_back(std::move(curve));
    JudgedCurve judged;
    judged.curve = &tables.back();
    judged.analysis = curve::analyse(tables.back());
    JudgedReading reading;
    reading.curves.push_back(std::move(judged));
    curves.push_back(std::move(reading));
  }
};

// `ibstat` of these devices, all of them active, at so many Gb/s.
inline std::string ibstat_of(const std::vector<std::string>& devices, int Gbps = 400) {
  std::string text;
  for (const std::string& device : devices)
    text += "CA '" + device + "'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n" +
            "\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: " + std::to_string(Gbps) +
            "\n\t\tBase lid: 7\n\t\tSM lid: 1\n\t\tLink layer: InfiniBand\n";
  return text;
}

// Two GPUs, two NICs: GPU0 - mlx5_0 PIX, GPU0 - mlx5_4 SYS; GPU1 the other way round.
inline std::string matrix_of_two() {
  return "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\n"
         "GPU0\t X \tNV18\tPIX\tSYS\t0-31\t0\n"
         "GPU1\tNV18\t X \tSYS\tPIX\t32-63\t1\n"
         "NIC0\tPIX\tSYS\t X \tSYS\t\t\n"
         "NIC1\tSYS\tPIX\tSYS\t X \t\t\n"
         "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_4\n";
}

}  // namespace comm_probe::diagnose
