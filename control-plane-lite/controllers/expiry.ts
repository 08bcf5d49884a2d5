/** Deletes objects of kinds with a limited lifetime, such as events. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { Cache } from '../cache/contract.ts';
import type { Resource } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';
import { unlessGone } from '../verbs/unless-gone.ts';
import { followAll, isCollectable } from './follow-all.ts';

export interface ExpiryDeps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Interval between two runs, in ms: objects may live that much longer. */
const LOOK_MS = 30_000;

interface Kept {
  /** Of its last write, or of its creation where that was before this process. */
  readonly sinceMs: number;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

const ttlOf = ({ strategy }: Resource): number | undefined => strategy.ttlSeconds;

/** Runs until the signal is aborted. */
export async function runExpiry(deps: ExpiryDeps, signal: AbortSignal): Promise<void> {
  const { clock } = deps;
  const caller = controllerCaller('expiry', signal);
  /** In the order of their last writes. */
  const kept = new Map<string, Kept>();
  let started = false;
  const following = followAll({
    registry: deps.registry,
    cache: deps.cache,
    wanted: (resource) => isCollectable(resource) && ttlOf(resource) !== undefined,
    onChange(resource, { type, current }) {
      const key = `${resource.storage.prefix}${current.key}`;
      kept.delete(key);
      if (type === 'DELETED') return;
      const created = Date.parse(current.object().metadata.creationTimestamp ?? '');
      const sinceMs = started || Number.isNaN(created) ? clock.now() : created;
      kept.set(key, { sinceMs, resource, namespace: current.namespace, name: current.name });
    },
  });
  started = true;

  async function look(): Promise<number> {
    const nowMs = clock.now();
    for (const { sinceMs, ...ref } of kept.values()) {
      if (nowMs - sinceMs < (ttlOf(ref.resource) ?? 0) * 1000) continue;
      if (signal.aborted) break;
      await unlessGone(() => deps.verbs.delete({ ref, dryRun: false, caller }));
    }
    return LOOK_MS;
  }

  const queue = createWorkQueue({
    clock,
    work: look,
    onError: (_, err) => deps.log.warn({ err }, 'Failed to delete expired objects; retrying'),
  });
  queue.addAfter('look', LOOK_MS);
  await queue.run(signal);
  following.close();
}
