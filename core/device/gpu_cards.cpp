// SPDX-License-Identifier: Apache-2.0
#include "core/device/gpu_cards.h"

namespace gemm_tune {
namespace {

// clang-format off
constexpr GpuCard kCards[] = {
    // architecture, name, SMs, MHz, GB/s, L2 in KiB, memory in GiB
    {"sm_75", "Tesla T4", 40, 1590, 320, 4096, 16},
    {"sm_75", "Quadro RTX 6000", 72, 1770, 672, 6144, 24},
    {"sm_75", "Quadro RTX 8000", 72, 1770, 672, 6144, 48},
    {"sm_75", "NVIDIA TITAN RTX", 72, 1770, 672, 6144, 24},
    {"sm_75", "NVIDIA GeForce RTX 2080 Ti", 68, 1545, 616, 5632, 11},
    {"sm_75", "NVIDIA GeForce RTX 2080 SUPER", 48, 1815, 496, 4096, 8},
    {"sm_75", "NVIDIA GeForce RTX 2080", 46, 1710, 448, 4096, 8},
    {"sm_75", "NVIDIA GeForce RTX 2070 SUPER", 40, 1770, 448, 4096, 8},
    {"sm_75", "NVIDIA GeForce RTX 2070", 36, 1620, 448, 4096, 8},
    {"sm_75", "NVIDIA GeForce RTX 2060", 30, 1680, 336, 3072, 6},
    {"sm_75", "NVIDIA GeForce GTX 1660 Ti", 24, 1770, 288, 1536, 6},
    {"sm_75", "NVIDIA GeForce GTX 1650", 14, 1665, 128, 1024, 4},
    {"sm_80", "NVIDIA A100-SXM4-80GB", 108, 1410, 2039, 40960, 80},
    {"sm_80", "NVIDIA A100-SXM4-40GB", 108, 1410, 1555, 40960, 40},
    {"sm_80", "NVIDIA A100 80GB PCIe", 108, 1410, 1935, 40960, 80},
    {"sm_80", "NVIDIA A100-PCIE-40GB", 108, 1410, 1555, 40960, 40},
    {"sm_80", "NVIDIA A30", 56, 1440, 933, 24576, 24},
    {"sm_86", "NVIDIA RTX A6000", 84, 1800, 768, 6144, 48},
    {"sm_86", "NVIDIA RTX A5500", 80, 1665, 768, 6144, 24},
    {"sm_86", "NVIDIA RTX A5000", 64, 1695, 768, 6144, 24},
    {"sm_86", "NVIDIA RTX A4500", 56, 1650, 640, 6144, 20},
    {"sm_86", "NVIDIA RTX A4000", 48, 1560, 448, 4096, 16},
    {"sm_86", "NVIDIA RTX A2000", 26, 1200, 288, 3072, 6},
    {"sm_86", "NVIDIA A40", 84, 1740, 696, 6144, 48},
    {"sm_86", "NVIDIA A10", 72, 1695, 600, 6144, 24},
    {"sm_86", "NVIDIA A10G", 80, 1710, 600, 6144, 24},
    {"sm_86", "NVIDIA A2", 10, 1770, 200, 2048, 16},
    {"sm_86", "NVIDIA GeForce RTX 3090 Ti", 84, 1860, 1008, 6144, 24},
    {"sm_86", "NVIDIA GeForce RTX 3090", 82, 1695, 936, 6144, 24},
    {"sm_86", "NVIDIA GeForce RTX 3080 Ti", 80, 1665, 912, 6144, 12},
    {"sm_86", "NVIDIA GeForce RTX 3080", 68, 1710, 760, 5120, 10},
    {"sm_86", "NVIDIA GeForce RTX 3070 Ti", 48, 1770, 608, 4096, 8},
    {"sm_86", "NVIDIA GeForce RTX 3070", 46, 1725, 448, 4096, 8},
    {"sm_86", "NVIDIA GeForce RTX 3060 Ti", 38, 1665, 448, 4096, 8},
    {"sm_86", "NVIDIA GeForce RTX 3060", 28, 1777, 360, 3072, 12},
    {"sm_86", "NVIDIA GeForce RTX 3050", 20, 1777, 224, 2048, 8},
    {"sm_87", "Orin", 16, 1300, 204.8, 4096, 64},  // Jetson AGX Orin 64 GB
    {"sm_89", "NVIDIA GeForce RTX 4090", 128, 2520, 1008, 73728, 24},
    {"sm_89", "NVIDIA GeForce RTX 4080 SUPER", 80, 2550, 736, 65536, 16},
    {"sm_89", "NVIDIA GeForce RTX 4080", 76, 2505, 717, 65536, 16},
    {"sm_89", "NVIDIA GeForce RTX 4070 Ti SUPER", 66, 2610, 672, 49152, 16},
    {"sm_89", "NVIDIA GeForce RTX 4070 Ti", 60, 2610, 504, 49152, 12},
    {"sm_89", "NVIDIA GeForce RTX 4070 SUPER", 56, 2475, 504, 49152, 12},
    {"sm_89", "NVIDIA GeForce RTX 4070", 46, 2475, 504, 36864, 12},
    {"sm_89", "NVIDIA GeForce RTX 4060 Ti", 34, 2535, 288, 32768, 8},
    {"sm_89", "NVIDIA GeForce RTX 4060", 24, 2460, 272, 24576, 8},
    {"sm_89", "NVIDIA RTX 6000 Ada Generation", 142, 2505, 960, 98304, 48},
    {"sm_89", "NVIDIA RTX 5000 Ada Generation", 100, 2550, 576, 65536, 32},
    {"sm_89", "NVIDIA RTX 4000 Ada Generation", 48, 2175, 360, 49152, 20},
    {"sm_89", "NVIDIA L40S", 142, 2520, 864, 98304, 48},
    {"sm_89", "NVIDIA L40", 142, 2490, 864, 98304, 48},
    {"sm_89", "NVIDIA L4", 58, 2040, 300, 49152, 24},
    {"sm_90", "NVIDIA H100 80GB HBM3", 132, 1980, 3350, 51200, 80},
    {"sm_90", "NVIDIA H100 PCIe", 114, 1755, 2039, 51200, 80},
    {"sm_90", "NVIDIA H100 NVL", 132, 1785, 3938, 51200, 94},
    {"sm_90", "NVIDIA H200", 132, 1980, 4800, 51200, 141},
    {"sm_90", "NVIDIA GH200 480GB", 132, 1980, 4000, 51200, 96},
    {"sm_90", "NVIDIA H20", 78, 1980, 4000, 61440, 96},
    {"sm_100", "NVIDIA B200", 148, 1965, 7700, 129024, 180},
    {"sm_103", "NVIDIA B300 SXM6 AC", 148, 1965, 7700, 129024, 270},
    {"sm_110", "NVIDIA Thor", 20, 1575, 273, 32768, 128},  // Jetson AGX Thor
    {"sm_120", "NVIDIA GeForce RTX 5090", 170, 2407, 1792, 98304, 32},
    {"sm_120", "NVIDIA GeForce RTX 5080", 84, 2617, 960, 65536, 16},
    {"sm_120", "NVIDIA GeForce RTX 5070 Ti", 70, 2452, 896, 49152, 16},
    {"sm_120", "NVIDIA GeForce RTX 5070", 48, 2512, 672, 49152, 12},
    {"sm_120", "NVIDIA GeForce RTX 5060 Ti", 36, 2572, 448, 32768, 16},
    {"sm_120", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 188, 2617, 1792, 131072, 96},
    {"sm_121", "NVIDIA GB10", 48, 2418, 273, 24576, 128},  // DGX Spark
};
// clang-format on

}  // namespace

std::span<const GpuCard> gpu_cards() { return kCards; }

}  // namespace gemm_tune
