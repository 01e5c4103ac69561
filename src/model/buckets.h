// Gradients of data-parallel training (PyTorch DDP) reduced in buckets while the backward pass goes
// on. The first bucket holds 1 MiB so that the first all_reduce starts early, the others
// bucket_cap_mb = 25 MiB = 26214400 B (torch.nn.parallel.DistributedDataParallel;
// torch.distributed._DEFAULT_FIRST_BUCKET_BYTES; golden G5-15).
//
// Overlap: gradients appear evenly over the backward pass; bucket i starts when it is full and the
// one before is through. What ends after the backward pass is exposed; at least the last bucket is.
// Worked example: 25 MB on 8 ranks over 50 GB/s is 875 us of bytes (golden G5-03).
#pragma once

#include <optional>
#include <vector>

#include "model/closed_form.h"

namespace comm_probe::model {

inline const core::Bytes kFirstBucket = core::Bytes::of(1048576);
inline const core::Bytes kDefaultBucket = core::Bytes::of(26214400);

struct BucketRule {
  core::Bytes gradients = {};  // all of them
  core::Bytes first = kFirstBucket;
  core::Bytes cap = kDefaultBucket;
  std::optional<core::Duration> backward = {};
};

struct Overlap {
  core::Duration hidden = {};   // of the communication, behind the backward pass
  core::Duration exposed = {};  // after its end
  // Of the whole communication; below 1 even at best, because the last bucket waits for the last
  // gradient.
  double hidden_share = 0;
};

struct BucketLedger {
  BucketRule rule = {};
  int count = 0;  // buckets, the first and the last one included
  Ledger first = {};
  Ledger full = {};                     // a bucket of the cap
  Ledger last = {};                     // what is left for the last bucket
  core::Duration total = {};            // all buckets one after the other
  core::Duration latency = {};          // the steps in it
  Ledger in_one = {};                   // everything in one call: the least time, but no overlap
  std::optional<Overlap> overlap = {};  // with `backward` only
  double full_share_of_plateau = 0;     // busbw of a full bucket over what large messages reach
};

// Fails as price() does, on a bucket of no bytes, and on more than 10^6 buckets.
core::Result<BucketLedger> price_buckets(const BucketRule& rule, int ranks, const Method& method,
                                         const Fabric& fabric);

}  // namespace comm_probe::model
