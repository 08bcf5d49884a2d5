/** Reports on pods why they are unschedulable: the condition PodScheduled, the nominated node, an event.
 *  Skips what was already reported, and rate-limits reports about many pods. */

import type { Pod, PodCondition } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createTokenBucket } from '#api/kit/token-bucket.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { formatTime } from '#api/meta/time.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { membersOf, typed } from '../../resources/view.ts';
import type { Verbs } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import type { PodInfo } from '../fleet/model.ts';
import type { EventWriter } from './event-writer.ts';

export interface Report {
  readonly reason: 'Unschedulable' | 'SchedulerError';
  readonly message: string;
  /** The nominated node; empty: clears it. Absent: unchanged. */
  readonly nominatedNodeName?: string;
}

export interface Reporter {
  /** Reports after a delay, in ms, unless another report replaces it. */
  report(pod: PodInfo, report: Report, delayMs?: number): void;
  /** Drops pending reports of a pod that was deleted or assigned to a node. */
  forget(key: string): void;
  /** Runs until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ReporterDeps {
  readonly pods: Resource;
  readonly cache: ResourceCache;
  readonly verbs: Pick<Verbs, 'update'>;
  readonly events: EventWriter;
  readonly clock: Clock;
  readonly log: Logger;
  readonly manager: string;
}

/** Client rate limit of upstream's scheduler. */
const RATE = { ratePerSecond: 50, burst: 100 };
/** Interval after which the same event is repeated. */
const REPEAT_MS = 60_000;

interface Entry {
  readonly pod: PodInfo;
  readonly report: Report;
  reported: { readonly message: string; readonly atMs: number } | undefined;
}

const TYPE = 'PodScheduled';

function isReported(pod: Pod, { reason, message, nominatedNodeName }: Report): boolean {
  const found = pod.status?.conditions?.find(({ type }) => type === TYPE);
  const nominated = pod.status?.nominatedNodeName ?? '';
  return (
    found?.status === 'False' &&
    found.reason === reason &&
    found.message === message &&
    (nominatedNodeName === undefined || nominatedNodeName === nominated)
  );
}

/** Writes the report into the status of the draft. */
function applyReport(draft: ApiObject, report: Report, nowMs: number): ApiObject {
  const { conditions = [] } = typed<Pod>(draft).status ?? {};
  const before = conditions.find(({ type }) => type === TYPE);
  const condition: PodCondition = {
    type: TYPE,
    status: 'False',
    reason: report.reason,
    message: report.message,
    lastTransitionTime:
      (before?.status === 'False' ? before.lastTransitionTime : undefined) ?? formatTime(nowMs),
  };
  const status = membersOf(draft, 'status');
  status['conditions'] =
    before === undefined
      ? [...conditions, condition]
      : conditions.map((other) => (other === before ? condition : other));
  if (report.nominatedNodeName === '') delete status['nominatedNodeName'];
  else if (report.nominatedNodeName !== undefined) status['nominatedNodeName'] = report.nominatedNodeName;
  return draft;
}

export function createReporter(deps: ReporterDeps): Reporter {
  const { clock, cache, pods, events } = deps;
  const entries = new Map<string, Entry>();
  const bucket = createTokenBucket(clock, RATE);

  async function writeStatus({ pod, report }: Entry, signal: AbortSignal): Promise<void> {
    const ref = { resource: pods, namespace: pod.shape.namespace, name: pod.name };
    await unlessGone(() =>
      deps.verbs.update({
        ref,
        change: (live) => {
          const { metadata, spec } = typed<Pod>(live);
          const isOther = metadata?.uid !== pod.uid || (spec?.nodeName ?? '') !== '';
          return isOther ? live : applyReport(live, report, clock.now());
        },
        dryRun: false,
        fieldManager: deps.manager,
        subresource: 'status',
        caller: controllerCaller(deps.manager, signal),
      }),
    );
  }

  function writeEvent(entry: Entry): void {
    const { pod, report, reported } = entry;
    const nowMs = clock.monotonic();
    if (reported !== undefined && reported.message === report.message && nowMs - reported.atMs < REPEAT_MS)
      return;
    entry.reported = { message: report.message, atMs: nowMs };
    const { message } = report;
    events.record(pod, { type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling', message });
  }

  const queue = createWorkQueue({
    clock,
    async work(key, signal) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      const live = cache.get(key);
      if (live === undefined) return undefined;
      const pod = typed<Pod>(live.object());
      if (pod.metadata?.uid !== entry.pod.uid || (pod.spec?.nodeName ?? '') !== '') return undefined;
      if (!isReported(pod, entry.report)) {
        await bucket.take(signal);
        if (entries.get(key) === entry) await writeStatus(entry, signal);
      }
      writeEvent(entry);
      return undefined;
    },
    onError: (key, err) =>
      deps.log.warn({ err, pod: key }, 'Failed to report scheduling failure of pod; retrying'),
  });

  return {
    report(pod, report, delayMs = 0) {
      const { reported } = entries.get(pod.key) ?? {};
      entries.set(pod.key, { pod, report, reported });
      if (delayMs > 0) queue.addAfter(pod.key, delayMs);
      else queue.add(pod.key);
    },
    forget: (key) => void entries.delete(key),
    run: (signal) => queue.run(signal),
  };
}
