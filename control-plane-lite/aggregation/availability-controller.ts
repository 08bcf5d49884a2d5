/** Availability controller: checks the servers behind APIServices and reads their resources. A change of an
 *  APIService or its service triggers a check at once, and each server is checked periodically. */

import type { APIService } from '#api/gen/apiregistration-v1.ts';
import type { APIResource } from '#api/gen/meta-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Wait, Waits } from '#api/kit/waits.ts';
import { createWorkQueue, type WorkQueue } from '#api/kit/work-queue.ts';
import { formatTime } from '#api/meta/time.ts';
import type { Resource } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';
import { unlessGone } from '../verbs/unless-gone.ts';
import type { RemoteApi } from './api-services.ts';
import { type Finding, verdictOf, withVerdict } from './availability.ts';
import type { DiscoveryResult } from './check-discovery.ts';
import { serverOf, type Way } from './remote-server.ts';
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
  /** Registers waits for unavailable servers. */
  readonly waits?: Pick<Waits, 'begin'> | undefined;
  /** Resources of a server as it has just reported them. */
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
  await deps.verbs.update({
    ref: { resource: deps.resource, namespace: '', name },
    change: (live) => {
      const { spec, status } = typed<APIService>(live);
      // The result is discarded if the service has changed meanwhile.
      if (spec?.service?.name !== service.name) return live;
      const changed = withVerdict(status, verdict, now);
      if (changed !== undefined) live['status'] = changed;
      return live;
    },
    dryRun: false,
    fieldManager: MANAGER,
    subresource: 'status',
    caller: controllerCaller(MANAGER, signal),
  });
}

/** Reports the unavailable servers that requests wait for. */
function createAbsences(
  waits: AvailabilityDeps['waits'],
): (name: string, api: RemoteApi | undefined, finding?: Finding) => void {
  const open = new Map<string, Wait>();
  return (name, api, finding) => {
    if (api !== undefined && finding !== undefined && finding.kind !== 'passed') {
      const wait = open.get(name) ?? waits?.begin(serverOf(api));
      if (wait === undefined) return;
      open.set(name, wait);
      wait.because(verdictOf(finding).message ?? '');
      return;
    }
    open.get(name)?.end();
    open.delete(name);
  };
}

/** Keys are names of APIServices. */
export function createAvailabilityQueue(deps: AvailabilityDeps): WorkQueue {
  const noteAbsence = createAbsences(deps.waits);
  async function look(name: string, signal: AbortSignal): Promise<number | undefined> {
    const api = deps.find(name);
    if (api === undefined) {
      noteAbsence(name, undefined);
      return undefined;
    }
    const finding = await examine(deps, api, signal);
    if (signal.aborted) return undefined;
    noteAbsence(name, api, finding);
    await unlessGone(() => show(deps, api, finding, signal));
    return finding.kind === 'passed' ? LOOK_AGAIN_MS : LOOK_AGAIN_AT_FAILED_MS;
  }
  return createWorkQueue({
    clock: deps.clock,
    work: look,
    onError: (name, err) =>
      deps.log.warn({ err, apiService: name }, 'Failed to check APIService availability; retrying'),
  });
}
