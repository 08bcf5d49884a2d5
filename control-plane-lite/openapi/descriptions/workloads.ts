/** Descriptions of workload kinds. Data. */
import type { Texts } from './texts.ts';

export const WORKLOAD_TEXTS: Texts = {
  'apps/v1.Deployment': {
    is: 'Keeps a number of equal pods running, and replaces them when their template changes.',
  },
  'apps/v1.DeploymentSpec': {
    is: 'Which pods a deployment runs, how many, and how they are replaced.',
    members: {
      replicas: 'Number of pods. Default 1.',
      selector: 'Labels by which its pods are found. Cannot be changed.',
      template: 'What the pods look like.',
      strategy: 'How old pods are replaced by new ones.',
      minReadySeconds: 'Seconds that a new pod must be ready before it counts.',
      revisionHistoryLimit: 'Old templates that are kept for going back. Default 10.',
      paused: 'Changes of the template wait.',
      progressDeadlineSeconds: 'Seconds without progress after which it is reported as stuck. Default 600.',
    },
  },
  'apps/v1.DeploymentStatus': {
    is: 'How far a deployment has come.',
  },
  'apps/v1.DeploymentStrategy': {
    is: 'One way of replacing pods.',
    members: {
      type: 'RollingUpdate (default) or Recreate.',
      rollingUpdate: 'How many pods may be missing or too many meanwhile.',
    },
  },
  'apps/v1.ReplicaSet': {
    is: 'Keeps a number of equal pods running.',
  },
  'apps/v1.DaemonSet': {
    is: 'Runs one pod on every node that fits.',
  },
  'apps/v1.StatefulSet': {
    is: 'Runs pods that each keep their name and storage.',
  },
  'batch/v1.Job': {
    is: 'Runs pods until enough of them have ended well.',
  },
  'batch/v1.CronJob': {
    is: 'Starts a job again and again by a schedule.',
  },
  'apps/v1.RollingUpdateDeployment': {
    members: {
      maxUnavailable: 'Pods that may be missing, as number or percentage. Default 25%.',
      maxSurge: 'Pods that may be too many, as number or percentage. Default 25%.',
    },
  },
  'apps/v1.ReplicaSetSpec': {
    members: {
      replicas: 'Number of pods. Default 1.',
      minReadySeconds: 'Seconds that a new pod must be ready before it counts.',
      selector: 'Labels by which its pods are found. Cannot be changed.',
      template: 'What the pods look like.',
    },
  },
  'apps/v1.StatefulSetSpec': {
    members: {
      replicas: 'Number of pods. Default 1.',
      selector: 'Labels by which its pods are found. Cannot be changed.',
      template: 'What the pods look like.',
      volumeClaimTemplates: 'Claims that every pod gets. Cannot be changed.',
      serviceName: 'Service that names the pods. Cannot be changed.',
      podManagementPolicy: 'OrderedReady (default) starts one after the other, Parallel all at once.',
      updateStrategy: 'How old pods are replaced by new ones.',
      revisionHistoryLimit: 'Old templates that are kept for going back. Default 10.',
      minReadySeconds: 'Seconds that a new pod must be ready before it counts.',
      persistentVolumeClaimRetentionPolicy: 'What becomes of the claims when pods or the set go.',
    },
  },
  'apps/v1.StatefulSetUpdateStrategy': {
    members: {
      type: 'RollingUpdate (default), or OnDelete: when somebody deletes them.',
      rollingUpdate: 'Which pods are replaced.',
    },
  },
  'apps/v1.RollingUpdateStatefulSetStrategy': {
    members: {
      partition: 'Pods from this number on are replaced. Default 0.',
      maxUnavailable: 'Pods that may be missing, as number or percentage.',
    },
  },
  'apps/v1.DaemonSetSpec': {
    members: {
      selector: 'Labels by which its pods are found. Cannot be changed.',
      template: 'What the pods look like.',
      updateStrategy: 'How old pods are replaced by new ones.',
      minReadySeconds: 'Seconds that a new pod must be ready before it counts.',
      revisionHistoryLimit: 'Old templates that are kept for going back. Default 10.',
    },
  },
  'apps/v1.DaemonSetUpdateStrategy': {
    members: {
      type: 'RollingUpdate (default), or OnDelete: when somebody deletes them.',
      rollingUpdate: 'How many pods may be missing or too many meanwhile.',
    },
  },
  'apps/v1.ControllerRevision': { is: 'A state of a stateful set or daemon set to which one can go back.' },
  'batch/v1.JobSpec': {
    members: {
      parallelism: 'Pods that may run at the same time. Default 1.',
      completions: 'Pods that must end well.',
      activeDeadlineSeconds: 'Seconds after which the job has failed.',
      backoffLimit: 'Failures after which the job has failed. Default 6.',
      selector: 'Labels by which its pods are found; made by the server.',
      manualSelector: 'The selector is given by who makes the job.',
      template: 'What the pods look like.',
      ttlSecondsAfterFinished: 'Seconds after its end at which the job is deleted. Default: never.',
      completionMode: 'NonIndexed (default), or Indexed: every pod has a number.',
      suspend: 'No pods run.',
    },
  },
  'batch/v1.JobStatus': {
    members: {
      startTime: 'When it began.',
      completionTime: 'When it ended well.',
      active: 'Pods that run or wait.',
      succeeded: 'Pods that ended well.',
      failed: 'Pods that failed.',
      completedIndexes: 'Numbers of pods that ended well, such as 1,3-5.',
      uncountedTerminatedPods: 'Pods that ended and are not counted yet.',
      ready: 'Pods that are ready.',
    },
  },
  'batch/v1.CronJobSpec': {
    members: {
      schedule: 'When jobs start: minute, hour, day of the month, month, day of the week.',
      timeZone: 'Time zone of the schedule. Default: that of the controller.',
      startingDeadlineSeconds: 'Seconds by which a job may start late; later, it is left out.',
      concurrencyPolicy: 'What to do while the last job still runs: Allow (default), Forbid or Replace.',
      suspend: 'No jobs start.',
      jobTemplate: 'What the jobs look like.',
      successfulJobsHistoryLimit: 'Jobs that ended well and are kept. Default 3.',
      failedJobsHistoryLimit: 'Jobs that failed and are kept. Default 1.',
    },
  },
  'batch/v1.CronJobStatus': {
    members: {
      active: 'Jobs that run.',
      lastScheduleTime: 'When a job last started.',
      lastSuccessfulTime: 'When a job last ended well.',
    },
  },
  'batch/v1.JobTemplateSpec': {
    is: 'What jobs that are made from a template look like.',
    members: { spec: 'What is wanted of the jobs.' },
  },
  'core/v1.ReplicationController': { is: 'Keeps a number of equal pods running. Older than ReplicaSet.' },
  'core/v1.ReplicationControllerSpec': {
    members: {
      replicas: 'Number of pods. Default 1.',
      minReadySeconds: 'Seconds that a new pod must be ready before it counts.',
      selector: 'Labels by which its pods are found. Default: those of the template.',
      template: 'What the pods look like.',
    },
  },
  'core/v1.PodTemplate': {
    is: 'A template for pods that is kept for others.',
    members: { template: 'What the pods look like.' },
  },
  'autoscaling/v1.HorizontalPodAutoscaler': { is: 'Sets the number of pods by their load.' },
  'autoscaling/v1.HorizontalPodAutoscalerSpec': {
    members: {
      scaleTargetRef: 'What is scaled.',
      minReplicas: 'The least number of pods. Default 1.',
      maxReplicas: 'The largest number of pods.',
      targetCPUUtilizationPercentage: 'Percentage of the requested CPU that pods should use.',
    },
  },
  'autoscaling/v2.HorizontalPodAutoscaler': { is: 'Sets the number of pods by their load.' },
  'autoscaling/v2.HorizontalPodAutoscalerSpec': {
    members: {
      scaleTargetRef: 'What is scaled.',
      minReplicas: 'The least number of pods. Default 1.',
      maxReplicas: 'The largest number of pods.',
      metrics: 'What the load is measured by; the highest number counts.',
      behavior: 'How fast it goes up and down.',
    },
  },
  'autoscaling/v1.Scale': { is: 'How many pods an object is to have, and has.' },
  'autoscaling/v1.ScaleSpec': { members: { replicas: 'Number of pods that are wanted.' } },
  'autoscaling/v1.ScaleStatus': {
    members: { replicas: 'Number of pods that there are.', selector: 'Labels of the pods, as a text.' },
  },
  'policy/v1.PodDisruptionBudget': { is: 'How many pods of a set may be evicted at the same time.' },
  'policy/v1.PodDisruptionBudgetSpec': {
    members: {
      minAvailable: 'Pods that must stay, as number or percentage.',
      selector: 'Labels of the pods.',
      maxUnavailable: 'Pods that may be missing, as number or percentage; instead of minAvailable.',
    },
  },
  'policy/v1.Eviction': {
    is: 'Deletes a pod unless a budget forbids it.',
    members: { deleteOptions: 'How it is deleted.' },
  },
};
