/** Reconciles one object in every namespace: creates it where it is missing and corrects it where it
 *  differs. */
import { copyJson } from '#api/codec/copy-json.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Cache } from '../cache/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';

export interface EveryNamespaceDeps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface KeptObject {
  readonly manager: string;
  /** Of the core group. */
  readonly plural: string;
  readonly name: string;
  /** A new object without its name and namespace. */
  readonly make: () => ApiObject;
  /** Corrects an object in place and reports whether it changed. Absent: any existing object is accepted. */
  readonly repair?: (draft: ApiObject) => boolean;
}

/** Namespaces processed at a time; only tests create many at once. */
const CONCURRENCY = 16;

/** Runs until the signal is aborted. */
export async function keepInEveryNamespace(
  deps: EveryNamespaceDeps,
  kept: KeptObject,
  signal: AbortSignal,
): Promise<void> {
  const namespaces = deps.registry.find('', 'v1', 'namespaces');
  const resource = deps.registry.find('', 'v1', kept.plural);
  if (namespaces === undefined || resource === undefined) return;
  const places = deps.cache.resource(namespaces.storage);
  const objects = deps.cache.resource(resource.storage);
  const queue = createWorkQueue({
    clock: deps.clock,
    concurrency: CONCURRENCY,
    async work(namespace) {
      const place = places.get(namespace)?.object();
      if (place === undefined || place.metadata.deletionTimestamp !== undefined) return undefined;
      const found = objects.get(`${namespace}/${kept.name}`)?.object();
      if (found === undefined || needsRepair(kept, found)) await put(deps, resource, namespace, kept, signal);
      return undefined;
    },
    onError: (namespace, err) =>
      deps.log.warn(
        { err, namespace, object: kept.name },
        'Failed to reconcile per-namespace object; retrying',
      ),
  });
  const following = [
    places.follow(({ type, current }) => {
      if (type !== 'DELETED') queue.add(current.name);
    }),
    objects.follow(({ current }) => {
      if (current.name === kept.name) queue.add(current.namespace);
    }),
  ];
  await queue.run(signal);
  for (const handle of following) handle.close();
}

const needsRepair = ({ repair }: KeptObject, found: ApiObject): boolean =>
  repair !== undefined && repair(copyJson(found));

async function put(
  { verbs }: EveryNamespaceDeps,
  resource: Resource,
  namespace: string,
  { name, manager, make, repair }: KeptObject,
  signal: AbortSignal,
): Promise<void> {
  try {
    await verbs.update({
      ref: { resource, namespace, name },
      change: (live) => {
        if (live === undefined) {
          const made = make();
          made.metadata = { ...made.metadata, name, namespace };
          return made;
        }
        repair?.(live);
        return live;
      },
      dryRun: false,
      fieldManager: manager,
      allowCreate: true,
      caller: controllerCaller(manager, signal),
    });
  } catch (thrown) {
    // The namespace is terminating and accepts no new objects.
    if (!(thrown instanceof StatusError && ['NotFound', 'Forbidden'].includes(thrown.reason))) throw thrown;
  }
}
