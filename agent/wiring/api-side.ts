/** The API server and what the agent does with it, wired together. Loaded only by an agent that has one. */
import { join } from 'node:path';
import { serverRefusal } from '../admission/server-admission.ts';
import { metadataText } from '../api-client/object-fields.ts';
import { runReflector } from '../api-client/reflector.ts';
import { createMirrorKeeper } from '../pods-api/mirror-keeper.ts';
import { createPodStore } from '../pods-api/pod-store.ts';
import { createStatusWriter } from '../pods-api/status-writer.ts';
import { createApiSource } from '../sources/api.ts';
import { createSavedPods } from '../sources/api-saved.ts';
import { type ApiClients, openApiClients } from './api-clients.ts';
import { createApiCsi } from './api-csi.ts';
import { createApiExpander } from './api-expander.ts';
import { type ApiNode, createApiNode } from './api-node.ts';
import { createApiObjects } from './api-objects.ts';
import type { Base } from './base.ts';
import type { PodSide } from './pod-side.ts';
import type { RuntimeSide } from './runtime-side.ts';
import type { ServerParts } from './server-parts.ts';
import type { ServerAccess } from './servers.ts';

export interface ApiSide extends AsyncDisposable {
  readonly parts: ServerParts;
  readonly access: ServerAccess;
  /** Everything that goes on between the agent and the server, until the signal fires.
   *  @throws CertificateError where the agent never gets in */
  run(
    podSide: Pick<PodSide, 'manager' | 'sources' | 'volumes' | 'resources' | 'csi'>,
    signal: AbortSignal,
  ): Promise<void>;
}

function accessOf(
  { api, clientConfig }: Pick<ApiClients, 'api' | 'clientConfig'>,
  { addresses }: ApiNode,
): ServerAccess {
  return {
    create: (address, object, signal) => api.create(address, object, signal),
    clientConfig,
    addresses,
  };
}

/** @throws ClientConfigError, CertificateError */
export async function createApiSide(
  base: Base,
  runtimeSide: RuntimeSide,
  stop: AbortSignal,
): Promise<ApiSide> {
  const { config, vocabulary, clock, log, node } = base;
  const dir = join(config.rootDir, 'api');
  const clients = await openApiClients(base, stop);
  const { api: client } = clients;
  const apiNode = createApiNode(base, runtimeSide, clients);
  const csi = createApiCsi(base, client, apiNode);
  const store = createPodStore();
  const objects = createApiObjects(base, { client, onReturn: apiNode.contact.onReturn }, dir);
  const source = createApiSource({
    pods: store,
    wanted: (pods, isWhole) => objects.wanted(pods, isWhole),
    unusable: (pod) => statuses.ended({ metadata: { uid: metadataText(pod, 'uid') ?? '' } }, undefined),
    saved: createSavedPods({ dir: join(dir, 'pods'), vocabulary, log }),
    vocabulary,
    log,
  });
  let local: Parameters<typeof createStatusWriter>[0]['local'] = () => [];
  const shared = { store, clock, log };
  const mirrors = createMirrorKeeper({ ...shared, client, whenNode: apiNode.whenNode, vocabulary });
  const { unpaced, pace } = clients;
  const statuses = createStatusWriter({ ...shared, client: unpaced, pace, local: () => local() });

  return {
    parts: {
      ...objects,
      source,
      attacher: csi.attacher,
      expander: createApiExpander(base, client, stop),
      refuse: (wanted, others) =>
        serverRefusal(wanted, others, { node: apiNode.node(), osLabel: `${vocabulary.domain}/os` }),
      ended: (pod, status) => statuses.ended(pod, status),
    },
    access: accessOf(clients, apiNode),
    async run(podSide, signal) {
      const { manager, sources, volumes } = podSide;
      local = () =>
        manager.entries().flatMap(({ pod, status, origin }) => {
          const serverUID = origin.source === 'api' ? pod.metadata?.uid : mirrors.uidOf(pod);
          return serverUID === undefined ? [] : [{ pod, status, serverUID }];
        });
      const ends = [
        base.changes.subscribe(() => statuses.look()),
        // A mirror that was made is to be told of at once.
        store.onChange(() => statuses.look()),
        sources.onChange((desired) => mirrors.apply(desired)),
        // A watch that goes on is silent; who else talks to the server hears of it sooner.
        apiNode.contact.onReturn(() => store.back?.()),
      ];
      mirrors.apply(sources.current());
      await Promise.all([
        runReflector(
          { client, clock, log, onReturn: apiNode.contact.onReturn },
          { address: { apiVersion: 'v1', resource: 'pods' }, fieldSelector: `spec.nodeName=${node}` },
          {
            ...store,
            away: (err) => apiNode.contact.failed('pods', err),
            back: () => {
              apiNode.contact.succeeded('pods');
              store.back?.();
            },
          },
          signal,
        ),
        statuses.run(signal),
        objects.run(signal),
        mirrors.run(signal),
        apiNode.run(volumes.inUse, podSide.resources, signal),
        csi.run(podSide, signal),
        clients.run(signal),
      ]);
      for (const end of ends) end();
    },
    [Symbol.asyncDispose]: () => clients[Symbol.asyncDispose](),
  };
}
