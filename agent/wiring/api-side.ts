/** The API server and what the agent does with it, wired together. Loaded only by an agent that has one. */
import { join } from 'node:path';
import { createTokenBucket } from '#api/kit/token-bucket.ts';
import { type ApiClient, createApiClient } from '../api-client/client.ts';
import { loadClientConfig } from '../api-client/load.ts';
import { runReflector } from '../api-client/reflector.ts';
import { createPodStore } from '../pods-api/pod-store.ts';
import { createStatusWriter } from '../pods-api/status-writer.ts';
import { createApiSource } from '../sources/api.ts';
import { createSavedPods } from '../sources/api-saved.ts';
import { AGENT_VERSION } from '../version.ts';
import { createApiObjects } from './api-objects.ts';
import type { Base } from './base.ts';
import type { PodSide } from './pod-side.ts';
import type { ServerParts } from './server-parts.ts';
import type { ServerAccess } from './servers.ts';

export interface ApiSide extends AsyncDisposable {
  readonly parts: ServerParts;
  readonly access: ServerAccess;
  /** Everything that goes on between the agent and the server, until the signal fires. Never rejects. */
  run(podSide: Pick<PodSide, 'manager' | 'sources'>, signal: AbortSignal): Promise<void>;
}

/** @throws ClientConfigError */
export async function createApiSide(base: Base): Promise<ApiSide> {
  const { config, vocabulary, clock, log, node } = base;
  const dir = join(config.rootDir, 'api');
  const client = await connect(base);
  const store = createPodStore();
  const objects = createApiObjects(base, client, dir);
  const source = createApiSource({
    pods: store,
    wanted: (pods, isWhole) => objects.wanted(pods, isWhole),
    saved: createSavedPods({ dir: join(dir, 'pods'), vocabulary, log }),
    vocabulary,
    log,
  });
  let local: Parameters<typeof createStatusWriter>[0]['local'] = () => [];
  const statuses = createStatusWriter({ client, store, clock, log, local: () => local() });

  return {
    parts: { ...objects, source, ended: (pod, status) => statuses.ended(pod, status) },
    access: { create: (address, object, signal) => client.create(address, object, signal) },
    async run({ manager }, signal) {
      local = () =>
        manager.entries().flatMap(({ pod, status, origin }) => {
          const serverUID = origin.source === 'api' ? pod.metadata?.uid : undefined;
          return serverUID === undefined ? [] : [{ pod, status, serverUID }];
        });
      const unsubscribe = base.changes.subscribe(() => statuses.look());
      await Promise.all([
        runReflector(
          { client, clock, log },
          { address: { apiVersion: 'v1', resource: 'pods' }, fieldSelector: `spec.nodeName=${node}` },
          {
            ...store,
            away: (err) => log.warn({ err }, 'API server cannot be had; pods run on'),
            back: () => {
              log.info({}, 'API server answers');
              store.back?.();
            },
          },
          signal,
        ),
        statuses.run(signal),
        objects.run(signal),
      ]);
      unsubscribe();
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** The client that all parts share, paced as the configuration says. */
async function connect({ config, clock, log, vocabulary }: Base): Promise<ApiClient> {
  const { config: server, warnings } = await loadClientConfig(config.platconfig);
  for (const warning of warnings) log.warn({}, warning);
  const bucket = createTokenBucket(clock, {
    ratePerSecond: config.platAPIQPS,
    burst: config.platAPIBurst,
  });
  return createApiClient(
    {
      clock,
      log,
      env: environment(),
      hasTerminal: false,
      passOn: (chunk) => void process.stderr.write(chunk),
      pace: (signal) => bucket.take(signal),
    },
    server,
    { userAgent: `${vocabulary.agentComponent}/${AGENT_VERSION}`, multiplex: true },
  );
}

function environment(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
