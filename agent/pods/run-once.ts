/** Outcome of a run that starts the pods of the local sources once (`--runonce`). Decides and waits; starts
 *  nothing itself. Source: upstream's run-once mode, release 1.24. */
import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import { podFullName, podIdentity } from '../pod-identity/identity.ts';
import { formatOrigin } from '../sources/report.ts';
import type { DesiredState } from '../sources/types.ts';
import type { PodEntry } from './slot.ts';

/** Upstream retries ten times, and doubles the delay of one second each time. */
const RUN_ONCE_LIMIT_MS = (2 ** 10 - 1) * 1000;

export interface RunOnceOutcome {
  /** `namespace/name` of the pods that run or have succeeded. */
  readonly started: readonly string[];
  /** Reasons, each with its pod or manifest. */
  readonly failed: readonly string[];
  /** Pods that still start, with the reason; empty at the end unless the time is over. */
  readonly pending: readonly string[];
}

type Progress = { readonly kind: 'started' | 'failed' | 'pending'; readonly text: string };

const nameOf = (pod: Pod): string => podFullName(podIdentity(pod));

/** Reports whether every container of the pod runs. */
function runs({ spec }: Pod, { containerStatuses = [] }: PodStatus): boolean {
  const running = new Set(
    containerStatuses.filter(({ state }) => state?.running !== undefined).map(({ name }) => name),
  );
  return (spec?.containers ?? []).every(({ name }) => running.has(name));
}

/** Returns why the first container that does not run waits. */
function waitReason({ containerStatuses = [], initContainerStatuses = [] }: PodStatus): string {
  const states = [...initContainerStatuses, ...containerStatuses];
  const found = states.find(({ state }) => state?.waiting !== undefined);
  const { reason = '', message = '' } = found?.state?.waiting ?? {};
  return [`container ${found?.name ?? ''} is not running`, reason, message].filter(Boolean).join(': ');
}

function progressOf(pod: Pod, entry: PodEntry | undefined): Progress {
  const name = nameOf(pod);
  if (entry === undefined) return { kind: 'pending', text: `${name}: not admitted yet` };
  const { status } = entry;
  const isDone = status.phase === 'Succeeded' || (entry.end === undefined && runs(pod, status));
  if (isDone) return { kind: 'started', text: name };
  if (status.phase !== 'Failed') return { kind: 'pending', text: `${name}: ${waitReason(status)}` };
  const why = [status.reason, status.message].filter(Boolean).join(': ');
  return { kind: 'failed', text: `${name}: ${why === '' ? 'a container failed' : why}` };
}

/** Returns the outcome so far; undefined until every source has been read.
 *  @param find returns the current entry of a pod by namespace and name */
export function runOnceOutcome(
  desired: DesiredState,
  find: (namespace: string, name: string) => PodEntry | undefined,
): RunOnceOutcome | undefined {
  if (!desired.complete) return undefined;
  const all = desired.pods.map(({ pod }) => {
    const { namespace, name, uid } = podIdentity(pod);
    const entry = find(namespace, name);
    return progressOf(pod, entry?.pod.metadata?.uid === uid ? entry : undefined);
  });
  const of = (kind: Progress['kind']): readonly string[] =>
    all.filter((one) => one.kind === kind).map(({ text }) => text);
  const rejected = desired.rejected.map(
    ({ origin, identity, errors }) =>
      `${formatOrigin(origin)}: ${identity}: ${errors.map(formatFieldError).join(', ')}`,
  );
  return { started: of('started'), failed: [...rejected, ...of('failed')], pending: of('pending') };
}

export interface RunOnceDeps {
  readonly clock: Clock;
  readonly outcome: () => RunOnceOutcome | undefined;
  /** Subscribes to changes of pods and of the desired state; returns a function that ends it. */
  readonly onChange: (listener: () => void) => () => void;
}

/** Resolves with the outcome once no pod is pending, or the time is over; with undefined when the signal fires
 *  first or no source was read in time. */
export async function untilStartedOnce(
  { clock, outcome, onChange }: RunOnceDeps,
  signal: AbortSignal,
): Promise<RunOnceOutcome | undefined> {
  const done = Promise.withResolvers<RunOnceOutcome | undefined>();
  const check = (): void => {
    const current = outcome();
    if (current?.pending.length === 0) done.resolve(current);
  };
  const stopped = (): void => done.resolve(undefined);
  const timer = clock.setTimer(() => done.resolve(outcome()), RUN_ONCE_LIMIT_MS);
  const remove = onChange(check);
  signal.addEventListener('abort', stopped, { once: true });
  if (signal.aborted) stopped();
  check();
  try {
    return await done.promise;
  } finally {
    timer.cancel();
    remove();
    signal.removeEventListener('abort', stopped);
  }
}
