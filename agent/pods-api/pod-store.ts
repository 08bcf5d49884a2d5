/** The node's pods as the API server last told them, by UID: those that are to run here, and the mirrors of static
 *  ones. Follows the server by a reflector, and takes the answers of its own writes, which may be newer. */

import { createListeners } from '#api/kit/listeners.ts';
import type { Json } from '../api-client/client.ts';
import { metadataText, resourceVersionOf } from '../api-client/object-fields.ts';
import type { ObjectChange, ReflectorSink } from '../api-client/reflector.ts';

export interface PodStore extends ReflectorSink {
  /** The server has told everything at least once. */
  readonly isSynced: boolean;
  get(podUID: string): Json | undefined;
  list(): readonly Json[];
  /** Takes what the server answered to a write, if it is newer. */
  note(object: Json): void;
  /** Calls the listener, synchronously, after each change with the UIDs that it is about.
   *  @returns a function that ends the subscription */
  onChange(listener: (podUIDs: ReadonlySet<string>) => void): () => void;
  /** Calls the listener when the server can be had again. */
  onBack(listener: () => void): () => void;
}

/** Versions are texts without meaning to clients, but those of one object grow in every server there is; where they
 *  are no numbers, what came last counts. */
function isNewer(next: Json, known: Json | undefined): boolean {
  const [a, b] = [resourceVersionOf(next), known === undefined ? undefined : resourceVersionOf(known)];
  if (a === undefined || b === undefined) return true;
  return !/^\d+$/.test(a) || !/^\d+$/.test(b) || BigInt(a) > BigInt(b);
}

export function createPodStore(): PodStore {
  const listeners = createListeners<[podUIDs: ReadonlySet<string>]>('pods of the API server');
  const backListeners = createListeners('pods of the API server');
  let pods = new Map<string, Json>();
  let isSynced = false;

  function tell(podUIDs: ReadonlySet<string>): void {
    listeners.notify(podUIDs);
  }

  function take(object: Json): void {
    const uid = metadataText(object, 'uid');
    if (uid === undefined || !isNewer(object, pods.get(uid))) return;
    pods.set(uid, object);
    tell(new Set([uid]));
  }

  function change({ type, object }: ObjectChange): void {
    if (type !== 'DELETED') return take(object);
    const uid = metadataText(object, 'uid');
    if (uid !== undefined && pods.delete(uid)) tell(new Set([uid]));
  }

  return {
    get isSynced() {
      return isSynced;
    },
    get: (podUID) => pods.get(podUID),
    list: () => [...pods.values()],
    note(object) {
      const uid = metadataText(object, 'uid');
      // One that is not known any more was deleted meanwhile.
      if (uid !== undefined && pods.has(uid)) take(object);
    },
    replace(objects) {
      const next = new Map<string, Json>();
      for (const object of objects) {
        const uid = metadataText(object, 'uid');
        if (uid !== undefined) next.set(uid, object);
      }
      const touched = new Set([...pods.keys(), ...next.keys()]);
      pods = next;
      isSynced = true;
      tell(touched);
    },
    change,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    back() {
      backListeners.notify();
    },
    onBack(listener) {
      backListeners.add(listener);
      return () => backListeners.delete(listener);
    },
  };
}
