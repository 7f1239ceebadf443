#include <stdexcept>

#include "runtime/api/job.h"

FRESHET_JOB(throwing) {
  if (env.parallelism() == 7) throw 7;
  throw std::runtime_error("the builder gave up");
}
