/** Looks after the servers behind APIServices: whether they are there, and what they have. A change of an APIService
 *  or of its service is looked into at once, and each server is asked again from time to time. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue, type WorkQueue } from '#api/kit/work-queue.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { formatTime } from '#api/meta/time.ts';
import type { APIService } from '#api/schema/gen/apiregistration-v1.ts';
import type { APIResource } from '#api/schema/gen/meta-v1.ts';
import { controllerCaller } from '../controllers/caller.ts';
import { unlessGone } from '../controllers/unless-gone.ts';
import type { Resource } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { Verbs } from '../verbs/contract.ts';
import type { RemoteApi } from './api-services.ts';
import { type Finding, verdictOf, withVerdict } from './availability.ts';
import type { DiscoveryResult } from './check-discovery.ts';
import type { Way } from './remote-server.ts';
import type { Address } from './resolve-service.ts';

export interface AvailabilityDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly verbs: Pick<Verbs, 'update'>;
  /** APIServices. */
  readonly resource: Resource;
  readonly find: (name: string) => RemoteApi | undefined;
  readonly findWay: (api: RemoteApi) => Way;
  readonly check: (api: RemoteApi, address: Address, signal: AbortSignal) => Promise<DiscoveryResult>;
  /** What a server has, as it just told. */
  readonly onResources: (api: RemoteApi, resources: readonly APIResource[]) => void;
}

const MANAGER = 'aggregator';
const LOOK_AGAIN_MS = 30_000;
const LOOK_AGAIN_AT_FAILED_MS = 5000;

async function examine(deps: AvailabilityDeps, api: RemoteApi, signal: AbortSignal): Promise<Finding> {
  const way = deps.findWay(api);
  if (way.kind === 'unreachable') return way;
  const result = await deps.check(api, way.address, signal);
  if (result.kind === 'failed') return { ...result, kind: 'failedDiscovery' };
  deps.onResources(api, result.resources);
  return { kind: 'passed' };
}

async function show(
  deps: AvailabilityDeps,
  { name, service }: RemoteApi,
  finding: Finding,
  signal: AbortSignal,
): Promise<void> {
  const verdict = verdictOf(finding);
  const now = formatTime(deps.clock.now());
  await deps.verbs.update(
    { resource: deps.resource, namespace: '', name },
    (live) => {
      if (live === undefined) throw new StatusError('NotFound', `${name} is gone`);
      const { spec, status } = typed<APIService>(live);
      // What was found out is of no use where the service is another by now.
      if (spec?.service?.name !== service.name) return live;
      const changed = withVerdict(status, verdict, now);
      if (changed !== undefined) live['status'] = changed;
      return live;
    },
    { dryRun: false, fieldManager: MANAGER, allowCreate: false, subresource: 'status' },
    controllerCaller(MANAGER, signal),
  );
}

/** Keys are names of APIServices. */
export function createAvailabilityQueue(deps: AvailabilityDeps): WorkQueue {
  async function look(name: string, signal: AbortSignal): Promise<number | undefined> {
    const api = deps.find(name);
    if (api === undefined) return undefined;
    const finding = await examine(deps, api, signal);
    if (signal.aborted) return undefined;
    await unlessGone(() => show(deps, api, finding, signal));
    return finding.kind === 'passed' ? LOOK_AGAIN_MS : LOOK_AGAIN_AT_FAILED_MS;
  }
  return createWorkQueue({
    clock: deps.clock,
    work: look,
    onError: (name, err) =>
      deps.log.warn({ err, apiService: name }, 'APIService could not be checked; it is tried again'),
  });
}
