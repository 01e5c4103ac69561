// What `calc decode` was asked: the all_reduce of one tensor-parallel decode step, on a machine,
// under a release of vLLM and its settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/model_choice.h"
#include "cli/shell.h"
#include "model/ledger.h"
#include "model/small_all_reduce.h"
#include "nccl/settings.h"
#include "serving/flashinfer_paths.h"
#include "serving/sglang_backends.h"
#include "serving/vllm_backends.h"

namespace comm_probe::cli {

// One way to do the call: a kernel of the engine, or NCCL.
struct DecodeWay {
  std::string name = {};  // "one-shot", "NCCL Ring LL"
  std::optional<serving::Backend> backend = {};
  double steps = 0;  // barriers, or messages in a row
  core::Bytes read = {};
  core::Duration start = {};
  core::Duration bandwidth = {};
  core::Basis basis = core::Basis::kComputed;
  std::string source = {};
  bool is_best_of_nccl = false;
  double error_share = 0;  // of the model, against published times
  bool is_clock = true;    // false: a model for choosing, or never seen on such links

  core::Duration time() const { return start + bandwidth; }
};

struct DecodeQuestion {
  catalog::ModelShape shape = {};
  core::Basis shape_basis = core::Basis::kCatalog;
  int batch = 0;
  int pp = 1;  // pipeline stages
  std::string type_name = {};
  model::DecodeStep step = {};
  std::string machine = {};
  std::string machine_text = {};
  core::Bandwidth link = {};
  bool in_graph = true;
  bool must_survive = false;  // a lost rank must not end the job
  std::string vllm = {};
  serving::ServingJob job = {};
  serving::VllmOrder order = {};
  std::vector<serving::BackendAnswer> answers = {};
  std::vector<serving::BackendAnswer> switched_on = {};  // with every backend of the engine on
  std::string nccl_refusal = {};                         // why NCCL is not priced; empty: it is
  serving::SglangAnswer sglang = {};
  serving::SglangAnswer sglang_legacy = {};
  serving::FlashInferChoice flashinfer = {};
  std::vector<DecodeWay> ways = {};
  std::optional<core::Duration> decode_step = {};
  std::vector<core::InputRecord> inputs = {};
  std::vector<core::Caveat> caveats = {};

  const serving::BackendAnswer* taken() const { return serving::taken(answers); }
  // The time of what is taken, and of NCCL; null where it is not known.
  const DecodeWay* taken_way() const;
  const DecodeWay* nccl_way() const;
  // The fastest other way that vLLM would take with other settings, where the models are sure that
  // it is faster; null where there is none.
  const DecodeWay* faster_way() const;
};

class DecodeRequest {
 public:
  void add_to(CLI::App& app);
  core::Result<DecodeQuestion> question();

 private:
  core::Result<bool> take_model(DecodeQuestion& question);
  core::Result<bool> take_message(DecodeQuestion& question);
  core::Result<bool> take_machine(DecodeQuestion& question);
  core::Result<bool> take_settings(DecodeQuestion& question);
  core::Result<bool> take_nccl(const catalog::Machine& machine, DecodeQuestion& question);
  core::Result<bool> take_measured(DecodeQuestion& question) const;

  ModelFlags model_ = {};
  int layers_ = 0, hidden_ = 0, batch_ = 0;
  std::string type_ = "bf16";
  int tp_ = 0;
  int pp_ = 1;
  int calls_per_layer_ = 2;
  CLI::Option* calls_option_ = nullptr;
  std::string machine_ = "dgx-h100";
  std::string vllm_ = "0.23";
  std::vector<std::string> env_ = {};
  bool no_custom_ = false;
  bool eager_ = false;
  bool must_survive_ = false;
  std::vector<std::string> measured_ = {};
  core::Duration decode_step_ = {};
  CLI::Option* decode_step_option_ = nullptr;
  CLI::Option* machine_option_ = nullptr;
  nccl::Environment nccl_settings_ = {};
  CatalogOption catalog_ = {};
};

}  // namespace comm_probe::cli
