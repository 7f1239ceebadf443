#pragma once

#include <string>
#include <vector>

#include "jobmanager/job_master.h"

namespace freshet {

/// A vertex of one operator.
JobVertex test_vertex(uint32_t id, const std::string& name, uint32_t parallelism,
                      const std::string& slot_sharing_group = "default");

JobEdge test_edge(uint32_t id, uint32_t producer, uint32_t consumer, Partitioning partitioning);

/// source(2) -hash-> sink(2); the slot sharing group is the same.
JobGraph two_vertices(uint32_t sources = 2, uint32_t sinks = 2,
                      Partitioning partitioning = Partitioning::kHash);

/// The same as a batch job, with a blocking edge.
JobGraph two_stages();

JobSubmission test_submission(JobGraph graph);

/// One line per command, for comparison: `deploy tm=1 0/0#0@0 1/0#0@0 groups=0[0-2)`.
std::string show(const JobCommand&);
std::vector<std::string> show(const JobCommands&);

}  // namespace freshet
