// SPDX-License-Identifier: Apache-2.0
/* lookup_c [DATABASE]: which kernel serves C[1000,1004] = A[1000,1020] * B[1020,1004] on an RTX 3090? */
#include <gemm_tune/gemm_tune.h>
#include <stdio.h>

static int fail(gt_status status) {
  fprintf(stderr, "%s: %s\n", gt_status_string(status), gt_last_error());
  return 1;
}

int main(int argc, char** argv) {
  gt_device device = {0};
  gt_problem problem = {0};
  gt_recipe recipe;
  gt_handle* handle;
  gt_status status;
  if (argc > 2) return 2;
  status = gt_open(argv[1], NULL, &handle); /* NULL, the default database, without an argument */
  if (status != GT_OK) return fail(status);
  device.arch = "sm_86";
  device.name = "NVIDIA GeForce RTX 3090";
  device.sm_count = 82;
  problem.M = 1000;
  problem.N = 1004;
  problem.K = 1020;
  status = gt_lookup(handle, &device, &problem, &recipe);
  gt_close(handle);
  if (status != GT_OK) return fail(status);
  printf("%s\n%s match, %s: %s\n", recipe.config, gt_match_string(recipe.match), gt_source_string(recipe.source),
         recipe.explanation);
  printf("%lld CTAs of %d threads, %d bytes of shared memory\n", (long long)recipe.grid[0],
         (int)recipe.block_threads, (int)recipe.smem_bytes);
  return 0;
}
