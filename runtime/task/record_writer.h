#pragma once

#include <memory>
#include <string>

#include "runtime/base/record_faults.h"
#include "runtime/base/status.h"
#include "runtime/graph/job_graph.h"
#include "runtime/operators/edge_type.h"
#include "runtime/task/decisions.h"
#include "shuffle/result_partition.h"

namespace freshet {

/// Puts the records of one output of an operator into a partition: encodes each and chooses its
/// consumers.
class RecordWriter : public RecordReceiver {
 public:
  struct Options {
    Partitioning partitioning = Partitioning::kForward;
    uint32_t subpartitions = 1;         // Of the partition: all consumers, or the pointwise share.
    uint32_t consumer_parallelism = 1;  // For kHash, kDirect and kCustom.
    uint32_t consumer_max_parallelism = 1;  // Key groups, for kHash.
    bool flush_each = false;                // Nothing waits for the record behind it.
    RecordFaults* faults = nullptr;         // Null: none, and they cost nothing.
  };

  /// Draws from `decisions` what chance decides. All arguments outlive the writer.
  static std::unique_ptr<RecordWriter> make(const Options&, const EdgeType&, ResultPartition&,
                                            Decisions&);

  /// Not ok after a record named a consumer that does not exist, or what its codec, key selector or
  /// partitioner threw, which an operator may have caught. That record and all later ones are
  /// dropped, and nothing else may be written to the partition.
  const Status& status() const { return status_; }

 protected:
  /// Calls `write()` while nothing went wrong.
  template <class Write>
  void guarded(Write&& write) {
    if (!status_.ok()) [[unlikely]]
      return;
    try {
      write();
    } catch (...) {
      note_exception();
      throw;
    }
  }

  Status status_;

 private:
  void note_exception();
};

}  // namespace freshet
