// SPDX-License-Identifier: Apache-2.0
/* lookup PLUGIN: which kernel serves a square of 256 on an H100, with the family of the plug-in? */
#include <gemm_tune/gemm_tune.h>
#include <stdio.h>

int main(int argc, char** argv) {
  const gt_device device = {"sm_90", NULL, 0};
  gt_gemm_call call = GT_GEMM_CALL_INIT;
  gt_recipe recipe;
  gt_handle* handle;
  if (argc != 2) return 2;
  call.M = call.N = call.K = 256;
  if (gt_load_family(argv[1]) != GT_OK || gt_open(NULL, &handle) != GT_OK ||
      gt_lookup(handle, &device, &call, &recipe) != GT_OK) {
    fprintf(stderr, "%s\n", gt_last_error());
    return 1;
  }
  printf("%s, %s\n", recipe.config, gt_source_string(recipe.source));
  gt_close(handle);
  return 0;
}
