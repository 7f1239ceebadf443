#pragma once

#if !__has_include(<fmt/format.h>) || !__has_include(<tl/expected.hpp>) || \
    !__has_include(<boost/pfr.hpp>)
#error "jobs need headers of libfmt-dev, libexpected-dev and libboost1.81-dev: install them"
#endif

/// The one header that a job includes besides the connectors that it uses.
#include "runtime/api/abi.h"
#include "runtime/api/environment.h"
#include "runtime/api/result_check.h"
#include "runtime/base/fields.h"

/// Makes this file's shared object a job module. The body gets `freshet::Environment& env`:
///
///   FRESHET_JOB(word_count) {
///     env.from_source(...).flat_map(...).sink_to(...);
///   }
///
/// One per module. Build it with `freshet build` or with freshet_add_job() of CMake.
#define FRESHET_JOB(job)                                                                      \
  static void freshet_build_##job(::freshet::Environment& env);                               \
  extern "C" {                                                                                \
  __attribute__((visibility("default"))) extern const ::freshet::AbiStamp freshet_abi_stamp;  \
  __attribute__((visibility("default"))) extern const char freshet_job_name[];                \
  __attribute__((visibility("default"))) void freshet_build_job(::freshet::Environment* env); \
  }                                                                                           \
  constinit const ::freshet::AbiStamp freshet_abi_stamp = ::freshet::make_abi_stamp();        \
  constinit const char freshet_job_name[] = #job;                                             \
  void freshet_build_job(::freshet::Environment* env) { freshet_build_##job(*env); }          \
  static void freshet_build_##job([[maybe_unused]] ::freshet::Environment& env)
