/** The socket at which programs of this machine, such as monitors of devices, ask who has which resources.
 *  Source: podresources.v1 and v1alpha1; upstream's server, release 1.24, and its later rate limit. */
import { join } from 'node:path';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { createTokenBucket } from '#api/kit/token-bucket.ts';
import { CallRefusal, type ServedService, serveSocket } from '#cri/server/serve-socket.ts';
import type { PodResourceSources } from './answers.ts';
import { createPodResourcesMetrics, type PodResourcesCall, type PodResourcesMetrics } from './metrics.ts';

export interface PodResourcesDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly sources: PodResourceSources;
  readonly registry: MetricsRegistry;
}

export interface PodResourcesOptions {
  readonly path: string;
  /** Whether it tells what there is to be had. */
  readonly allocatable: boolean;
}

/** Source: upstream's limit, calls a second and at once. */
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
  const { allocatableAnswer, listAnswer, oldListAnswer } = await import('./answers.ts');
  const types = createMessageTypes(tables['podresources/v1']);
  const bucket = createTokenBucket(clock, RATE);
  const served = (version: string, call: PodResourcesCall, answer: () => object) => (): object => {
    metrics.asked(version, call);
    try {
      if (!bucket.tryTake()) throw new CallRefusal('ResourceExhausted', 'rejected by rate limit');
      return answer();
    } catch (thrown) {
      metrics.failed(version, call);
      throw thrown;
    }
  };
  const getAllocatableResources = served('v1', 'get_allocatable', () => {
    if (!allocatable) throw new CallRefusal('Unimplemented', 'GetAllocatableResources is switched off');
    return allocatableAnswer(sources);
  });
  return [
    {
      types,
      rpcs: podResourcesRpcs('v1'),
      methods: { list: served('v1', 'list', () => listAnswer(sources)), getAllocatableResources },
    },
    {
      types,
      rpcs: podResourcesRpcs('v1alpha1'),
      methods: { list: served('v1alpha1', 'list', () => oldListAnswer(sources)) },
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
    log.error({ err, socket: path }, 'Resources of pods can not be asked for');
  }
}
