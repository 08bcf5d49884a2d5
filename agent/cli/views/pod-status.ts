/** Computes the STATUS column in the same way as the upstream command line. Pure. */
import type { Container, ContainerStatus, Pod } from '#api/gen/core-v1.ts';

export interface PodSummary {
  /** `Running`, `CrashLoopBackOff`, `Init:1/3`, `Terminating`… */
  readonly status: string;
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** End of a container before its last restart. */
  readonly lastRestart: string | undefined;
}

export function summarizePod(pod: Pod): PodSummary {
  const { status = {}, spec } = pod;
  const apps = status.containerStatuses ?? [];
  const inits = status.initContainerStatuses ?? [];
  const sidecars = inits.filter((_, index) => isSidecar(spec?.initContainers?.[index]));
  const initWord = initializing(pod);
  const counted = initWord === undefined ? [...sidecars, ...apps] : inits;
  return {
    status: deletionWord(pod) ?? initWord ?? appWord(pod),
    ready: [...sidecars, ...apps].filter(({ ready }) => ready).length,
    total: (spec?.containers.length ?? apps.length) + sidecars.length,
    restarts: counted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastRestart: newest(counted.map(({ lastState }) => lastState?.terminated?.finishedAt)),
  };
}

const isSidecar = (spec: Container | undefined): boolean => spec?.restartPolicy === 'Always';

const isCondition = (pod: Pod, type: string): boolean =>
  pod.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ===
  true;

const isFinished = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

function deletionWord(pod: Pod): string | undefined {
  return pod.metadata?.deletionTimestamp === undefined || isFinished(pod) ? undefined : 'Terminating';
}

/** Status of the first incomplete init container; undefined once the app containers can start. */
function initializing(pod: Pod): string | undefined {
  const { status = {}, spec } = pod;
  const inits = status.initContainerStatuses ?? [];
  for (const [index, container] of inits.entries()) {
    const sidecar = isSidecar(spec?.initContainers?.[index]);
    const terminated = container.state?.terminated;
    if (terminated?.exitCode === 0 || (sidecar && container.started === true)) continue;
    if (isCondition(pod, 'Initialized')) return undefined;
    if (terminated !== undefined) return `Init:${endWord(terminated)}`;
    if (isFinished(pod)) return undefined;
    const waiting = container.state?.waiting?.reason ?? '';
    if (waiting !== '' && waiting !== 'PodInitializing') return `Init:${waiting}`;
    return `Init:${index}/${spec?.initContainers?.length ?? inits.length}`;
  }
  return undefined;
}

/** The waiting or termination reason of a container is more specific than the phase; the first container
 *  wins. */
function appWord(pod: Pod): string {
  const { status = {} } = pod;
  const apps = status.containerStatuses ?? [];
  // In a finished pod, a waiting container never ran and is not the cause of the end.
  const relevant = isFinished(pod) ? apps.filter(({ state }) => state?.waiting === undefined) : apps;
  const word = relevant.map(containerWord).find((text) => text !== undefined);
  const own = word ?? (status.reason === undefined || status.reason === '' ? status.phase : status.reason);
  const someRuns = apps.some(({ ready, state }) => ready && state?.running !== undefined);
  // A pod with a completed and a running container is not completed.
  if (own === 'Completed' && someRuns) return isCondition(pod, 'Ready') ? 'Running' : 'NotReady';
  return own ?? 'Unknown';
}

function containerWord({ state }: ContainerStatus): string | undefined {
  const waiting = state?.waiting?.reason ?? '';
  if (waiting !== '') return waiting;
  return state?.terminated === undefined ? undefined : endWord(state.terminated);
}

type Terminated = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

function endWord({ reason = '', signal = 0, exitCode }: Terminated): string {
  if (reason !== '') return reason;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function newest(times: readonly (string | undefined)[]): string | undefined {
  return times
    .filter((time) => time !== undefined)
    .sort((a, b) => Date.parse(a) - Date.parse(b))
    .at(-1);
}
