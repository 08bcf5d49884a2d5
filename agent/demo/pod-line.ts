/** One pod in the words of a table's row. Pure. */
import type { ContainerStatus, Pod } from '#api/schema/gen/core-v1.ts';

export interface PodLine {
  readonly name: string;
  /** `1/2` */
  readonly ready: string;
  readonly status: string;
  readonly restarts: number;
  readonly age: string;
  readonly ip: string;
  /** Whether the pod is where its manifest wants it: running with all containers ready, or finished. */
  readonly settled: boolean;
}

export function describePod(pod: Pod, nowMs: number): PodLine {
  const status = pod.status ?? {};
  const containers = status.containerStatuses ?? [];
  const total = pod.spec?.containers.length ?? 0;
  const ready = containers.filter((container) => container.ready).length;
  const finished = status.phase === 'Succeeded' || status.phase === 'Failed';
  return {
    name: `${pod.metadata?.namespace ?? 'default'}/${pod.metadata?.name ?? ''}`,
    ready: `${ready}/${total}`,
    status: statusWord(pod),
    restarts: containers.reduce((sum, container) => sum + container.restartCount, 0),
    age: formatAge(status.startTime, nowMs),
    ip: status.podIP ?? '',
    settled: finished || (status.phase === 'Running' && total > 0 && ready === total),
  };
}

/** The most telling word: why something waits, otherwise the phase. */
function statusWord(pod: Pod): string {
  const status = pod.status ?? {};
  if (pod.metadata?.deletionTimestamp !== undefined) return 'Terminating';
  if (status.phase === 'Succeeded') return 'Completed';
  const initWaiting = (status.initContainerStatuses ?? []).map(waitingReason).find(isText);
  if (initWaiting !== undefined) return `Init:${initWaiting}`;
  const waiting = (status.containerStatuses ?? []).map(waitingReason).find(isText);
  return waiting ?? status.reason ?? status.phase ?? 'Pending';
}

function waitingReason(status: ContainerStatus): string | undefined {
  const reason = status.state?.waiting?.reason;
  return reason === 'PodInitializing' ? undefined : reason;
}

function isText(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}

/** `7s`, `3m`, `2h`, `5d`; empty when it has not started. */
export function formatAge(startTime: string | undefined, nowMs: number): string {
  const startMs = startTime === undefined ? Number.NaN : Date.parse(startTime);
  if (Number.isNaN(startMs)) return '';
  const seconds = Math.max(0, Math.floor((nowMs - startMs) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
