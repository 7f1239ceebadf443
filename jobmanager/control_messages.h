#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobmanager/job_commands.h"
#include "jobmanager/job_master.h"
#include "jobmanager/resource_manager.h"
#include "runtime/base/crash_report.h"
#include "runtime/base/status.h"

namespace freshet {

namespace proto {
class AttemptProto;
class ChannelsLost;
class JobIdProto;
class JobSummary;
class RegisterTaskManager;
class StatusProto;
class SubmitJob;
class TaskGauges;
class TaskManagerCrashes;
class TaskManagerStatus;
class TaskProgress;
class TaskStateChanged;
class TaskSummary;
}  // namespace proto

/// Between what travels and what the JobManager thinks in. Reading checks everything that the
/// JobManager relies on: kDataLoss for what no peer of ours would send, kInvalidArgument for what a
/// user got wrong.
namespace control_messages {

void write(const Status&, proto::StatusProto*);
void write(const JobId&, proto::JobIdProto*);
void write(const AttemptId&, proto::AttemptProto*);

Status read(const proto::StatusProto&);
JobId read(const proto::JobIdProto&);
AttemptId read(const proto::AttemptProto&);
TaskGauges read(const proto::TaskGauges&);
ExecutionProgress read(const proto::TaskProgress&);
TaskManagerNumbers read(const proto::TaskManagerStatus&);
Result<TaskManagerInfo> read(const proto::RegisterTaskManager&);
Result<TaskStateReport> read(const proto::TaskStateChanged&);
ChannelsLostReport read(const proto::ChannelsLost&);
CrashReport read(const proto::TaskManagerCrashes&);
Result<JobSubmission> read(const proto::SubmitJob&);

/// What all messages of a job share, without an envelope. It never changes.
std::string encode_job_information(const JobMaster&);

/// Whole envelopes, as they are sent. See DeploymentEncoder for those of deployments.
std::string encode(const job_commands::CancelTasks&);
std::string encode(const job_commands::FinishTasks&);
std::string encode(const job_commands::ReleasePartitions&, JobId);
std::string encode(const job_commands::ProvokeFailure&);
std::string encode(const job_commands::Commit&, std::string_view job_information);
std::string encode_release(const JobId&);
/// The receiver cleans up all of the job, whatever it ran of it.
std::string encode_clean_up(const JobId&, std::string_view job_information);

/// Times are filled in by the caller.
void summarize(const JobMaster&, proto::JobSummary*);
void summarize(const JobMaster&, uint32_t execution, proto::TaskSummary*);

}  // namespace control_messages

}  // namespace freshet
