// SPDX-License-Identifier: Apache-2.0
/* lookup_c [DATABASE]: which kernel serves C[1000,1004] = A[1000,1020] * B[1020,1004] on an RTX 3090? */
#include <gemm_tune/gemm_tune.h>
#include <stdio.h>

static int fail(gt_status status) {
  fprintf(stderr, "%s: %s\n", gt_status_string(status), gt_last_error());
  return 1;
}

int main(int argc, char** argv) {
  gt_options options = GT_OPTIONS_INIT;
  gt_device device = {0};
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  gt_recipe recipe;
  const char* explanation;
  gt_handle* handle;
  gt_status status;
  if (argc > 2) return 2;
  options.database_path = argv[1]; /* NULL, the default database, without an argument */
  status = gt_open(&options, &handle);
  if (status != GT_OK) return fail(status);
  device.arch = "sm_86";
  device.name = "NVIDIA GeForce RTX 3090";
  device.sm_count = 82;
  call.M = 1000;
  call.N = 1004;
  call.K = 1020;
  status = gt_lookup(handle, &device, &call, &recipe);
  if (status == GT_OK) status = gt_explain(handle, &device, &call, &explanation);
  if (status != GT_OK) return fail(status);
  printf("%s\n%s match, %s: %s\n", recipe.config, gt_match_string(recipe.match), gt_source_string(recipe.source),
         explanation);
  printf("A at multiples of %d bytes, B of %d, D of %d\n", (int)recipe.align_a, (int)recipe.align_b,
         (int)recipe.align_d);
  gt_close(handle);
  return 0;
}
