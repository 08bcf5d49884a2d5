/** Rules for the visible states of one pod: for each state, for two consecutive states, and for the last one
 *  before the object is removed. States in between may be missing. Pure.
 *  Source: upstream 1.24, pod lifecycle and status manager. */
import { isDeepStrictEqual } from 'node:util';
import type { ContainerStateTerminated, ContainerStatus, Pod, PodStatus } from '#api/gen/core-v1.ts';

/** An unobserved termination has no times and sometimes no ID. */
const UNKNOWN = 'ContainerStatusUnknown';

const OWN_CONDITIONS: readonly string[] = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'];

const isOver = ({ phase }: PodStatus): boolean => phase === 'Succeeded' || phase === 'Failed';
const timeOf = (time: string | undefined): number => Date.parse(time ?? '');

function statusesOf(status: PodStatus): readonly ContainerStatus[] {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status;
  return [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
}

function endsOf(status: PodStatus): readonly ContainerStateTerminated[] {
  return statusesOf(status).flatMap(({ state, lastState }) =>
    [state?.terminated, lastState?.terminated].filter((end) => end !== undefined),
  );
}

type Report = (holds: boolean, text: string) => void;

function collect(check: (report: Report) => void): readonly string[] {
  const violations: string[] = [];
  check((holds, text) => {
    if (!holds) violations.push(text);
  });
  return violations;
}

/** Returns the broken rules of one state. */
export function stateErrors({ spec, status = {} }: Pod): readonly string[] {
  return collect((report) => {
    for (const container of statusesOf(status)) {
      checkContainer(container, report);
      const { reason } = container.state?.waiting ?? {};
      const isOdd = reason === 'ContainerCreating' && (spec?.initContainers ?? []).length > 0;
      report(!isOdd, `${container.name} waits with ${reason} in a pod with init containers`);
    }
    for (const end of endsOf(status)) checkEnd(end, report);
    checkReadiness(status, report);
    if (!isOver(status)) return;
    const running = statusesOf(status).filter(({ state }) => state?.running !== undefined);
    report(running.length === 0, `${status.phase} while ${running.map(({ name }) => name).join()} run`);
  });
}

function checkContainer({ name, state = {}, ...rest }: ContainerStatus, report: Report): void {
  const { containerID, ready } = rest;
  report(Object.keys(state).length === 1, `${name} has the states ${Object.keys(state).join()}`);
  const { running } = state;
  if (running === undefined) return;
  report(running.startedAt !== undefined, `${name} runs without a start time`);
  report(containerID !== undefined, `${name} runs without an ID`);
  report(typeof ready === 'boolean', `${name} is neither ready nor not`);
}

function checkEnd(end: ContainerStateTerminated, report: Report): void {
  const { exitCode, reason = '', startedAt, finishedAt, containerID } = end;
  report(typeof exitCode === 'number' && reason !== '', `${containerID} ended without a code or a reason`);
  if (reason === UNKNOWN) return;
  report(containerID !== undefined, 'a container that ended has no ID');
  report(timeOf(startedAt) <= timeOf(finishedAt), `${containerID} ran from ${startedAt} to ${finishedAt}`);
}

function checkReadiness(status: PodStatus, report: Report): void {
  const { conditions = [], containerStatuses = [] } = status;
  const isReady = (type: string): boolean =>
    conditions.some((condition) => condition.type === type && condition.status === 'True');
  const unready = containerStatuses.filter(({ ready }) => !ready).map(({ name }) => name);
  for (const type of ['Ready', 'ContainersReady']) {
    report(!(isReady(type) && isOver(status)), `${type} is true of a pod that is ${status.phase}`);
    report(!(isReady(type) && unready.length > 0), `${type} is true while ${unready.join()} are not`);
  }
}

/** Returns the broken rules of a transition from one state to another of the same pod. */
export function stepErrors({ status: before = {} }: Pod, { status: after = {} }: Pod): readonly string[] {
  return collect((report) => {
    checkPhases(before, after, report);
    checkConditions(before, after, report);
    const { startTime } = before;
    report(startTime === undefined || startTime === after.startTime, 'startTime changed');
    const runs = statusesOf(after).some(({ state }) => state?.running !== undefined);
    const hasLostIP = before.podIP !== undefined && after.podIP === undefined;
    report(!(hasLostIP && runs), 'podIP is gone while a container runs');
    for (const old of statusesOf(before)) {
      const next = statusesOf(after).find(({ name }) => name === old.name);
      // A pod that ended before any container was created may report none.
      const mayGo = old.containerID === undefined && isOver(after);
      report(next !== undefined || mayGo, `the status of ${old.name} is gone`);
      if (next !== undefined) checkStep(old, next, report);
    }
    for (const end of endsOf(before)) {
      const same = endsOf(after).find(({ containerID }) => containerID === end.containerID);
      const holds = end.containerID === undefined || same === undefined || isDeepStrictEqual(same, end);
      report(holds, `the end of ${end.containerID} changed: ${JSON.stringify([end, same])}`);
    }
  });
}

function checkPhases(before: PodStatus, after: PodStatus, report: Report): void {
  const text = `phase went from ${before.phase} to ${after.phase}`;
  if (isOver(before)) {
    report(before.phase === after.phase, text);
    report(before.reason === after.reason, `reason of the end went from ${before.reason} to ${after.reason}`);
  }
  report(!(before.phase === 'Running' && after.phase === 'Pending'), text);
}

function checkConditions(before: PodStatus, after: PodStatus, report: Report): void {
  // Other components set their conditions as they like.
  for (const old of (before.conditions ?? []).filter(({ type }) => OWN_CONDITIONS.includes(type))) {
    const next = after.conditions?.find(({ type }) => type === old.type);
    report(next !== undefined, `condition ${old.type} is gone`);
    if (next === undefined) continue;
    const [from, to] = [timeOf(old.lastTransitionTime), timeOf(next.lastTransitionTime)];
    report(from <= to, `condition ${old.type} changed at ${next.lastTransitionTime}, before its last change`);
    report(old.status !== next.status || from === to, `condition ${old.type} changed without a change`);
  }
}

function checkStep(old: ContainerStatus, next: ContainerStatus, report: Report): void {
  const { name, restartCount: countBefore } = old;
  const { restartCount, state = {}, lastState = {} } = next;
  const counts = `${countBefore} to ${restartCount}`;
  report(restartCount >= countBefore, `restartCount of ${name} went from ${counts}`);
  const isSame = old.containerID === next.containerID;
  const ran = old.state?.running !== undefined || old.state?.terminated !== undefined;
  if (state.running !== undefined && ran) {
    report(!(isSame && old.state?.terminated !== undefined), `${name} runs again after its end`);
    report(isSame || restartCount > countBefore, `${name} was started again and counts ${counts}`);
    report(isSame || lastState.terminated !== undefined, `${name} was started again after no end`);
  }
  const earlier = old.state?.terminated ?? old.lastState?.terminated;
  const has = state.terminated ?? lastState.terminated;
  report(earlier === undefined || has !== undefined, `the termination state of ${name} was lost`);
  const hasStopped = old.state?.running !== undefined && state.running === undefined;
  report(!hasStopped || has !== undefined, `${name} stopped running and has not ended`);
}

/** Returns the broken rules of the last state of a pod whose deletion its node completed. */
export function removalErrors(last: Pod): readonly string[] {
  const { status = {} } = last;
  return collect((report) => report(isOver(status), `was removed while ${status.phase}`));
}
