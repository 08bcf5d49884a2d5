/** Keeps the mirrors of static pods on the API server as they are to be. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { Node, Pod } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import { metadataText } from '../api-client/object-fields.ts';
import type { DesiredState } from '../sources/types.ts';
import { decideMirror, isMirrorOf, mirrorOf, mirrorsByName } from './mirror-pods.ts';
import type { PodStore } from './pod-store.ts';

export interface MirrorKeeperDeps {
  readonly client: Pick<ApiClient, 'create' | 'delete'>;
  readonly store: PodStore;
  /** Resolves as soon as this node is on the server; a mirror belongs to it. */
  readonly whenNode: (signal: AbortSignal) => Promise<Node>;
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface MirrorKeeper {
  /** Takes the newest desired state. */
  apply(desired: Pick<DesiredState, 'pods' | 'unread'>): void;
  /** UID of the mirror of a static pod, once there is one of its present manifest. */
  uidOf(pod: Pod): string | undefined;
  /** Works until the signal fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

const nameOf = ({ metadata }: Pod): string => `${metadata?.namespace}/${metadata?.name}`;

export function createMirrorKeeper(deps: MirrorKeeperDeps): MirrorKeeper {
  const { client, store, vocabulary, clock, log } = deps;
  let wanted: ReadonlyMap<string, Pod> = new Map();
  let isComplete = false;
  let mirrors: ReadonlyMap<string, Json> = new Map();

  async function create(pod: Pod, signal: AbortSignal): Promise<void> {
    const { namespace = '' } = pod.metadata ?? {};
    const node = await deps.whenNode(signal);
    const address = { apiVersion: 'v1', resource: 'pods', namespace };
    await client.create(address, mirrorOf(pod, node, vocabulary), signal);
    log.info({ pod: nameOf(pod) }, 'Mirror pod was made');
  }

  async function remove(mirror: Json, signal: AbortSignal): Promise<void> {
    const namespace = metadataText(mirror, 'namespace') ?? '';
    const name = metadataText(mirror, 'name') ?? '';
    const uid = metadataText(mirror, 'uid') ?? '';
    const address = { apiVersion: 'v1', resource: 'pods', namespace, name };
    await client.delete(address, signal, { gracePeriodSeconds: 0, preconditions: { uid } });
    log.info({ pod: `${namespace}/${name}` }, 'Mirror pod was removed');
  }

  /** The mirror that was made or removed comes back through the store, and the name is looked at again. */
  async function work(name: string, signal: AbortSignal): Promise<undefined> {
    if (!store.isSynced) return undefined;
    const step = decideMirror(wanted.get(name), mirrors.get(name), isComplete, vocabulary);
    try {
      if (step.kind === 'create') await create(step.pod, signal);
      else if (step.kind === 'delete') await remove(step.mirror, signal);
    } catch (thrown) {
      // Gone already, or there already: the watch tells.
      const isDone = thrown instanceof ApiRequestError && (thrown.status === 404 || thrown.status === 409);
      if (!isDone) throw thrown;
      if (thrown.reason === 'AlreadyExists') log.warn({ pod: name }, 'Name of a mirror pod is taken');
    }
    return undefined;
  }

  const queue = createWorkQueue({
    clock,
    work,
    onError: (pod, err) => log.warn({ err, pod }, 'Mirror pod is not as it should be, trying again'),
  });

  function lookAt(names: Iterable<string>): void {
    for (const name of names) queue.add(name);
  }

  function update(): void {
    const before = mirrors;
    mirrors = mirrorsByName(store.list(), vocabulary);
    const touched = [...new Set([...before.keys(), ...mirrors.keys()])].filter(
      (name) => before.get(name) !== mirrors.get(name),
    );
    lookAt(touched);
  }
  // From the beginning, so that whoever follows the store later finds the mirrors as the store has them.
  const ends = [
    store.onChange(update),
    store.onBack(() => lookAt(new Set([...wanted.keys(), ...mirrors.keys()]))),
  ];

  return {
    apply({ pods, unread }) {
      const before = wanted;
      const own = pods.filter(({ origin }) => origin.source !== 'api').map(({ pod }) => pod);
      wanted = new Map(own.map((pod) => [nameOf(pod), pod]));
      isComplete = unread.every((source) => source === 'api');
      lookAt(new Set([...before.keys(), ...wanted.keys(), ...mirrors.keys()]));
    },
    uidOf(pod) {
      const mirror = mirrors.get(nameOf(pod));
      // While a manifest changes, the mirror is still that of the pod before, which has ended.
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
