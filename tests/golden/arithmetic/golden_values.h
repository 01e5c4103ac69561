// The rows of golden.tsv as our public functions compute them. A number is compared at 1e-6
// relative, a text exactly.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace comm_probe::test {

using GoldenValue = std::variant<double, std::string>;
struct GoldenRow {
  const char* id;
  std::function<GoldenValue()> compute;
};

std::vector<GoldenRow> collective_rows();  // chapter 1, appendices A1, A2, A3, A8
std::vector<GoldenRow> hardware_rows();    // chapter 2, A5
std::vector<GoldenRow> rdma_rows();        // chapter 3, A4
std::vector<GoldenRow> training_rows();    // chapters 5 and 6
std::vector<GoldenRow> moe_rows();         // chapter 8, A10, B4, C6
std::vector<GoldenRow> inference_rows();   // chapter 7, A9, B3, C5
std::vector<GoldenRow> tuning_rows();      // chapter 4, A6, B1

}  // namespace comm_probe::test
