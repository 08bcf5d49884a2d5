/** The source `socket`: what was applied by hand through the local socket. Survives a restart.
 *
 *  Applied pods keep the name they were given, without the node's suffix: `apply`, `delete` and `logs` all take the
 *  user's own word. The rest of their identity is that of static pods. */

import { parseDocumentsInTurns } from '#api/codec/documents.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type AppliedKey, createAppliedFiles } from './applied-files.ts';
import { type ApplyResult, appliedKey, createAppliedTable } from './applied-table.ts';
import { type ManifestReaderDeps, splitDocument } from './manifest-set.ts';
import type { PodSource, SourceObject, SourcePod } from './types.ts';

export type { ApplyResult } from './applied-table.ts';

export interface AppliedStoreDeps extends ManifestReaderDeps {
  /** `<rootDir>/applied`; made when missing. */
  readonly dir: string;
  readonly log: Logger;
}

/** `kind` in any case, singular, plural or short; `namespace` counts only for kinds that have one and is
 *  `default` when empty. */
export type DeleteRequest = AppliedKey;

export interface AppliedStore extends PodSource {
  /** Takes every good document of the text, each by itself. What cannot be saved is rejected.
   *  @throws AppliedStoreError when what was applied before cannot be read
   *  @throws the signal's reason when it fires before anything is taken */
  apply(text: string | Uint8Array, signal?: AbortSignal): Promise<readonly ApplyResult[]>;
  /** @returns false when no such object was applied
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

/** The kind that a word of the command line means, such as `pods`, `CM` or `Secret`. */
export function parseKindWord(text: string): string | undefined {
  const word = text.toLowerCase();
  return KIND_WORDS.get(word) ?? (word.endsWith('s') ? KIND_WORDS.get(word.slice(0, -1)) : undefined);
}

export function createAppliedStore(deps: AppliedStoreDeps): AppliedStore {
  const table = createAppliedTable({ ...deps, files: createAppliedFiles(deps.dir) });
  const listeners = createListeners('applied pods');
  /** Loading, applying and deleting never overlap. */
  const serial = createLimiter(1);

  function tell(): void {
    listeners.notify();
  }

  async function apply(text: string | Uint8Array, signal: AbortSignal): Promise<readonly ApplyResult[]> {
    const documents = await parseDocumentsInTurns(text, signal);
    await table.load();
    const results: ApplyResult[] = [];
    for (const document of documents) {
      for (const part of splitDocument(document, deps.vocabulary)) results.push(await table.apply(part));
    }
    if (results.some(({ outcome }) => outcome === 'created' || outcome === 'configured')) tell();
    return results;
  }

  async function remove({ kind, namespace, name }: DeleteRequest): Promise<boolean> {
    const known = parseKindWord(kind);
    if (known === undefined) return false;
    await table.load();
    const removed = await table.remove(appliedKey(known, namespace, name));
    if (removed) tell();
    return removed;
  }

  return {
    name: 'socket',
    apply: (text, signal = new AbortController().signal) => serial.run(() => apply(text, signal), signal),
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
