/** Whether the node takes a pod on. Pure. A pod that is refused is shown as failed, with the reason. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { hostPortConflict } from './host-ports.ts';
import { forbiddenSysctl } from './sysctls.ts';

export interface AdmissionLimits {
  readonly maxPods: number;
  /** Pods per processor core; 0 means no such limit. */
  readonly podsPerCore: number;
  readonly cores: number;
  readonly allowedUnsafeSysctls: readonly string[];
}

export interface Refusal {
  /** The field's reason, such as `OutOfpods`. */
  readonly reason: string;
  readonly message: string;
}

/** The reason of a pod for which there is no place. */
export const OUT_OF_PODS = 'OutOfpods';

/** Pods that have to end for another one, which is then taken on. */
export interface Preemption {
  readonly victims: readonly Pod[];
  /** What there is not enough of otherwise. */
  readonly resource: string;
}

/** @param others pods of the node that have not ended */
export function refusal(pod: Pod, others: readonly Pod[], limits: AdmissionLimits): Refusal | undefined {
  const sysctl = forbiddenSysctl(pod, limits.allowedUnsafeSysctls);
  if (sysctl !== undefined) return { reason: 'SysctlForbidden', message: `Pod was refused: ${sysctl}` };
  const conflict = hostPortConflict(pod, others);
  if (conflict === undefined) return tooMany(others, limits);
  const { port, protocol } = conflict.port;
  const { namespace, name } = conflict.holder.metadata ?? {};
  return {
    reason: 'NodePorts',
    message: `Pod was refused: host port ${port}/${protocol} is taken by pod ${namespace}/${name}`,
  };
}

function tooMany(others: readonly Pod[], limits: AdmissionLimits): Refusal | undefined {
  const most = podLimit(limits);
  if (others.length < most) return undefined;
  return {
    reason: OUT_OF_PODS,
    message: `Pod was refused: the node takes ${most} pods and has ${others.length}`,
  };
}

function podLimit({ maxPods, podsPerCore, cores }: AdmissionLimits): number {
  return podsPerCore > 0 ? Math.min(maxPods, podsPerCore * cores) : maxPods;
}
