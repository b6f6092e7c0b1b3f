// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/protocol.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace gemm_tune {
namespace {

template <class T>
T round_trip(const T& value) {
  return nlohmann::json::parse(nlohmann::json(value).dump()).template get<T>();
}

TEST(ProtocolTest, OutcomesSurviveThePipe) {
  Outcome outcome;
  outcome.disposition = Disposition::wrong_result;
  outcome.detail = "3 of 64 elements are wrong";
  outcome.resources = Resources{116, 4, 8, 8192, 2};
  outcome.timing =
      Timing{12.5, {12.25, 12.5, 12.75}, 17, 14.25, GpuConditions{1980, 612.5, 61}, "throttled"};
  outcome.standing = Standing::tied;
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
  request.problem = parse_problem("1000x1024x1000:align=1");
  request.candidate = {"naive/BM=16,BN=16,COALESCED=1,PRED=1", "a key"};
  request.seed = 0xffffffffffffffff;
  request.best_us = 12.5;
  request.small_shapes_only = true;
  const MeasureRequest same = round_trip(request);
  EXPECT_EQ(same.problem, request.problem);
  EXPECT_EQ(same.candidate.config, request.candidate.config);
  EXPECT_EQ(same.candidate.cubin_key, request.candidate.cubin_key);
  EXPECT_EQ(same.seed, request.seed);
  EXPECT_EQ(same.best_us, request.best_us);
  EXPECT_TRUE(same.small_shapes_only);
}

TEST(ProtocolTest, FinalsSurviveThePipe) {
  FinalsRequest request;
  request.problem = parse_problem("64x64x64");
  request.baselines = {BaselineKind::cublas_lt, BaselineKind::cublas};
  EXPECT_EQ(round_trip(request).baselines, request.baselines);
  FinalsReply reply;
  reply.finalists = {Timing{1, {1}, 1}};
  reply.baselines = {{"cublasSgemm 13.1.0", Timing{2, {2}, 3, 4.0}},
                     {"cublasLt 13.1.0 (best of 3 heuristics)", Timing{5, {5}, 6}}};
  EXPECT_EQ(round_trip(reply).finalists, reply.finalists);
  EXPECT_EQ(round_trip(reply).baselines, reply.baselines);
}

TEST(ProtocolTest, ABaselinesNameTellsItsKind) {
  EXPECT_EQ(kind_of("cublasSgemm 13.1.0"), BaselineKind::cublas);
  EXPECT_EQ(kind_of("cublasSgemmStridedBatched 13.1.0"), BaselineKind::cublas);
  EXPECT_EQ(kind_of("cublasLt 13.1.0 (best of 3 heuristics)"), BaselineKind::cublas_lt);
  EXPECT_EQ(parse_baseline_kind("cublas"), BaselineKind::cublas);
  EXPECT_EQ(parse_baseline_kind("cublaslt"), BaselineKind::cublas_lt);
  EXPECT_THROW(parse_baseline_kind("rocblas"), UsageError);
}

TEST(ProtocolTest, DeviceSpecsSurviveThePipe) {
  const DeviceSpec spec = find_device_spec("sm_90").value();
  EXPECT_EQ(round_trip(DeviceReply{spec, "580.1", 2, 1024}).spec, spec);
}

}  // namespace
}  // namespace gemm_tune
