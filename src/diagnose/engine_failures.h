// Communication that failed while an inference engine served: who failed, and what to look at.
//
//   a text of the custom all-reduce      -> log.custom-all-reduce-failed
//   KV caches that did not arrive        -> log.kv-transfer-failed, with what the NIC answered
//   GPU memory that UCX takes for host's -> log.kv-vram-as-host
//   blocks that nobody fetched in time   -> log.kv-expired
#pragma once

#include "diagnose/diagnose.h"
#include "serving/readers/engine_failures.h"

namespace comm_probe::diagnose {

Judgement judge_engine_failures(const serving::EngineFailures& failures);

}  // namespace comm_probe::diagnose
