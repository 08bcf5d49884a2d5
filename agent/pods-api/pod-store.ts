/** Pods of this node on the API server by UID: API pods, and the mirrors of static pods. Updated by a
 *  reflector and by the responses to own writes, which may be newer. */

import { createListeners } from '#api/kit/listeners.ts';
import type { Json } from '../api-client/client.ts';
import { metadataText, resourceVersionOf } from '../api-client/object-fields.ts';
import type { ObjectChange, ReflectorSink } from '../api-client/watch/reflector.ts';

export interface PodStore extends ReflectorSink {
  /** Whether the server has delivered a complete list. */
  readonly isSynced: boolean;
  get(podUID: string): Json | undefined;
  list(): readonly Json[];
  /** Stores the response to a write, if it is newer. */
  note(object: Json): void;
  /** Calls the listener, synchronously, after each change with the affected UIDs.
   *  @returns a function that ends the subscription */
  onChange(listener: (podUIDs: ReadonlySet<string>) => void): () => void;
  /** Calls the listener when the server is available again. */
  onBack(listener: () => void): () => void;
}

/** Versions are opaque to clients, but increase for each object on every known server; if they are not
 *  numbers, the last one received wins. */
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

  function notify(podUIDs: ReadonlySet<string>): void {
    listeners.notify(podUIDs);
  }

  function take(object: Json): void {
    const uid = metadataText(object, 'uid');
    if (uid === undefined || !isNewer(object, pods.get(uid))) return;
    pods.set(uid, object);
    notify(new Set([uid]));
  }

  function change({ type, object }: ObjectChange): void {
    if (type !== 'DELETED') return take(object);
    const uid = metadataText(object, 'uid');
    if (uid !== undefined && pods.delete(uid)) notify(new Set([uid]));
  }

  return {
    get isSynced() {
      return isSynced;
    },
    get: (podUID) => pods.get(podUID),
    list: () => [...pods.values()],
    note(object) {
      const uid = metadataText(object, 'uid');
      // An unknown pod was deleted in the meantime.
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
      notify(touched);
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
