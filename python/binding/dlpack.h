// SPDX-License-Identifier: Apache-2.0
// The binary interface of DLPack 1.x, as far as a consumer of tensors needs it:
// https://dmlc.github.io/dlpack/latest/c_api.html. Names are this project's; the layouts are the
// standard's.
//
// ExchangeApi is what a type's __dlpack_c_exchange_api__ points to: functions in C that lend a
// tensor's description, name its current stream and make a tensor, without a Python call.
#pragma once

#include <cstdint>

#include "core/types/signature.h"

namespace gemm_tune::dlpack {

enum class DeviceType : std::int32_t {
  cpu = 1,
  cuda = 2,
  cuda_host = 3,
  rocm = 10,
  cuda_managed = 13,
};

struct Device {
  DeviceType type;
  std::int32_t ordinal;
};

struct DataType {
  std::uint8_t code;  // of the table of types
  std::uint8_t bits;
  std::uint16_t lanes;
};

constexpr bool operator==(const DataType& a, const DataType& b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}
constexpr DataType type_of(ElementType type) {
  const TypeInfo& info = info_of(type);
  return {static_cast<std::uint8_t>(info.dlpack_code), static_cast<std::uint8_t>(info.bits), 1};
}

struct Tensor {
  void* data;
  Device device;
  std::int32_t dimensions;
  DataType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; before version 1.2 nullptr for rows one after another
  std::uint64_t byte_offset;
};

// Of capsules named "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  std::uint32_t major, minor;
};

// Of capsules named "dltensor_versioned".
struct VersionedTensor {
  Version version;
  void* context;
  void (*deleter)(VersionedTensor*);
  std::uint64_t flags;
  Tensor tensor;
};
inline constexpr std::uint64_t kReadOnly = 1;

// Functions that return an int give 0, or -1 with a Python exception set.
struct ExchangeApi {
  Version version;
  const void* earlier;  // of another major version, or nullptr
  int (*allocate)(Tensor* prototype, VersionedTensor** made, void* context,
                  void (*fail)(void* context, const char* kind, const char* message));
  int (*owned_from_object)(void* object, VersionedTensor** owned);
  int (*object_from_owned)(VersionedTensor* owned, void** object);  // takes it over
  int (*borrow_from_object)(void* object, Tensor* borrowed);        // may be nullptr
  int (*current_stream)(DeviceType type, std::int32_t ordinal, void** stream);
};

}  // namespace gemm_tune::dlpack
