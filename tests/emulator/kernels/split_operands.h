// SPDX-License-Identifier: Apache-2.0
// Products by kernels that split fp32 operands into parts, on data that are hard for parts: held
// against fp64 and against fp32's own sums.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/emulator/kernels/emulated_kernel.h"

namespace gemm_tune::emulator {

// What A and B hold. Those up to peaks fit the parts. denormal fits those of scaled f16, and from
// few_lines on to small_beside_large those of bf16, of the others some number does not. Of A and B
// of two types the one of 16 bits is B here, whichever it is: it is not split, and holds whatever
// it holds.
enum class Data {
  uniform,
  positive,
  scaled_lines,  // each row of A and column of B by another power of two
  growing,       // by powers of two along K
  peaks,         // one number of each row of A and column of B is 64 times as large
  denormal,      // A's numbers are denormal
  few_lines,     // a few have only small numbers, beside a large one that meets zeros
  most_lines,    // the same, so many as may be before all of D is fp32's own
  a_line_more,
  small_beside_large,  // only small numbers count beside a large one that meets zeros
  infinite,
  infinite_in_b,     // beside numbers of A whose low parts are 0
  infinite_by_tiny,  // the same beside a number whose high part of f16 is 0
  not_a_number,      // in B
};
// More than a cluster keeps of lines across rows in registers; of growing data the largest numbers
// are what its second CTA reads twice.
inline constexpr int kLongK = 5000;

// Of lines across the rows that all CTAs of a cluster have numbers of.
inline constexpr int kClustersK = 1536;
inline constexpr Data kAllData[] = {
    Data::uniform,   Data::positive,      Data::scaled_lines,     Data::denormal,
    Data::few_lines, Data::most_lines,    Data::a_line_more,      Data::small_beside_large,
    Data::infinite,  Data::infinite_in_b, Data::infinite_by_tiny, Data::not_a_number};

const char* to_string(Data data);

// What is wrong with a small product of such data, or nothing. Those that fit must be within the
// bound of the accuracy class, of the others, and where fp32's own sum is not finite, D must be
// fp32's own: each element's sum along K in order. Where both operands are split in two f16 parts,
// that holds only where too many lines lose numbers; where few do, elements on these are sums in
// fp32 of an order of their own.
std::optional<std::string> wrong_of(EmulatedKernel& kernel, Data data);

// The same of a K of one's own, and of a batch whose D is alpha times the product and beta times
// what was there.
std::optional<std::string> wrong_of(EmulatedKernel& kernel, Data data, int K);
std::optional<std::string> wrong_in_place(EmulatedKernel& kernel, Data data);

// Elements of which the bits are others in any other order of threads and CTAs.
int others_in_any_order(EmulatedKernel& kernel, Data data, int K);

// What differs where a copy of A or B, or of both, is kept from an earlier call, or nothing: D must
// have the same bits.
std::optional<std::string> wrong_with_kept_copies(EmulatedKernel& kernel, Data data);

// The same where a copy of B is kept, made as this operand of a call of another kernel. Where that
// one's other operand is not split, nobody knows which lines lose numbers: of data of which some
// do, all of D must be fp32's own.
std::optional<std::string> wrong_with_copy_of(EmulatedKernel& maker, CallValue as,
                                              EmulatedKernel& kernel, Data data);

// Whether the copies of A and B that one kernel makes are those that another one of any layout and
// tile does, for a few rows and columns of this K.
bool makes_the_same_copies(EmulatedKernel& kernel, EmulatedKernel& other, Data data, int K);

// Errors of a product's sums.
struct SumErrors {
  double beside_fp32;     // in the Frobenius norm, over that of fp32's own sums
  double mean_shortfall;  // by how much they fall short in the mean, over the sums
};
SumErrors errors_of_sums(EmulatedKernel& kernel, Data data, int K);

// Elements of a product of this K that are not those of product_of_parts().
int others_than_by_parts(EmulatedKernel& kernel, Data data, int K);

// Whether any product of the above is wrong, has an error larger than half of fp32's, or, of
// positive numbers, falls short by more than 2^-23 in the mean, in words.
std::optional<std::string> wrong_of_split_operands(EmulatedKernel& kernel);

}  // namespace gemm_tune::emulator
