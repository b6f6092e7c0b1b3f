// SPDX-License-Identifier: Apache-2.0
#include "tests/dispatch/preload/fakes/fake_library.h"

#include <unistd.h>

#include <cstdlib>

extern "C" {

gemm_tune::FakeLibrary* fake_library() {
  static auto* const only = new gemm_tune::FakeLibrary;
  return only;
}

gt_status gt_open(const gt_options* options, gt_handle** handle) {
  fake_library()->policy = options->policy;
  const char* const database = std::getenv("GEMM_TUNE_DB");
  if (database != nullptr && *database != '\0' && ::access(database, F_OK) != 0) {
    return GT_DATABASE_ERROR;
  }
  static int only = 0;
  *handle = reinterpret_cast<gt_handle*>(&only);
  return fake_library()->open_status;
}

gt_status gt_refresh(gt_handle*, int* changed) {
  gemm_tune::FakeLibrary& fake = *fake_library();
  ++fake.refreshes;
  if (fake.refresh_status != GT_OK) return fake.refresh_status;
  *changed = fake.has_others.exchange(false) ? 1 : 0;
  return GT_OK;
}

gt_status gt_lookup(const gt_handle*, const gt_device*, const gt_gemm_call*, gt_recipe* recipe) {
  gemm_tune::FakeLibrary& fake = *fake_library();
  ++fake.lookups;
  *recipe = fake.recipe;
  return fake.lookup_status;
}

gt_status gt_explain(const gt_handle*, const gt_device*, const gt_gemm_call*,
                     const char** sentence) {
  *sentence = fake_library()->explanation.c_str();
  return GT_OK;
}

gt_status gt_gemm(gt_handle*, CUstream_st* stream, const gt_gemm_call* call) {
  gemm_tune::FakeLibrary& fake = *fake_library();
  if (fake.gemm_status != GT_OK) return fake.gemm_status;
  ++fake.served;
  if (fake.records) {
    fake.call = *call;
    fake.stream = stream;
  }
  return GT_OK;
}

const char* gt_last_error() { return fake_library()->error.c_str(); }
}
