/** Descriptions of workload kinds. Data. */
import type { Texts } from './texts.ts';

const REPLICAS = 'Desired number of pods. Defaults to 1.';
const SELECTOR =
  'Labels by which the pods are selected. Must match the labels of the template. Cannot be changed.';
const TEMPLATE = 'Template of the pods.';
const MIN_READY_SECONDS =
  'Minimum seconds that a new pod must be ready, without a container crash, to count as available. Defaults to 0.';
const HISTORY = 'Number of old revisions to retain for rollbacks. Defaults to 10.';
const UPDATE_STRATEGY = 'Replacement of existing pods after a change of the template.';
const UPDATE_TYPE =
  'RollingUpdate replaces pods automatically. OnDelete replaces a pod only after it has been deleted. Defaults to RollingUpdate.';
const SCALE_TARGET = 'Object to scale, in the same namespace. It must have a scale subresource.';
const MIN_REPLICAS =
  'Lower limit for the number of pods. 0 requires a feature gate and an object or external metric. Defaults to 1.';
const MAX_REPLICAS = 'Upper limit for the number of pods. Must not be less than minReplicas.';

export const WORKLOAD_TEXTS: Texts = {
  'apps/v1.Deployment': {
    is: 'Manages replica sets to run a number of identical pods, and replaces the pods gradually after a change of the template.',
  },
  'apps/v1.DeploymentSpec': {
    is: 'Desired state of a deployment.',
    members: {
      replicas: REPLICAS,
      selector: SELECTOR,
      template: TEMPLATE,
      strategy: 'Replacement of old pods by new ones.',
      minReadySeconds: MIN_READY_SECONDS,
      revisionHistoryLimit: 'Number of old replica sets to retain for rollbacks. Defaults to 10.',
      paused:
        'If true, changes of the template are not rolled out. The deployment still scales. Defaults to false.',
      progressDeadlineSeconds:
        'Maximum seconds without progress before the condition Progressing reports a failure. The rollout continues nevertheless. Not measured while the deployment is paused. Defaults to 600.',
    },
  },
  'apps/v1.DeploymentStatus': {
    is: 'Observed state of a deployment.',
    members: {
      replicas: 'Total number of pods that are not terminated.',
      updatedReplicas: 'Number of pods with the current template.',
      readyReplicas: 'Number of ready pods.',
      availableReplicas: 'Number of pods that have been ready for at least minReadySeconds.',
      unavailableReplicas: 'Number of pods that are missing for full availability.',
      collisionCount: 'Number of hash collisions. The controller uses it for the names of new replica sets.',
    },
  },
  'apps/v1.DeploymentStrategy': {
    is: 'Strategy for the replacement of pods.',
    members: {
      type: 'RollingUpdate replaces pods gradually. Recreate terminates all old pods before it creates new ones. Defaults to RollingUpdate.',
      rollingUpdate: 'Parameters of a rolling update. Valid for the type RollingUpdate only.',
    },
  },
  'apps/v1.ReplicaSet': {
    is: 'Runs a number of identical pods.',
  },
  'apps/v1.DaemonSet': {
    is: 'Runs one pod on every node that matches.',
  },
  'apps/v1.StatefulSet': {
    is: 'Runs pods with stable names, stable storage and an order.',
  },
  'batch/v1.Job': {
    is: 'Runs pods until a number of them have succeeded.',
  },
  'batch/v1.CronJob': {
    is: 'Creates jobs on a schedule.',
  },
  'apps/v1.RollingUpdateDeployment': {
    members: {
      maxUnavailable:
        'Maximum number of unavailable pods during an update, absolute or as a percentage of the desired pods, rounded down. Cannot be 0 if maxSurge is 0. Defaults to 25%.',
      maxSurge:
        'Maximum number of pods above the desired number during an update, absolute or as a percentage of it, rounded up. Cannot be 0 if maxUnavailable is 0. Defaults to 25%.',
    },
  },
  'apps/v1.ReplicaSetSpec': {
    members: {
      replicas: REPLICAS,
      minReadySeconds: MIN_READY_SECONDS,
      selector: SELECTOR,
      template: TEMPLATE,
    },
  },
  'apps/v1.StatefulSetSpec': {
    members: {
      replicas: REPLICAS,
      selector: SELECTOR,
      template: 'Template of the pods. Each pod is named after the set and its ordinal.',
      volumeClaimTemplates:
        'Templates of claims. Every pod gets one claim of each. A claim takes precedence over a volume of the same name in the template. Cannot be changed.',
      serviceName:
        'Name of the service that governs the DNS names of the pods. It must exist before the set. Cannot be changed.',
      podManagementPolicy:
        'OrderedReady creates pods one by one as each becomes ready, and deletes them in reverse order. Parallel does not wait. Cannot be changed. Defaults to OrderedReady.',
      updateStrategy: UPDATE_STRATEGY,
      revisionHistoryLimit: HISTORY,
      minReadySeconds: MIN_READY_SECONDS,
      persistentVolumeClaimRetentionPolicy:
        'Whether claims are deleted with the set, and after it has been scaled down. Defaults to Retain for both.',
    },
  },
  'apps/v1.StatefulSetUpdateStrategy': {
    members: {
      type: UPDATE_TYPE,
      rollingUpdate: 'Parameters of a rolling update. Valid for the type RollingUpdate only.',
    },
  },
  'apps/v1.RollingUpdateStatefulSetStrategy': {
    members: {
      partition: 'Lowest ordinal to update; pods with lower ordinals retain their revision. Defaults to 0.',
      maxUnavailable:
        'Maximum number of unavailable pods during an update, absolute or as a percentage of the desired pods, rounded up. Cannot be 0. Defaults to 1.',
    },
  },
  'apps/v1.DaemonSetSpec': {
    members: {
      selector: SELECTOR,
      template: 'Template of the pods. Its node selector and affinity limit the nodes that run a pod.',
      updateStrategy: UPDATE_STRATEGY,
      minReadySeconds: MIN_READY_SECONDS,
      revisionHistoryLimit: HISTORY,
    },
  },
  'apps/v1.DaemonSetUpdateStrategy': {
    members: {
      type: UPDATE_TYPE,
      rollingUpdate: 'Parameters of a rolling update. Valid for the type RollingUpdate only.',
    },
  },
  'apps/v1.RollingUpdateDaemonSet': {
    members: {
      maxUnavailable:
        'Maximum number of nodes without an available pod during an update, absolute or as a percentage of the nodes to run a pod, rounded up. Cannot be 0 if maxSurge is 0. Defaults to 1.',
      maxSurge:
        'Maximum number of nodes with both an old and a new pod during an update, absolute or as a percentage of the nodes to run a pod, rounded up. Defaults to 0.',
    },
  },
  'apps/v1.ControllerRevision': {
    is: 'Immutable snapshot of the template of a stateful set or daemon set, for updates and rollbacks.',
    members: {
      data: 'Serialized state.',
      revision: 'Sequence number of the revision in its history.',
    },
  },
  'batch/v1.JobSpec': {
    members: {
      parallelism: 'Maximum number of pods that run at the same time. Defaults to 1.',
      completions:
        'Number of pods that must succeed. If both completions and parallelism are absent, both default to 1. If only parallelism is set, the job completes once one pod has succeeded and all others have terminated. Required for the completion mode Indexed.',
      activeDeadlineSeconds:
        'Seconds after startTime at which the job fails and its pods are terminated. Restarted when a suspended job resumes. If absent, there is no limit.',
      backoffLimit: 'Number of retries before the job fails. Defaults to 6.',
      selector:
        'Labels by which the pods are selected. Generated by the server, unless manualSelector is set.',
      manualSelector:
        'If true, the client supplies the selector and must ensure that it is unique. Defaults to false.',
      template: 'Template of the pods. Its restart policy must be OnFailure or Never.',
      ttlSecondsAfterFinished:
        'Seconds after the end of the job at which it is deleted; 0 deletes it immediately. If absent, it is not deleted automatically.',
      completionMode:
        'NonIndexed counts successful pods. Indexed assigns each pod an index from 0 to completions - 1 and requires one success for each. Cannot be changed. Defaults to NonIndexed.',
      suspend: 'If true, no pods run: active pods are deleted, and startTime is reset. Defaults to false.',
    },
  },
  'batch/v1.JobStatus': {
    members: {
      startTime: 'Time at which the job started, or resumed after a suspension.',
      completionTime: 'Time at which the job completed. Absent for failed jobs.',
      active: 'Number of pending and running pods.',
      succeeded: 'Number of pods that succeeded.',
      failed: 'Number of pods that failed.',
      completedIndexes: 'Indexes that have succeeded, as ranges such as 1,3-5. For completion mode Indexed.',
      uncountedTerminatedPods: 'UIDs of terminated pods that succeeded and failed do not include yet.',
      ready: 'Number of ready pods.',
    },
  },
  'batch/v1.CronJobSpec': {
    members: {
      schedule: 'Schedule in cron format: minute, hour, day of the month, month, day of the week.',
      timeZone:
        'Name of the time zone of the schedule, such as Europe/Paris. If absent, the time zone of the controller applies.',
      startingDeadlineSeconds:
        'Maximum delay of a scheduled start in seconds. Later starts are skipped and count as failed. If absent, there is no limit.',
      concurrencyPolicy:
        'Handling of a scheduled start while a job is active. Allow runs both. Forbid skips the new one. Replace cancels the active one. Defaults to Allow.',
      suspend: 'If true, no further jobs are created. Active jobs continue. Defaults to false.',
      jobTemplate: 'Template of the jobs.',
      successfulJobsHistoryLimit: 'Number of successful jobs to retain. Defaults to 3.',
      failedJobsHistoryLimit: 'Number of failed jobs to retain. Defaults to 1.',
    },
  },
  'batch/v1.CronJobStatus': {
    members: {
      active: 'Jobs that are running.',
      lastScheduleTime: 'Time for which a job was last created.',
      lastSuccessfulTime: 'Time at which a job last completed.',
    },
  },
  'batch/v1.JobTemplateSpec': {
    is: 'Metadata and desired state of jobs that are created from a template.',
    members: { spec: 'Desired state of the jobs.' },
  },
  'core/v1.ReplicationController': {
    is: 'Runs a number of identical pods. Predecessor of ReplicaSet.',
  },
  'core/v1.ReplicationControllerSpec': {
    members: {
      replicas: REPLICAS,
      minReadySeconds: MIN_READY_SECONDS,
      selector: 'Labels by which the pods are selected. Defaults to the labels of the template.',
      template: TEMPLATE,
    },
  },
  'core/v1.PodTemplate': {
    is: 'Template of pods for use by other objects.',
    members: { template: TEMPLATE },
  },
  'autoscaling/v1.HorizontalPodAutoscaler': { is: 'Scales an object by the CPU usage of its pods.' },
  'autoscaling/v1.HorizontalPodAutoscalerSpec': {
    members: {
      scaleTargetRef: SCALE_TARGET,
      minReplicas: MIN_REPLICAS,
      maxReplicas: MAX_REPLICAS,
      targetCPUUtilizationPercentage:
        'Target average CPU usage of the pods, as a percentage of their requests. If absent, the controller applies its own target.',
    },
  },
  'autoscaling/v2.HorizontalPodAutoscaler': { is: 'Scales an object by metrics.' },
  'autoscaling/v2.HorizontalPodAutoscalerSpec': {
    members: {
      scaleTargetRef: SCALE_TARGET,
      minReplicas: MIN_REPLICAS,
      maxReplicas: MAX_REPLICAS,
      metrics:
        'Metrics with their targets. The metric that requires the most pods determines the number. Defaults to an average CPU usage of 80% of the requests.',
      behavior: 'Limits for the rate of scaling up and down. If absent, default policies apply.',
    },
  },
  'autoscaling/v1.Scale': { is: 'Desired and current number of pods of a scalable object.' },
  'autoscaling/v1.ScaleSpec': { members: { replicas: 'Desired number of pods.' } },
  'autoscaling/v1.ScaleStatus': {
    members: {
      replicas: 'Current number of pods.',
      selector: 'Label selector of the pods in its string form.',
    },
  },
  'policy/v1.PodDisruptionBudget': {
    is: 'Limit on the voluntary disruptions of a set of pods at the same time.',
  },
  'policy/v1.PodDisruptionBudgetSpec': {
    members: {
      minAvailable:
        'Number of pods that must remain available after an eviction, absolute or as a percentage. Cannot be combined with maxUnavailable.',
      selector:
        'Labels of the pods. An empty selector matches all pods of the namespace; an absent one matches none.',
      maxUnavailable:
        'Number of pods that may be unavailable after an eviction, absolute or as a percentage. Cannot be combined with minAvailable.',
    },
  },
  'policy/v1.Eviction': {
    is: 'Request to delete a pod, which disruption budgets can reject.',
    members: { deleteOptions: 'Options of the deletion.' },
  },
};
