// The links of GPUs as JSON and as blocks of text, for `link` and `run`.
#pragma once

#include <optional>
#include <vector>

#include "core/document.h"
#include "measure/link/gpu_links.h"
#include "topology/survey.h"

namespace comm_probe::cli {

// Items of result.links[], with the keys of those of the host (host_view.h) and more.
core::Json gpu_links_json(const measure::GpuLinks& links,
                          const std::optional<topology::Survey>& survey);
// result.gpus: {devices[], costs[], peers[], driver_cuda, took_s}
core::Json gpus_json(const measure::GpuLinks& links);

std::vector<core::Block> gpu_link_blocks(const measure::GpuLinks& links,
                                         const std::optional<topology::Survey>& survey);
// Every size of every copy, every matrix in full (--explain).
std::vector<core::Block> gpu_link_details(const measure::GpuLinks& links,
                                          const std::optional<topology::Survey>& survey);

}  // namespace comm_probe::cli
