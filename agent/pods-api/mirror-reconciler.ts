/** Reconciles the mirrors of static pods on the API server. */

import type { Node, Pod } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import { metadataText } from '../api-client/object-fields.ts';
import type { DesiredState } from '../sources/types.ts';
import { decideMirror, isMirrorOf, mirrorOf, mirrorsByName } from './mirror-pods.ts';
import type { PodStore } from './pod-store.ts';

export interface MirrorReconcilerDeps {
  readonly client: Pick<ApiClient, 'create' | 'delete'>;
  readonly store: PodStore;
  /** Resolves once the Node object exists; it owns the mirrors. */
  readonly whenNode: (signal: AbortSignal) => Promise<Node>;
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface MirrorReconciler {
  /** Sets the newest desired state. */
  apply(desired: Pick<DesiredState, 'pods' | 'unread'>): void;
  /** Returns the UID of the mirror of a static pod, once it exists for the current manifest. */
  uidOf(pod: Pod): string | undefined;
  /** Runs until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

const nameOf = ({ metadata }: Pod): string => `${metadata?.namespace}/${metadata?.name}`;

export function createMirrorReconciler(deps: MirrorReconcilerDeps): MirrorReconciler {
  const { client, store, vocabulary, clock, log } = deps;
  let wanted: ReadonlyMap<string, Pod> = new Map();
  let isComplete = false;
  let mirrors: ReadonlyMap<string, Json> = new Map();

  async function create(pod: Pod, signal: AbortSignal): Promise<void> {
    const { namespace = '' } = pod.metadata ?? {};
    const node = await deps.whenNode(signal);
    const address = { apiVersion: 'v1', resource: 'pods', namespace };
    await client.create(address, mirrorOf(pod, node, vocabulary), signal);
    log.info({ pod: nameOf(pod) }, 'Mirror pod created');
  }

  async function remove(mirror: Json, signal: AbortSignal): Promise<void> {
    const namespace = metadataText(mirror, 'namespace') ?? '';
    const name = metadataText(mirror, 'name') ?? '';
    const uid = metadataText(mirror, 'uid') ?? '';
    const address = { apiVersion: 'v1', resource: 'pods', namespace, name };
    await client.delete(address, signal, { gracePeriodSeconds: 0, preconditions: { uid } });
    log.info({ pod: `${namespace}/${name}` }, 'Mirror pod deleted');
  }

  /** The created or deleted mirror comes back through the store, which triggers another check of the name. */
  async function work(name: string, signal: AbortSignal): Promise<undefined> {
    if (!store.isSynced) return undefined;
    const step = decideMirror(wanted.get(name), mirrors.get(name), isComplete, vocabulary);
    try {
      if (step.kind === 'create') await create(step.pod, signal);
      else if (step.kind === 'delete') await remove(step.mirror, signal);
    } catch (thrown) {
      // Already deleted, or already created: the watch reports it.
      const isDone = thrown instanceof ApiRequestError && (thrown.status === 404 || thrown.status === 409);
      if (!isDone) throw thrown;
      if (thrown.reason === 'AlreadyExists') log.warn({ pod: name }, 'Mirror pod name already in use');
    }
    return undefined;
  }

  const queue = createWorkQueue({
    clock,
    work,
    onError: (pod, err) => log.warn({ err, pod }, 'Failed to reconcile mirror pod; retrying'),
  });

  function checkNames(names: Iterable<string>): void {
    for (const name of names) queue.add(name);
  }

  function update(): void {
    const before = mirrors;
    mirrors = mirrorsByName(store.list(), vocabulary);
    const touched = [...new Set([...before.keys(), ...mirrors.keys()])].filter(
      (name) => before.get(name) !== mirrors.get(name),
    );
    checkNames(touched);
  }
  // Subscribed from the beginning, so that later subscribers of the store find the mirrors up to date.
  const ends = [
    store.onChange(update),
    store.onBack(() => checkNames(new Set([...wanted.keys(), ...mirrors.keys()]))),
  ];

  return {
    apply({ pods, unread }) {
      const before = wanted;
      const own = pods.filter(({ origin }) => origin.source !== 'api').map(({ pod }) => pod);
      wanted = new Map(own.map((pod) => [nameOf(pod), pod]));
      isComplete = unread.every((source) => source === 'api');
      checkNames(new Set([...before.keys(), ...wanted.keys(), ...mirrors.keys()]));
    },
    uidOf(pod) {
      const mirror = mirrors.get(nameOf(pod));
      // After a change of the manifest, the mirror is still that of the previous pod, which has ended.
      if (mirror === undefined || !isMirrorOf(mirror, pod, vocabulary)) return undefined;
      return metadataText(mirror, 'uid');
    },
    async run(signal) {
      update();
      await queue.run(signal);
      for (const end of ends) end();
    },
  };
}
