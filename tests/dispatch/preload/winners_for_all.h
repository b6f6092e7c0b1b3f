// SPDX-License-Identifier: Apache-2.0
// A database by which the drop-in serves whatever it can serve: for tests of calls and results.
#pragma once

#include <filesystem>

#include "choose/builtin_config.h"
#include "core/device/device_spec.h"
#include "db/database.h"
#include "db/validity/validity.h"

namespace gemm_tune {

// Winners for all types and layouts, and for batches of pointers, with made-up times: a kernel that
// serves any shape, and for large ones that of the fastest family. With
// GEMM_TUNE_BLAS_DISTANCE=1e12 no shape is too far from them.
inline void write_winners_for_all(const std::filesystem::path& file, const DeviceSpec& device) {
  Database database(file, Database::Mode::create_or_open);
  database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 128", 1});
  Outcome measured;
  measured.timing = Timing{9.0, {8.0, 9.0, 10.0}, 4};
  const auto store = [&](const Problem& problem, const std::optional<KnownConfig>& config) {
    if (!config) return;
    database.store_baseline(device_key(device), problem,
                            {"cublas", "13.1.0", Timing{10.0, {9.0, 10.0, 11.0}, 4}});
    const std::string text = to_string(config->config());
    database.store(device_key(device), problem, text,
                   current_revisions().at(text.substr(0, text.find('/'))), measured,
                   Source::measured);
  };
  for (const ElementType ab : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
    for (const ElementType cd : {ab, ElementType::f32}) {
      const Signature types = signature_of(ab, cd);
      for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
        const Problem small = packed_problem(128, 128, 128, layout, 1, types);
        store(small, builtin_config(types, layout, device.arch));
        const Problem large = packed_problem(2048, 2048, 2048, layout, 1, types);
        store(large, builtin_default(large, device.arch));
        Problem pointers = packed_problem(128, 128, 128, layout, 4, types);
        pointers.batch_kind = BatchKind::pointers;
        store(pointers, builtin_default(pointers, device.arch));
      }
    }
  }
}

}  // namespace gemm_tune
