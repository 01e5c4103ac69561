// Small machines as NCCL XML, and what the commands say of them; expected values of the golden
// rows.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace comm_probe::test {

// A row of tests/golden/arithmetic/golden.tsv.
std::string golden(const std::string& id);
double number(const std::string& id);

struct Box {
  int sm = 90;
  int nvlinks = 18;
  std::string speed = "32.0 GT/s PCIe";
  int port = 400000;
  std::string cpu = "arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\"";
  bool is_under_switch = true;
  int gpus = 2;
};
// GPUs below one switch, a NIC at their side, and a second, empty CPU.
std::string xml_of(const Box& box);

// The document that the program prints; `text` is its standard input.
nlohmann::json run(std::vector<std::string> arguments, const std::string& text, int status = 0);
nlohmann::json path(const nlohmann::json& document, const std::string& from, const std::string& to);
nlohmann::json shown(const Box& box);
// The link of this name of `topo show`.
nlohmann::json link(const nlohmann::json& document, const std::string& name);

}  // namespace comm_probe::test
