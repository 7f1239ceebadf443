#include "runtime/app/local_cluster.h"

#include "runtime/api/dl_module_loader.h"
#include "runtime/app/fault_gate.h"
#include "runtime/app/private_directory.h"
#include "runtime/base/log.h"

namespace freshet {

LocalCluster::LocalCluster(std::string state_directory, std::unique_ptr<FileSystem> files)
    : state_directory_(std::move(state_directory)),
      clock_(make_system_clock()),
      files_(std::move(files)),
      modules_(std::make_unique<DlModuleLoader>(*files_)),
      network_("network", *clock_),
      transport_(network_) {}

Result<std::unique_ptr<LocalCluster>> LocalCluster::start(const Options& options) {
  ASSIGN_OR_RETURN(auto files, files_of(options.configuration, options.allow_faults,
                                        options.state_directory + "/taskmanager"));
  // Before there is who removes it: one that is there already belongs to somebody else.
  RETURN_IF_ERROR(make_private_directory(options.state_directory)
                      .with_context("no place for the files of a local cluster (remove what is "
                                    "there, or set TMPDIR)"));
  std::unique_ptr<LocalCluster> cluster(
      new LocalCluster(options.state_directory, std::move(files)));
  ASSIGN_OR_RETURN(cluster->faults_,
                   faults_of(options.configuration, options.allow_faults, "local", std::nullopt));
  const Address any{"127.0.0.1", 0};
  JobManagerRunner::Options job_manager;
  job_manager.configuration = options.configuration;
  job_manager.bind = any;
  job_manager.state_directory = options.state_directory + "/jobmanager";
  cluster->job_manager_ = std::make_unique<JobManagerRunner>(
      job_manager, cluster->transport_, *cluster->clock_, *cluster->files_, cluster->faults_.get());
  ASSIGN_OR_RETURN(const Address control, cluster->job_manager_->start());
  TaskManagerRunner::Options task_manager;
  task_manager.configuration = options.configuration;
  task_manager.job_manager = control;
  task_manager.bind = any;
  task_manager.name = "local";
  task_manager.state_directory = options.state_directory + "/taskmanager";
  task_manager.slots = options.slots;
  task_manager.on_fatal = options.on_fatal;
  ASSIGN_OR_RETURN(
      cluster->task_manager_,
      TaskManagerRunner::start(task_manager, cluster->transport_, *cluster->clock_,
                               *cluster->files_, *cluster->modules_, cluster->faults_.get()));
  ControlClient::Options client;
  client.job_manager = control;
  client.secret = options.configuration.text(config::kSecret);
  ASSIGN_OR_RETURN(cluster->client_,
                   ControlClient::connect(client, cluster->transport_, *cluster->clock_));
  return cluster;
}

LocalCluster::~LocalCluster() {
  client_.reset();
  task_manager_.reset();
  job_manager_.reset();
  const Status removed = files_->remove_all(state_directory_);
  if (!removed.ok()) LOG_WARN("state_not_removed", {{"cause", removed}});
}

}  // namespace freshet
