// The files of src/core/texts/ as the build put them into the binary (cmake/embed.cmake).
#pragma once

#include "core/language.h"
