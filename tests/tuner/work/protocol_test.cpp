// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/protocol.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tuner/work/frame.h"

namespace gemm_tune {
namespace {

template <class T>
T round_trip(const T& value) {
  FrameReader reader;
  reader.append(to_frame(nlohmann::json(value)));
  return reader.next().value().template get<T>();
}

TEST(ProtocolTest, OutcomesSurviveThePipe) {
  Outcome outcome;
  outcome.disposition = Disposition::wrong_result;
  outcome.detail = "3 of 64 elements are wrong";
  outcome.resources = Resources{116, 4, 8, 8192, 2};
  outcome.timing =
      Timing{12.5, {12.25, 12.5, 12.75}, 17, 14.25, GpuConditions{1980, 612.5, 61}, "throttled"};
  outcome.predicted_us = 11.0;
  EXPECT_EQ(round_trip(outcome), outcome);
}

TEST(ProtocolTest, WhatWasNotMeasuredStaysEmpty) {
  const Outcome outcome = round_trip(Outcome{});
  EXPECT_FALSE(outcome.resources);
  EXPECT_FALSE(outcome.timing);
  EXPECT_FALSE(outcome.predicted_us);
}

TEST(ProtocolTest, RequestsSurviveThePipe) {
  MeasureRequest request;
  request.problem = parse_problem("1000x1024x1000:align=4");
  request.candidate = {"naive/BM=16,BN=16,COALESCED=1,PRED=1", "a key", "\177ELF\xff\n"};
  request.seed = 0xffffffffffffffff;
  request.best_us = 12.5;
  request.small_shapes_only = true;
  const MeasureRequest same = round_trip(request);
  EXPECT_EQ(same.problem, request.problem);
  EXPECT_EQ(same.candidate.config, request.candidate.config);
  EXPECT_EQ(same.candidate.cubin_key, request.candidate.cubin_key);
  EXPECT_EQ(same.candidate.cubin, request.candidate.cubin);
  EXPECT_EQ(same.seed, request.seed);
  EXPECT_EQ(same.best_us, request.best_us);
  EXPECT_TRUE(same.small_shapes_only);
}

TEST(ProtocolTest, AUsersKernelTextCrossesThePipeWhateverItsBytes) {
  CompileRequest request{"naive/BM=16,BN=16,COALESCED=1,PRED=1", "sm_86"};
  EXPECT_FALSE(round_trip(request).source);
  request.source = KernelSource{"naive.cuh", "// gr\xfc\xdf\n", {{"a.cuh", "\xff"}}, "user:0123"};
  const KernelSource same = round_trip(request).source.value();
  EXPECT_EQ(same.path, "naive.cuh");
  EXPECT_EQ(same.text, request.source->text);
  EXPECT_EQ(same.headers, request.source->headers);
  EXPECT_EQ(same.revision, "user:0123");
}

TEST(ProtocolTest, CompiledKernelsSurviveThePipe) {
  CompileReply reply;
  reply.config = "naive/BM=16,BN=16,COALESCED=1,PRED=1";
  reply.ok = true;
  for (int byte = 0; byte < 256; ++byte) reply.cubin += static_cast<char>(byte);
  reply.cubin_key = "a key";
  reply.resources = Resources{116, 4, 8, 8192, 2};
  reply.seconds = 0.25;
  const CompileReply same = round_trip(reply);
  EXPECT_EQ(same.config, reply.config);
  EXPECT_TRUE(same.ok);
  EXPECT_EQ(same.cubin, reply.cubin);
  EXPECT_EQ(same.cubin_key, reply.cubin_key);
  EXPECT_EQ(same.resources, reply.resources);
  EXPECT_EQ(same.seconds, reply.seconds);
}

TEST(ProtocolTest, FinalsSurviveThePipe) {
  FinalsRequest request;
  request.problem = parse_problem("64x64x64");
  request.baselines = {BaselineKind::cublas_lt, BaselineKind::cublas,
                       BaselineKind::cublas_autotuned};
  EXPECT_EQ(round_trip(request).baselines, request.baselines);
  EXPECT_EQ(round_trip(request).objective, Objective::hot);
  request.objective = Objective::cold;
  EXPECT_EQ(round_trip(request).objective, Objective::cold);
  FinalsReply reply;
  reply.finalists = {Timing{1, {1}, 1}, Timing{2, {2}, 1}};
  reply.errors = {1.5e-7, std::nullopt};
  EXPECT_EQ(round_trip(reply).errors, reply.errors);
  reply.baselines = {{"cublasSgemm", "13.1.0", Timing{2, {2}, 3, 4.0}, 2e-7},
                     {"cublasLt", "13.1.0", Timing{5, {5}, 6}, {}, 3}};
  EXPECT_EQ(round_trip(reply).finalists, reply.finalists);
  reply.absent = {"cublasGemmEx-autotuned 13.1.0: CUBLAS_STATUS_NOT_SUPPORTED"};
  EXPECT_EQ(round_trip(reply).baselines, reply.baselines);
  EXPECT_EQ(round_trip(reply).absent, reply.absent);
}

TEST(ProtocolTest, ABaselinesNameTellsItsKind) {
  EXPECT_EQ(kind_of("cublasSgemm"), BaselineKind::cublas);
  EXPECT_EQ(kind_of("cublasSgemmStridedBatched"), BaselineKind::cublas);
  EXPECT_EQ(kind_of("cublasLt"), BaselineKind::cublas_lt);
  EXPECT_EQ(kind_of("cublasGemmEx"), BaselineKind::cublas);
  EXPECT_EQ(kind_of("cublasGemmEx-autotuned"), BaselineKind::cublas_autotuned);
  EXPECT_EQ(kind_of("cublasGemmStridedBatchedEx-autotuned"), BaselineKind::cublas_autotuned);
  EXPECT_EQ(parse_baseline_kind("cublas"), BaselineKind::cublas);
  EXPECT_EQ(parse_baseline_kind("cublaslt"), BaselineKind::cublas_lt);
  EXPECT_EQ(parse_baseline_kind("cublas-autotuned"), BaselineKind::cublas_autotuned);
  EXPECT_THROW(parse_baseline_kind("rocblas"), UsageError);
}

TEST(ProtocolTest, DeviceSpecsSurviveThePipe) {
  const DeviceSpec spec = find_device_spec("sm_90").value();
  EXPECT_EQ(round_trip(DeviceReply{spec, "580.1", 2}).spec, spec);
  EXPECT_EQ(round_trip(DeviceReply{spec, "580.1", 2, {}, "GPU-7"}).uuid, "GPU-7");
}

}  // namespace
}  // namespace gemm_tune
