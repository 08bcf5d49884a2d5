/** Local copy of the node, updated by a watch of this one object. While the server is unavailable, the last
 *  known state stays. */

import type { Node } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Json } from '../api-client/client.ts';
import { type ReflectorDeps, runReflector } from '../api-client/watch/reflector.ts';
import { readNode } from './read-objects.ts';

export interface NodeFollower {
  /** Follows until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** The last known state; undefined while the node does not exist. */
  readonly current: () => Node | undefined;
  /** Resolves once the node exists; rejects with the reason of the signal. */
  readonly whenThere: (signal: AbortSignal) => Promise<Node>;
  /** Stores a state that was received in a response. */
  readonly note: (node: Node) => void;
  /** Calls the listener at each change. Returns a function that unsubscribes. */
  readonly onChange: (listener: (node: Node | undefined) => void) => () => void;
}

export interface NodeFollowerOptions {
  readonly nodeName: string;
  readonly vocabulary: Vocabulary;
}

export function createNodeFollower(deps: ReflectorDeps, options: NodeFollowerOptions): NodeFollower {
  const { nodeName, vocabulary } = options;
  const listeners = createListeners<[node: Node | undefined]>('node');
  let known: Node | undefined;

  function set(node: Node | undefined): void {
    known = node;
    listeners.notify(node);
  }
  const read = (object: Json): void => set(readNode(object, vocabulary));

  function onChange(listener: (node: Node | undefined) => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  async function whenThere(signal: AbortSignal): Promise<Node> {
    signal.throwIfAborted();
    if (known !== undefined) return known;
    const { promise, resolve, reject } = Promise.withResolvers<Node>();
    const end = onChange((node) => {
      if (node !== undefined) resolve(node);
    });
    const onAbort = (): void => reject(asError(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await promise;
    } finally {
      end();
      signal.removeEventListener('abort', onAbort);
    }
  }

  return {
    current: () => known,
    whenThere,
    note: set,
    onChange,
    run: (signal) =>
      runReflector(
        deps,
        {
          address: { apiVersion: 'v1', resource: 'nodes' },
          fieldSelector: `metadata.name=${nodeName}`,
          mayBeOld: true,
        },
        {
          replace([object]) {
            if (object === undefined) set(undefined);
            else read(object);
          },
          change({ type, object }) {
            if (type === 'DELETED') set(undefined);
            else read(object);
          },
        },
        signal,
      ),
  };
}
