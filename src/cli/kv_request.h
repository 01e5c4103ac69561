// What `calc kv` was asked: a model, a prompt, two tensor parallelisms, and the way between them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/catalog_option.h"
#include "cli/model_choice.h"
#include "cli/nic_choice.h"
#include "cli/shell.h"
#include "model/kv_cache.h"
#include "model/kv_transfer.h"

namespace comm_probe::cli {

// "bf16", "fp8_ds_mla"
core::Result<model::KvType> kv_type_from_name(const std::string& name);

// Caches are counted in binary units: 1.25 GiB, where 10^9 bytes would say 1.342 GB.
std::string format_cache(core::Bytes bytes);

struct KvQuestion {
  model::KvCache cache = {};
  std::string type_name = {};  // "bf16"
  core::Basis basis = core::Basis::kCatalog;
  std::uint64_t tokens = 0;
  model::KvMove move = {};
  int merge = 1;
  int pp = 1;  // pipeline stages, on both sides
  std::optional<NicChoice> nic = {};
  // With a GPU: TCP, through host memory, straight, straight through the CPU.
  std::vector<model::PathLedger> paths = {};
  core::Sourced<core::Bandwidth> rate = {};  // of the path that was taken; zero without a NIC
  std::string path = {};                     // "rdma-gdr"; empty: the NIC alone
  // Nothing where neither a rate nor a GPU is given.
  std::optional<core::Sourced<model::PromptCompute>> prefill = {};
  std::string no_prefill = {};  // why not, where a GPU was named
  // The same on the GPUs of the decode side, which would compute the prompt again.
  std::optional<core::Sourced<model::PromptCompute>> recompute = {};
  core::Sourced<core::Duration> step = {};
  std::vector<core::InputRecord> inputs = {};
  std::vector<core::Caveat> caveats = {};
  std::vector<serving::ConfigNote> notes = {};  // what the config.json leaves open

  core::Bytes bytes() const { return model::kv_bytes(cache, tokens); }
  // Of the fullest pipeline stage: what ranks hold and move is a share of it.
  core::Bytes on_stage() const { return model::kv_bytes(model::kv_stage(cache, pp), tokens); }
  std::uint64_t descriptors() const;
  model::KvTime time() const;
  // Of prompts of any length.
  model::KvPrompt prompt() const;
};

class KvRequest {
 public:
  void add_to(CLI::App& app);
  core::Result<KvQuestion> question();

 private:
  core::Result<bool> take_model(KvQuestion& question);
  core::Result<bool> take_named(KvQuestion& question);
  void take_type(const std::string& weights, KvQuestion& question);
  core::Result<catalog::ModelShape> typed_shape() const;
  core::Result<bool> take_cache(catalog::ModelShape shape, KvQuestion& question);
  core::Result<bool> take_path(KvQuestion& question);
  core::Result<bool> take_gpu_path(KvQuestion& question);
  core::Result<bool> take_times(KvQuestion& question);

  ModelFlags model_ = {};
  int layers_ = 0, kv_heads_ = 0, head_dim_ = 0;
  std::string type_ = {};
  std::uint64_t tokens_ = 4096;
  int tp_ = 1;
  int pp_ = 1;
  std::optional<int> decode_tp_ = {};
  int block_ = 16;
  int merge_ = 1;
  std::string nic_ = {};
  std::string gpu_ = {};
  std::string path_ = {};  // empty: what the GPU can
  double prefill_rate_ = 0;
  CLI::Option* prefill_option_ = nullptr;
  core::Duration step_ = {};
  CLI::Option* step_option_ = nullptr;
  CatalogOption catalog_ = {};
};

}  // namespace comm_probe::cli
