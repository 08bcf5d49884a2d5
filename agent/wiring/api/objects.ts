/** Wires objects, tokens and services of the API server for its pods on this node. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import type { ApiClient } from '../../api-client/client.ts';
import { runReflector } from '../../api-client/watch/reflector.ts';
import { createDriverObjects, DRIVERS_KEY } from '../../csi/driver-objects.ts';
import { createAccountTokens } from '../../objects/account-tokens.ts';
import { loadObjectKey } from '../../objects/object-key.ts';
import type { ObjectKey } from '../../objects/references.ts';
import { classKeys, createRuntimeHandlers } from '../../objects/runtime-handlers.ts';
import { createSavedObjects, NO_SAVED_OBJECTS } from '../../objects/saved-objects.ts';
import { createSavedTokens, tokensKey } from '../../objects/saved-tokens.ts';
import { createServerObjects, type SavedObjects } from '../../objects/server-objects.ts';
import { createServerReader, namedObjects } from '../../objects/server-reader.ts';
import { createServiceTable, readSavedServices, serviceEnv } from '../../objects/services.ts';
import type { Base } from '../base.ts';
import type { ServerParts } from '../server-parts.ts';

export interface ApiObjects
  extends Omit<ServerParts, 'source' | 'ended' | 'refuse' | 'expander' | 'attacher'> {
  /** Sets the pods that the server has bound to this node.
   *  @param isWhole the list is complete; persisted objects of other pods may be removed */
  wanted(pods: readonly Pod[], isWhole: boolean): void;
  run(signal: AbortSignal): Promise<void>;
}

export interface ApiServer {
  readonly client: ApiClient;
  /** Calls the listener when the server is available again. Returns a function that ends the subscription. */
  readonly onReturn: (listener: () => void) => () => void;
}

/** The list of services is persisted as one object. */
const SERVICES_KEY: ObjectKey = { kind: 'ConfigMap', namespace: '', name: 'services' };
/** Maximum wait of a container for the services; it retries later. */
const SERVICES_WAIT_MS = 5_000;

function savedObjects({ config, log }: Base, dir: string): SavedObjects {
  if (!config.saveServerObjects) return NO_SAVED_OBJECTS;
  const places = { credentialsDir: process.env['CREDENTIALS_DIRECTORY'], keyDir: config.certDir };
  return createSavedObjects({ dir, loadKey: () => loadObjectKey(places), log });
}

export function createApiObjects(base: Base, server: ApiServer, dir: string): ApiObjects {
  const { client } = server;
  const { config, clock, log, vocabulary } = base;
  const place = join(dir, 'objects');
  const saved = savedObjects(base, place);
  const strategy = config.configMapAndSecretChangeDetectionStrategy;
  const objects = createServerObjects({ ...server, saved, clock, log }, { strategy });
  const tokens = createAccountTokens({
    client,
    saved: createSavedTokens(saved),
    clock,
    log,
    tokenApiVersion: `authentication.${vocabulary.apiGroupDomain}/v1`,
  });
  const services = createServiceTable((all) => saved.save(SERVICES_KEY, { services: all }));
  const handlers = createRuntimeHandlers({ client, saved }, `node.${vocabulary.apiGroupDomain}/v1`);
  let owned: ReadonlySet<string> = new Set();

  async function whenServices(): Promise<void> {
    const late = new AbortController();
    const timer = clock.setTimer(() => late.abort(), SERVICES_WAIT_MS);
    await services.whenKnown(late.signal);
    timer.cancel();
  }

  return {
    owns: ({ metadata }) => owned.has(metadata?.uid ?? ''),
    objects: createServerReader(objects, vocabulary.systemNamespace),
    onObjects: (listener) => void objects.onChange(listener),
    driverObject: createDriverObjects({ client, saved, clock }, `storage.${vocabulary.apiGroupDomain}/v1`),
    async accountToken(pod, { audience, expirationSeconds }) {
      const { namespace = '', name: podName = '', uid: podUID = '' } = pod.metadata ?? {};
      const account = pod.spec?.serviceAccountName ?? 'default';
      const request = { namespace, account, podName, podUID, audience, expirationSeconds };
      return (await tokens.get(request)).token;
    },
    async runtimeHandler(pod) {
      const name = pod.spec?.runtimeClassName ?? '';
      // A static pod starts without the server: its class is the name of the handler, as for a standalone
      // agent.
      return name === '' || !owned.has(pod.metadata?.uid ?? '') ? name : await handlers.get(name);
    },
    async serviceEnv(pod) {
      const { namespace = '', uid = '' } = pod.metadata ?? {};
      const isOwned = owned.has(uid);
      // Static pods must start without the server; API pods need the services of the server.
      if (isOwned) await whenServices();
      const all = services.list();
      if (all === undefined && isOwned) throw new Error('services have not been read yet');
      return serviceEnv(all ?? [], {
        namespace,
        apiService: vocabulary.apiService,
        masterNamespace: config.masterServiceNamespace,
        links: pod.spec?.enableServiceLinks !== false,
      });
    },
    wanted(pods, isWhole) {
      owned = new Set(pods.map(({ metadata }) => metadata?.uid ?? ''));
      const named = namedObjects(pods);
      objects.name(named);
      tokens.retainOnly(owned);
      if (isWhole)
        saved.retainOnly([
          ...named,
          SERVICES_KEY,
          DRIVERS_KEY,
          ...[...owned].map(tokensKey),
          ...pods.flatMap(classKeys),
        ]);
    },
    async run(signal) {
      // Removes objects persisted before the setting was disabled.
      if (!config.saveServerObjects) await rm(place, { recursive: true, force: true });
      const early = await saved.load(SERVICES_KEY);
      const list = isObject(early) ? readSavedServices(early['services']) : undefined;
      if (list !== undefined) services.restore(list);
      const address = { apiVersion: 'v1', resource: 'services' };
      await runReflector({ ...server, clock, log }, { address, mayBeOld: true }, services, signal);
      objects.stop();
      tokens.stop();
    },
  };
}
