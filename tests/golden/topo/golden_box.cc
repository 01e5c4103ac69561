#include "golden_box.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "run_binary.h"

namespace comm_probe::test {

std::string golden(const std::string& id) {
  static const std::map<std::string, std::string> rows = [] {
    std::map<std::string, std::string> all;
    std::ifstream file(std::string(COMM_PROBE_SOURCE_DIR) + "/tests/golden/arithmetic/golden.tsv");
    for (std::string line; std::getline(file, line);) {
      std::istringstream cells(line);
      std::string name;
      std::string value;
      if (std::getline(cells, name, '\t') && std::getline(cells, value, '\t')) all[name] = value;
    }
    return all;
  }();
  const auto row = rows.find(id);
  EXPECT_NE(row, rows.end()) << id;
  return row == rows.end() ? "" : row->second;
}
double number(const std::string& id) { return std::stod(golden(id)); }

std::string xml_of(const Box& box) {
  std::string xml = fmt::format("<system version=\"1\"><cpu numaid=\"0\" {}>", box.cpu);
  const auto device = [&](int bus, const char* code, const std::string& inside) {
    return fmt::format(
        "<pci busid=\"0000:{:02x}:00.0\" class=\"{}\" link_speed=\"{}\" "
        "link_width=\"16\">{}</pci>",
        bus, code, box.speed, inside);
  };
  std::string below;
  for (int gpu = 0; gpu < box.gpus; ++gpu)
    below += device(
        0x18 + gpu, "0x030200",
        fmt::format("<gpu dev=\"{0}\" sm=\"{1}\" rank=\"{0}\" gdr=\"1\">{2}</gpu>", gpu, box.sm,
                    box.nvlinks > 0 ? fmt::format("<nvlink target=\"x\" count=\"{}\" "
                                                  "tclass=\"0x068000\"/>",
                                                  box.nvlinks)
                                    : ""));
  const std::string nic = device(
      0x28, "0x020700",
      fmt::format("<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"{}\" gdr=\"1\"/></nic>", box.port));
  xml += box.is_under_switch ? device(0x10, "0x060400", below + nic) : below + nic;
  return xml + fmt::format("</cpu><cpu numaid=\"1\" {}/></system>", box.cpu);
}

nlohmann::json run(std::vector<std::string> arguments, const std::string& text, int status) {
  arguments.emplace_back("--json");
  const BinaryRun run = run_binary(arguments, {.stdin_text = text});
  EXPECT_EQ(run.status, status) << run;
  return nlohmann::json::parse(run.out, nullptr, false);
}

nlohmann::json path(const nlohmann::json& document, const std::string& from,
                    const std::string& to) {
  for (const auto& path : document["result"]["paths"])
    if (path["from"] == from && path["to"] == to) return path;
  ADD_FAILURE() << from << " - " << to;
  return {};
}
nlohmann::json shown(const Box& box) { return run({"topo", "show", "--from", "-"}, xml_of(box)); }

nlohmann::json link(const nlohmann::json& document, const std::string& name) {
  for (const auto& link : document["result"]["links"])
    if (link["link"] == name) return link;
  ADD_FAILURE() << name;
  return {};
}

}  // namespace comm_probe::test
