/** Wires everything that uses the API server. Loaded only by an agent that has one. */
import { join } from 'node:path';
import { type NodeFacts, serverRefusal } from '../../admission/server-admission.ts';
import { metadataText } from '../../api-client/object-fields.ts';
import { runReflector } from '../../api-client/watch/reflector.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import { createMirrorReconciler } from '../../pods-api/mirror-reconciler.ts';
import { createPodStore } from '../../pods-api/pod-store.ts';
import { createStatusWriter } from '../../pods-api/status-writer.ts';
import { createApiSource } from '../../sources/api/api.ts';
import { createSavedPods } from '../../sources/api/api-saved.ts';
import type { Base } from '../base.ts';
import type { PodSubsystem } from '../pods/pods.ts';
import type { RuntimeSubsystem } from '../runtime.ts';
import type { ServerParts } from '../server-parts.ts';
import type { ServerAccess } from '../servers/server-access.ts';
import { type ApiClients, openApiClients } from './clients.ts';
import { createApiCsi } from './csi.ts';
import { createApiExpander } from './expander.ts';
import { type ApiNode, createApiNode } from './node.ts';
import { createApiObjects } from './objects.ts';

export interface ApiSubsystem extends AsyncDisposable {
  readonly parts: ServerParts;
  readonly access: ServerAccess;
  /** The node as the server has it. */
  readonly node: Pick<ApiNode, 'node' | 'onChange'>;
  /** Runs all communication with the server, until the signal fires.
   *  @throws CertificateError if the agent can never join */
  run(
    podSubsystem: Pick<PodSubsystem, 'manager' | 'sources' | 'volumes' | 'resources' | 'csi'>,
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

const fitSettings = ({ config, vocabulary }: Base): Omit<NodeFacts, 'node'> => ({
  osLabel: `${vocabulary.domain}/os`,
  identifiesOS: featureEnabled(config, 'IdentifyPodOS'),
});

/** @throws ClientConfigError, CertificateError */
export async function createApiSubsystem(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  stop: AbortSignal,
): Promise<ApiSubsystem> {
  const { config, vocabulary, clock, log, node } = base;
  const dir = join(config.rootDir, 'api');
  const clients = await openApiClients(base, stop);
  const { api: client } = clients;
  const apiNode = createApiNode(base, runtimeSubsystem, clients);
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
  const mirrors = createMirrorReconciler({ ...shared, client, whenNode: apiNode.whenNode, vocabulary });
  const { unpaced, pace } = clients;
  const statuses = createStatusWriter({ ...shared, client: unpaced, pace, local: () => local() });

  return {
    parts: {
      ...objects,
      source,
      attacher: csi.attacher,
      expander: createApiExpander(base, client, stop),
      refuse: (wanted, others) =>
        serverRefusal(wanted, others, { node: apiNode.node(), ...fitSettings(base) }),
      ended: (pod, status) => statuses.ended(pod, status),
    },
    access: accessOf(clients, apiNode),
    node: apiNode,
    async run(podSubsystem, signal) {
      const { manager, sources, volumes } = podSubsystem;
      local = () =>
        manager.entries().flatMap(({ pod, status, origin }) => {
          const serverUID = origin.source === 'api' ? pod.metadata?.uid : mirrors.uidOf(pod);
          return serverUID === undefined ? [] : [{ pod, status, serverUID }];
        });
      const ends = [
        base.changes.add(() => statuses.check()),
        // The status of a new mirror pod is reported at once.
        store.onChange(() => statuses.check()),
        sources.onChange((desired) => mirrors.apply(desired)),
        // An idle watch receives nothing; other clients detect a recovered server sooner.
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
        apiNode.run(volumes.inUse, podSubsystem.resources, signal),
        csi.run(podSubsystem, signal),
        clients.run(signal),
      ]);
      for (const end of ends) end();
    },
    [Symbol.asyncDispose]: () => clients[Symbol.asyncDispose](),
  };
}
