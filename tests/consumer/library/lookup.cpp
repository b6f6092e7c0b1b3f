// lookup_cpp DATABASE: which kernel serves C[1000,1004] = A[1000,1020] * B[1020,1004] on an RTX
// 3090?
#include <gemm_tune/gemm_tune.hpp>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const gemm_tune::Handle handle(argv[1]);
    const gt_device device = {"sm_86", "NVIDIA GeForce RTX 3090", 82, {}};
    const gt_recipe recipe = handle.lookup(device, gemm_tune::make_problem(1000, 1004, 1020));
    std::cout << recipe.config << '\n'
              << gt_match_string(recipe.match) << " match, " << gt_source_string(recipe.source)
              << ": " << recipe.explanation << '\n'
              << recipe.grid_ctas << " CTAs of " << recipe.block_threads << " threads, "
              << recipe.smem_bytes << " bytes of shared memory\n";
  } catch (const gemm_tune::StatusError& error) {
    std::cerr << gt_status_string(error.status()) << ": " << error.what() << '\n';
    return 1;
  }
}
