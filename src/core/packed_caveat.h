// Caveats and errors as bytes (core/packed.h).
#pragma once

#include "core/finding.h"
#include "core/packed.h"
#include "core/result.h"

namespace comm_probe::core {

template <class Archive>
void pack_fields(Archive& archive, Caveat& caveat) {
  archive(caveat.id, caveat.missing, caveat.effect, caveat.limits);
}
template <class Archive>
void pack_fields(Archive& archive, Where& where) {
  archive(where.file, where.line, where.offset);
}
template <class Archive>
void pack_fields(Archive& archive, Error& error) {
  archive(error.code, error.message, error.where, error.hint);
}

}  // namespace comm_probe::core
