/** Source `socket`: objects applied through the local socket. Survives a restart.
 *
 *  Applied pods keep their manifest name, without the suffix of the node, so that `apply`, `delete` and
 *  `logs` use the same name. The rest of their identity is that of static pods. */

import { parseDocumentsInTurns } from '#api/codec/documents.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type ManifestReaderDeps, splitDocument } from '../manifest-set.ts';
import type { PodSource, SourceObject, SourcePod } from '../types.ts';
import { type AppliedKey, createAppliedFiles } from './applied-files.ts';
import { type ApplyResult, appliedKey, createAppliedTable } from './applied-table.ts';

export type { ApplyResult } from './applied-table.ts';

export interface AppliedStoreDeps extends ManifestReaderDeps {
  /** `<rootDir>/applied`; created if missing. */
  readonly dir: string;
  readonly log: Logger;
}

/** `kind` in any case, singular, plural or short; `namespace` is used only for namespaced kinds and is
 *  `default` when empty. */
export type DeleteRequest = AppliedKey;

export interface ApplyOptions {
  readonly signal?: AbortSignal;
  readonly dryRun?: boolean;
}

export interface AppliedStore extends PodSource {
  /** Applies every valid document of the text independently. Objects that cannot be persisted are rejected. A dry
   *  run changes nothing.
   *  @throws AppliedStoreError when earlier objects cannot be read
   *  @throws the signal's reason when it fires before anything is applied */
  apply(text: string | Uint8Array, options?: ApplyOptions): Promise<readonly ApplyResult[]>;
  /** Manifests as applied. @throws AppliedStoreError */
  manifests(): Promise<readonly unknown[]>;
  /** @returns false if no such object was applied
   *  @throws AppliedStoreError */
  delete(request: DeleteRequest): Promise<boolean>;
  list(): { readonly pods: readonly SourcePod[]; readonly objects: readonly SourceObject[] };
}

const KIND_WORDS: ReadonlyMap<string, string> = new Map([
  ['pod', 'Pod'],
  ['po', 'Pod'],
  ['configmap', 'ConfigMap'],
  ['cm', 'ConfigMap'],
  ['secret', 'Secret'],
  ['persistentvolume', 'PersistentVolume'],
  ['pv', 'PersistentVolume'],
  ['persistentvolumeclaim', 'PersistentVolumeClaim'],
  ['pvc', 'PersistentVolumeClaim'],
  ['csidriver', 'CSIDriver'],
  ['endpoint', 'Endpoints'],
  ['ep', 'Endpoints'],
]);

/** Returns the kind for a type on the command line, such as `pods`, `CM` or `Secret`. */
export function parseKindName(text: string): string | undefined {
  const word = text.toLowerCase();
  return KIND_WORDS.get(word) ?? (word.endsWith('s') ? KIND_WORDS.get(word.slice(0, -1)) : undefined);
}

export function createAppliedStore(deps: AppliedStoreDeps): AppliedStore {
  const table = createAppliedTable({ ...deps, files: createAppliedFiles(deps.dir) });
  const listeners = createListeners('applied pods');
  /** Serializes loading, applying and deleting. */
  const serial = createLimiter(1);

  function publish(): void {
    listeners.notify();
  }

  async function apply(
    text: string | Uint8Array,
    signal: AbortSignal,
    dryRun: boolean,
  ): Promise<readonly ApplyResult[]> {
    const documents = await parseDocumentsInTurns(text, signal);
    await table.load();
    const results: ApplyResult[] = [];
    for (const document of documents) {
      for (const part of splitDocument(document, deps.vocabulary))
        results.push(await table.apply(part, dryRun));
    }
    if (!dryRun && results.some(({ outcome }) => outcome === 'created' || outcome === 'configured'))
      publish();
    return results;
  }

  async function remove({ kind, namespace, name }: DeleteRequest): Promise<boolean> {
    const known = parseKindName(kind);
    if (known === undefined) return false;
    await table.load();
    const removed = await table.remove(appliedKey(known, namespace, name));
    if (removed) publish();
    return removed;
  }

  return {
    name: 'socket',
    apply: (text, { signal = new AbortController().signal, dryRun = false } = {}) =>
      serial.run(() => apply(text, signal, dryRun), signal),
    manifests: () =>
      serial.run(async () => {
        await table.load();
        return table.manifests();
      }),
    delete: (request) => serial.run(() => remove(request)),
    list: () => {
      const { pods, objects } = table.content();
      return { pods, objects };
    },
    async run(signal, sink) {
      await serial.run(() => table.load());
      const deliver = (): void => sink({ source: 'socket', ...table.content() });
      listeners.add(deliver);
      try {
        deliver();
        await new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      } finally {
        listeners.delete(deliver);
      }
    },
  };
}
