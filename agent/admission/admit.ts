/** Admission of pods on the node. Pure. A rejected pod fails with the reason. */
import type { Pod } from '#api/gen/core-v1.ts';
import { hostPortConflict } from './host-ports.ts';
import { forbiddenSysctl } from './sysctls.ts';

export interface AdmissionLimits {
  readonly maxPods: number;
  /** Maximum pods per CPU core; 0 means no such limit. */
  readonly podsPerCore: number;
  readonly cores: number;
  readonly allowedUnsafeSysctls: readonly string[];
}

export interface Refusal {
  /** Upstream's reason, such as `OutOfpods`. */
  readonly reason: string;
  readonly message: string;
}

/** Reason of a pod beyond the maximum number of pods. */
export const OUT_OF_PODS = 'OutOfpods';

/** Pods to preempt for an admitted pod. */
export interface Preemption {
  readonly victims: readonly Pod[];
  /** The resource that would be insufficient otherwise. */
  readonly resource: string;
}

/** @param others pods of the node that have not terminated */
export function refusal(pod: Pod, others: readonly Pod[], limits: AdmissionLimits): Refusal | undefined {
  const sysctl = forbiddenSysctl(pod, limits.allowedUnsafeSysctls);
  if (sysctl !== undefined) return { reason: 'SysctlForbidden', message: `Pod was rejected: ${sysctl}` };
  const conflict = hostPortConflict(pod, others);
  if (conflict === undefined) return tooMany(others, limits);
  const { port, protocol } = conflict.port;
  const { namespace, name } = conflict.holder.metadata ?? {};
  return {
    reason: 'NodePorts',
    message: `Pod was rejected: host port ${port}/${protocol} is in use by pod ${namespace}/${name}`,
  };
}

function tooMany(others: readonly Pod[], limits: AdmissionLimits): Refusal | undefined {
  const most = podLimit(limits);
  if (others.length < most) return undefined;
  return {
    reason: OUT_OF_PODS,
    message: `Pod was rejected: the node admits ${most} pods and has ${others.length}`,
  };
}

function podLimit({ maxPods, podsPerCore, cores }: AdmissionLimits): number {
  return podsPerCore > 0 ? Math.min(maxPods, podsPerCore * cores) : maxPods;
}
