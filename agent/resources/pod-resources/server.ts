/** Server of the pod-resources API: a local socket at which monitoring programs read resource allocations.
 *  Source: podresources.v1 and v1alpha1; upstream's server, release 1.24, and its later rate limit. */
import { join } from 'node:path';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { createTokenBucket } from '#api/kit/token-bucket.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import { serveSocket } from '#cri/server/serve-socket.ts';
import type { ServedService } from '#cri/server/served-service.ts';
import { createPodResourcesMetrics, type PodResourcesCall, type PodResourcesMetrics } from './metrics.ts';
import type { PodResourceSources } from './responses.ts';

export interface PodResourcesDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly sources: PodResourceSources;
  readonly registry: MetricsRegistry;
}

export interface PodResourcesOptions {
  readonly path: string;
  /** Whether GetAllocatableResources is enabled. */
  readonly allocatable: boolean;
}

/** Source: upstream's rate limit, calls per second and burst. */
const RATE = { ratePerSecond: 100, burst: 10 } as const;

export const podResourcesSocket = (rootDir: string, agentName: string): string =>
  join(rootDir, 'pod-resources', `${agentName}.sock`);

async function loadServices(
  { clock, sources }: PodResourcesDeps,
  { allocatable }: PodResourcesOptions,
  metrics: PodResourcesMetrics,
): Promise<readonly ServedService[]> {
  const { podResourcesRpcs } = await import('#cri/client/pod-resources.ts');
  const { default: tables } = await import('#cri/data/node-protos.json', { with: { type: 'json' } });
  const { allocatableResponse, listResponse, oldListResponse } = await import('./responses.ts');
  const types = createMessageTypes(tables['podresources/v1']);
  const bucket = createTokenBucket(clock, RATE);
  const served = (version: string, call: PodResourcesCall, respond: () => object) => (): object => {
    metrics.called(version, call);
    try {
      if (!bucket.tryTake()) throw new CallRejection('ResourceExhausted', 'rejected by rate limit');
      return respond();
    } catch (thrown) {
      metrics.failed(version, call);
      throw thrown;
    }
  };
  const getAllocatableResources = served('v1', 'get_allocatable', () => {
    if (!allocatable) throw new CallRejection('Unimplemented', 'GetAllocatableResources is disabled');
    return allocatableResponse(sources);
  });
  return [
    {
      types,
      rpcs: podResourcesRpcs('v1'),
      methods: { list: served('v1', 'list', () => listResponse(sources)), getAllocatableResources },
    },
    {
      types,
      rpcs: podResourcesRpcs('v1alpha1'),
      methods: { list: served('v1alpha1', 'list', () => oldListResponse(sources)) },
    },
  ];
}

/** Serves until the signal fires. Never rejects. */
export async function runPodResources(
  deps: PodResourcesDeps,
  options: PodResourcesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { log } = deps;
  const { path } = options;
  const ended = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const metrics = createPodResourcesMetrics(deps.registry);
  try {
    const server = await serveSocket({ log, load: () => loadServices(deps, options, metrics) }, path);
    await ended;
    await server.close();
  } catch (err) {
    log.error({ err, socket: path }, 'Failed to serve pod resources');
  }
}
