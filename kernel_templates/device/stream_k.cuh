// Shares the tiles of a product evenly among all CTAs of a grid, however many of each there are.
//
// Whole tiles first, as many rounds as leave at least one tile for each CTA; the slices of the
// tiles that remain are one long row, cut into equal parts. A tile that lies in several parts is
// added up by ShareSum. (After Osama et al., "Stream-K: Work-centric Parallel Decomposition for
// Dense Matrix-Matrix Multiplication on the GPU", PPoPP 2023; nobody waits for anybody here.)
#pragma once

#include "kernel_templates/device/gemm_args.cuh"
#include "kernel_templates/device/raster.cuh"

namespace gemm_tune {

// A CTA's work, segment by segment: first its part of the shared tiles, then its whole ones. Takes
// no batches; M, N and K such that the shared slices fit an int (core/launch_recipe.h).
template <int BM, int BN, int BK>
class StreamK {
 public:
  __device__ StreamK(const GemmArgs& args, int K)
      : K_(K),
        slices_(K > 0 ? (K - 1) / BK + 1 : 1),
        ctas_(static_cast<int>(gridDim.x)),
        cta_(static_cast<int>(blockIdx.x)) {
    const int tiles = ((args.M - 1) / BM + 1) * ((args.N - 1) / BN + 1);
    const int rounds = tiles / ctas_;
    const bool is_ragged = rounds * ctas_ != tiles;
    whole_rounds_ = is_ragged && rounds > 0 ? rounds - 1 : rounds;
    shared_tiles_ = tiles - whole_rounds_ * ctas_;
    part_ = shared_tiles_ * slices_ / ctas_;
    longer_parts_ = shared_tiles_ * slices_ - part_ * ctas_;
    at_ = part_begin(cta_);
    end_ = part_begin(cta_ + 1);
  }

  // Goes to the next segment; false where there is none.
  __device__ bool next() {
    if (at_ < end_) {
      tile_ = at_ / slices_;
      const int tile_begin = tile_ * slices_, tile_end = tile_begin + slices_;
      first_slice_ = at_ - tile_begin;
      at_ = tile_end < end_ ? tile_end : end_;
      last_slice_ = at_ - tile_begin;
      first_cta_ = part_of(tile_begin);
      shares_ = part_of(tile_end - 1) - first_cta_ + 1;
      return true;
    }
    if (round_ == whole_rounds_) return false;
    tile_ = shared_tiles_ + round_++ * ctas_ + cta_;
    first_slice_ = 0;
    last_slice_ = slices_;
    shares_ = 1;
    return true;
  }

  // Of the segment.
  __device__ int tile() const { return tile_; }
  __device__ KRange k_range() const {
    const int end = last_slice_ * BK;
    return {first_slice_ * BK, end < K_ ? end : K_};
  }
  __device__ int shares() const { return shares_; }
  __device__ int share() const { return cta_ - first_cta_; }

  // The first of a tile's counters, shares() + 1 of them: neighbours have at most one CTA in
  // common, so that they do not overlap.
  __device__ int first_counter() const { return 2 * tile_ + first_cta_; }

  // A CTA may end one tile and begin another: two slots each.
  __device__ int slot(int share) const {
    const int cta = first_cta_ + share;
    return 2 * cta + (part_begin(cta) < tile_ * slices_ ? 1 : 0);
  }

 private:
  // Where a CTA's part of the shared slices begins: the first parts are one slice longer.
  __device__ int part_begin(int cta) const {
    return cta * part_ + (cta < longer_parts_ ? cta : longer_parts_);
  }
  // The CTA whose part a slice is in.
  __device__ int part_of(int slice) const {
    const int longer = longer_parts_ * (part_ + 1);
    if (slice < longer) return slice / (part_ + 1);
    return longer_parts_ + (slice - longer) / part_;
  }

  const int K_, slices_, ctas_, cta_;
  int whole_rounds_, shared_tiles_;
  int part_, longer_parts_;  // slices of a part, and how many parts have one more
  int at_, end_;
  int round_ = 0;
  int tile_ = 0, first_slice_ = 0, last_slice_ = 0, first_cta_ = 0, shares_ = 1;
};

}  // namespace gemm_tune
