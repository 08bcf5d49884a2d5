/** Settings of the horizontal pod autoscaler. */
import type { SettingsOf } from './setting.ts';

export interface AutoscalingConfig {
  readonly horizontalPodAutoscalerSyncPeriod: number;
  readonly horizontalPodAutoscalerDownscaleStabilization: number;
  /** A number from 0. */
  readonly horizontalPodAutoscalerTolerance: string;
  readonly horizontalPodAutoscalerCpuInitializationPeriod: number;
  readonly horizontalPodAutoscalerInitialReadinessDelay: number;
}

export const AUTOSCALING: SettingsOf<AutoscalingConfig> = {
  horizontalPodAutoscalerSyncPeriod: {
    flag: 'horizontal-pod-autoscaler-sync-period',
    type: 'duration',
    default: '15s',
    group: 'Autoscaling',
    help: 'time between two calculations of an autoscaler',
  },
  horizontalPodAutoscalerDownscaleStabilization: {
    flag: 'horizontal-pod-autoscaler-downscale-stabilization',
    type: 'duration',
    default: '5m',
    group: 'Autoscaling',
    help: 'window whose highest recommendation applies when scaling down, for autoscalers without one of their own',
  },
  horizontalPodAutoscalerTolerance: {
    flag: 'horizontal-pod-autoscaler-tolerance',
    type: 'string',
    default: '0.1',
    group: 'Autoscaling',
    help: 'deviation of the usage from the target, as a fraction, up to which nothing is scaled',
  },
  horizontalPodAutoscalerCpuInitializationPeriod: {
    flag: 'horizontal-pod-autoscaler-cpu-initialization-period',
    type: 'duration',
    default: '5m',
    group: 'Autoscaling',
    help: 'time after the start of a pod in which its CPU usage counts only while it is ready',
  },
  horizontalPodAutoscalerInitialReadinessDelay: {
    flag: 'horizontal-pod-autoscaler-initial-readiness-delay',
    type: 'duration',
    default: '30s',
    group: 'Autoscaling',
    help: 'time after the start of a pod in which changes of its readiness count as its first',
  },
};
