#include <array>

#include "topology/readers/fact_reader.h"
#include "topology/readers/matrix_words.h"

namespace comm_probe::topology {
namespace {

// The interface that a prompt names: "$ ethtool -S ens1f0np0", "# mlnx_qos -i ens1f0np0".
std::optional<std::string> interface_of(std::string_view line, std::string_view command) {
  const std::size_t at = line.find(command);
  if (at == std::string_view::npos) return std::nullopt;
  const std::vector<std::string> words = words_of(line.substr(at + command.size()));
  if (words.empty() || words.front().size() > 64) return std::nullopt;
  return words.front();
}

// Blocks of one command, each of one interface.
class LosslessReader : public FactReader {
 public:
  bool put(HostFacts& facts) override {
    facts.lossless.insert(facts.lossless.end(), blocks_.begin(), blocks_.end());
    return !blocks_.empty();
  }

 protected:
  void open(const SourceLine& line) {
    if (blocks_.size() >= kMostRecords) return;
    blocks_.push_back({.interface = interface_, .from = line.evidence()});
    is_open_ = true;
  }
  void close(std::string interface) {
    interface_ = std::move(interface);
    is_open_ = false;
  }
  LosslessFacts* block() { return is_open_ && !blocks_.empty() ? &blocks_.back() : nullptr; }

 private:
  std::string interface_ = {};
  bool is_open_ = false;
  std::vector<LosslessFacts> blocks_ = {};
};

// "NIC statistics:" and, below, "     rx_prio3_pause: 812". A counter above zero is a sign; zeros
// are none, but packets dropped at the port while no pause was ever sent say that it is off
// (spec rdma.md, 6).
class EthtoolReader : public LosslessReader {
 public:
  void take(const SourceLine& line) override;

 private:
  void take_counter(LosslessFacts& facts, const SourceLine& line, std::string_view name,
                    double value);

  bool has_pause_ = false;
  bool has_drops_ = false;
};

void EthtoolReader::take(const SourceLine& line) {
  if (auto interface = interface_of(line.text, "ethtool -S ")) return close(std::move(*interface));
  const std::string_view text = trimmed(line.text);
  if (text == "NIC statistics:") {
    has_pause_ = has_drops_ = false;
    return open(line);
  }
  LosslessFacts* facts = block();
  const std::size_t colon = text.find(": ");
  if (facts == nullptr || colon == std::string_view::npos) return;
  if (const auto value = leading_number(text.substr(colon + 2)))
    take_counter(*facts, line, text.substr(0, colon), *value);
  else if (text.size() > colon + 2 && text[colon + 2] >= '1' && text[colon + 2] <= '9')
    take_counter(*facts, line, text.substr(0, colon), 1);  // beyond a million
}

void EthtoolReader::take_counter(LosslessFacts& facts, const SourceLine& line,
                                 std::string_view name, double value) {
  constexpr std::array<std::string_view, 6> kMarks = {"np_ecn_marked_roce_packets",
                                                      "np_cnp_sent",
                                                      "rp_cnp_handled",
                                                      "rx_ecn_mark",
                                                      "cc_rx_ce_pkts",
                                                      "cc_rx_cnp_pkts"};
  const bool is_pause =
      (name.starts_with("rx_prio") || name.starts_with("tx_prio")) && name.ends_with("_pause");
  auto& signs = facts.signs;
  if (is_pause && value > 0) {
    has_pause_ = true;
    signs.priority_flow_control = true;
    facts.from = line.evidence();
  }
  for (const std::string_view mark : kMarks)
    if (name == mark && value > 0) {
      signs.congestion_notification = true;
      facts.from = line.evidence();
    }
  if (name == "rx_discards_phy" && value > 0) has_drops_ = true;
  if (has_drops_ && !has_pause_) signs.priority_flow_control = false;
}

// "PFC configuration:" and, below, "enabled     0   0   0   1   0   0   0   0".
class MlnxQosReader : public LosslessReader {
 public:
  void take(const SourceLine& line) override;
};

void MlnxQosReader::take(const SourceLine& line) {
  if (auto interface = interface_of(line.text, "mlnx_qos -i ")) return close(std::move(*interface));
  const std::string_view text = trimmed(line.text);
  if (text == "PFC configuration:") return open(line);
  LosslessFacts* facts = block();
  if (facts == nullptr || facts->signs.priority_flow_control || !text.starts_with("enabled"))
    return;
  const std::vector<std::string> words = words_of(text);
  if (words.size() != 9) return;
  bool is_on = false;
  for (std::size_t i = 1; i < words.size(); ++i) is_on = is_on || words[i] == "1";
  facts->signs.priority_flow_control = is_on;
  facts->from = line.evidence();
}

}  // namespace

std::unique_ptr<FactReader> ethtool_reader() { return std::make_unique<EthtoolReader>(); }
std::unique_ptr<FactReader> mlnx_qos_reader() { return std::make_unique<MlnxQosReader>(); }

}  // namespace comm_probe::topology
