/** Table row of a pod: its phase or reason in a word, and its restarts. Source: upstream's pod printer. */

import type { ContainerStatus, Pod } from '#api/gen/core-v1.ts';
import { parseTime } from '#api/meta/time.ts';
import type { Cell } from '../contract.ts';
import { ageOf, formatAge, NONE, orNone } from '../rows.ts';

interface Tally {
  ready: number;
  total: number;
  restarts: number;
  lastRestartMs: number;
  word: string;
}

function noteRestarts(tally: Tally, { restartCount, lastState }: ContainerStatus): void {
  tally.restarts += restartCount;
  const finishedAt = lastState?.terminated?.finishedAt;
  if (finishedAt !== undefined) tally.lastRestartMs = Math.max(tally.lastRestartMs, parseTime(finishedAt));
}

/** `Error`, `Signal:9` or `ExitCode:1`. */
function endWord({ state }: ContainerStatus): string {
  const { reason = '', signal = 0, exitCode = 0 } = state?.terminated ?? {};
  if (reason !== '') return reason;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

/** Counts init containers and derives the status word from the first incomplete one. Reports whether there is one. */
function tallyInit(tally: Tally, pod: Pod): boolean {
  const { initContainers = [] } = pod.spec ?? {};
  const sidecars = new Set(
    initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name),
  );
  tally.total += sidecars.size;
  let sidecarRestarts = 0;
  for (const [index, status] of (pod.status?.initContainerStatuses ?? []).entries()) {
    const { state, started, ready } = status;
    noteRestarts(tally, status);
    if (sidecars.has(status.name)) sidecarRestarts += status.restartCount;
    if (state?.terminated?.exitCode === 0) continue;
    if (sidecars.has(status.name) && started === true) {
      if (ready) tally.ready += 1;
      continue;
    }
    const waiting = state?.waiting?.reason ?? '';
    if (state?.terminated !== undefined) tally.word = `Init:${endWord(status)}`;
    else if (waiting !== '' && waiting !== 'PodInitializing') tally.word = `Init:${waiting}`;
    else tally.word = `Init:${index}/${initContainers.length}`;
    return true;
  }
  tally.restarts = sidecarRestarts;
  return false;
}

const hasCondition = (pod: Pod, type: string): boolean =>
  (pod.status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');

function tallyContainers(tally: Tally, pod: Pod): void {
  let running = false;
  // The first container has the last word.
  for (const status of (pod.status?.containerStatuses ?? []).toReversed()) {
    const { state } = status;
    noteRestarts(tally, status);
    const waiting = state?.waiting?.reason ?? '';
    if (waiting !== '') tally.word = waiting;
    else if (state?.terminated !== undefined) tally.word = endWord(status);
    else if (status.ready && state?.running !== undefined) {
      running = true;
      tally.ready += 1;
    }
  }
  if (tally.word === 'Completed' && running) {
    tally.word = hasCondition(pod, 'Ready') ? 'Running' : 'NotReady';
  }
}

function readinessGates(pod: Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return NONE;
  return `${gates.filter(({ conditionType }) => hasCondition(pod, conditionType)).length}/${gates.length}`;
}

function tallyPod(pod: Pod): Tally {
  const { phase = '', reason = '' } = pod.status ?? {};
  const tally: Tally = {
    ready: 0,
    total: pod.spec?.containers?.length ?? 0,
    restarts: 0,
    lastRestartMs: 0,
    word: reason === '' ? phase : reason,
  };
  const initializing = tallyInit(tally, pod);
  if (!initializing || hasCondition(pod, 'Initialized')) tallyContainers(tally, pod);
  if (pod.metadata?.deletionTimestamp !== undefined) {
    tally.word = reason === 'NodeLost' ? 'Unknown' : 'Terminating';
  }
  return tally;
}

/** Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates. */
export function podRow(pod: Pod, nowMs: number): readonly Cell[] {
  const { ready, total, word, restarts, lastRestartMs } = tallyPod(pod);
  const { status = {}, spec, metadata } = pod;
  const again = lastRestartMs === 0 ? '' : ` (${formatAge(nowMs - lastRestartMs)} ago)`;
  return [
    metadata?.name ?? '',
    `${ready}/${total}`,
    word,
    `${restarts}${again}`,
    ageOf(pod, nowMs),
    orNone(status.podIPs?.[0]?.ip ?? status.podIP),
    orNone(spec?.nodeName),
    orNone(status.nominatedNodeName),
    readinessGates(pod),
  ];
}
