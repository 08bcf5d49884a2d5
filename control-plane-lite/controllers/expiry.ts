/** Deletes objects of kinds with a limited lifetime, such as events. A matter of storage: it runs whichever
 *  controllers are selected. */
import type { Resource } from '../resources/contract.ts';
import { unlessGone } from '../verbs/unless-gone.ts';
import { followAll, isCollectable } from './follow-all.ts';
import { type Controller, defineController } from './skeleton/declaration.ts';

/** Interval between two runs, in ms: objects may live that much longer. */
const INTERVAL_MS = 30_000;
const KEY = 'expired';

interface Expiring {
  /** Time of its last write, or of its creation if that was before this process. */
  readonly sinceMs: number;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

const ttlOf = ({ strategy }: Resource): number | undefined => strategy.ttlSeconds;

export const expiryController: Controller = defineController({
  name: 'expiry',
  identity: 'expiry',
  watches: [],
  everyKind: { reason: 'objects of any kind may have a limited lifetime', writes: { delete: true } },
  writes: {},
  workers: 1,
  start(context) {
    const { cache, client, clock, log, queue, signal } = context;
    /** In the order of their last writes. */
    const expiring = new Map<string, Expiring>();
    let started = false;
    const following = followAll({
      registry: context.allKinds(),
      cache,
      wanted: (resource) => isCollectable(resource) && ttlOf(resource) !== undefined,
      onChange(resource, { type, current }) {
        const key = `${resource.storage.prefix}${current.key}`;
        expiring.delete(key);
        if (type === 'DELETED') return;
        const created = Date.parse(current.object().metadata.creationTimestamp ?? '');
        const sinceMs = started || Number.isNaN(created) ? clock.now() : created;
        expiring.set(key, { sinceMs, resource, namespace: current.namespace, name: current.name });
      },
    });
    started = true;
    queue.addAfter(KEY, INTERVAL_MS);
    return {
      async reconcile() {
        const nowMs = clock.now();
        for (const { sinceMs, ...ref } of expiring.values()) {
          if (nowMs - sinceMs < (ttlOf(ref.resource) ?? 0) * 1000) continue;
          if (signal.aborted) break;
          await unlessGone(() => client.verbs.delete({ ref, dryRun: false, caller: client.caller }));
        }
        return INTERVAL_MS;
      },
      follows: [following],
      onError: (_, err) => log.warn({ err }, 'Failed to delete expired objects; retrying'),
    };
  },
});
