/** Applied objects in memory and on disk, always consistent. Not safe for concurrent calls: the store in
 *  `applied.ts` serializes them. */
import { isDeepStrictEqual } from 'node:util';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import {
  type DocumentPart,
  joinSets,
  type ManifestReaderDeps,
  readPart,
  rejectedPlace,
  splitDocument,
} from '../manifest-set.ts';
import { DEFAULT_NAMESPACE } from '../static-identity.ts';
import type { ManifestSet } from '../types.ts';
import { type AppliedFiles, type AppliedKey, appliedFileName } from './applied-files.ts';

export interface ApplyResult {
  /** `Pod default/web` as far as it could be parsed. */
  readonly identity: string;
  /** Number of the document in the text; list items are numbered `2[0]`. */
  readonly document: string;
  readonly outcome: 'created' | 'configured' | 'unchanged' | 'rejected';
  /** Validation errors; empty if the object was applied. */
  readonly errors: readonly FieldError[];
}

export interface AppliedTable {
  /** Loads objects of earlier runs; a second call does nothing. @throws AppliedStoreError */
  load(): Promise<void>;
  /** Validates and persists one object. An object that cannot be persisted is rejected.
   *  @param dryRun nothing is persisted; the result is that of a real run */
  apply(part: DocumentPart, dryRun?: boolean): Promise<ApplyResult>;
  /** @returns false if the object does not exist. @throws AppliedStoreError */
  remove(key: AppliedKey): Promise<boolean>;
  content(): ManifestSet;
  /** Manifests as applied. */
  manifests(): readonly unknown[];
}

/** Returns the table key of an object: namespace `default` unless it has another one or none. */
export function appliedKey(kind: string, namespace: string, name: string): AppliedKey {
  if (kind === 'PersistentVolume') return { kind, namespace: '', name };
  return { kind, namespace: namespace === '' ? DEFAULT_NAMESPACE : namespace, name };
}

/** Returns the manifest to persist: an item of a typed list gets the kind of its list. */
function completeManifest(manifest: unknown, kind: string): unknown {
  if (typeof manifest !== 'object' || manifest === null) return manifest;
  return { apiVersion: 'v1', kind, ...manifest };
}

interface Applied {
  /** Undefined for an unusable file. */
  readonly manifest: unknown;
  readonly set: ManifestSet;
}

export interface AppliedTableDeps extends ManifestReaderDeps {
  readonly files: AppliedFiles;
  readonly log: Logger;
}

export function createAppliedTable(deps: AppliedTableDeps): AppliedTable {
  const { files, log, vocabulary } = deps;
  const applied = new Map<string, Applied>();
  let loaded = false;

  const originOf = (fileName: string) => ({ source: 'socket', location: fileName, document: '1' }) as const;

  function readStored(fileName: string, manifest: unknown): ManifestSet {
    const parts = splitDocument({ number: '1', line: 1, value: manifest, errors: [] }, vocabulary);
    return joinSets(parts.map((part) => readPart(deps, part, originOf(fileName), undefined)));
  }

  async function save(fileName: string, next: Applied): Promise<readonly FieldError[]> {
    try {
      await files.save(fileName, next.manifest);
    } catch (thrown) {
      const error = asError(thrown);
      log.error({ err: error }, 'Failed to persist applied object');
      return [{ kind: 'FieldValueInvalid', field: '', detail: error.message }];
    }
    applied.set(fileName, next);
    return [];
  }

  return {
    async load() {
      if (loaded) return;
      const { stored, broken } = await files.load();
      for (const { fileName, manifest } of stored) {
        applied.set(fileName, { manifest, set: readStored(fileName, manifest) });
      }
      for (const { fileName, detail } of broken) {
        log.error({ fileName, detail }, 'Failed to load applied object');
        applied.set(fileName, { manifest: undefined, set: rejectedPlace(originOf(fileName), detail) });
      }
      loaded = true;
    },

    async apply(part, dryRun = false) {
      const { decoded, number: document } = part;
      const { identity } = decoded;
      if (decoded.kind === 'Unknown') {
        return { identity, document, outcome: 'rejected', errors: decoded.errors };
      }
      const { namespace = '', name = '' } = decoded.object.metadata ?? {};
      const fileName = appliedFileName(appliedKey(decoded.kind, namespace, name));
      const before = applied.get(fileName);
      const manifest = completeManifest(part.manifest, decoded.kind);
      const set = readPart(deps, { ...part, manifest }, originOf(fileName), before?.set);
      const fieldErrors = set.rejected.flatMap(({ errors }) => errors);
      if (fieldErrors.length > 0) return { identity, document, outcome: 'rejected', errors: fieldErrors };
      if (isDeepStrictEqual(before?.manifest, manifest)) {
        return { identity, document, outcome: 'unchanged', errors: [] };
      }
      const errors = dryRun ? [] : await save(fileName, { manifest, set });
      if (errors.length > 0) return { identity, document, outcome: 'rejected', errors };
      const outcome = before?.manifest === undefined ? 'created' : 'configured';
      return { identity, document, outcome, errors };
    },

    async remove(key) {
      const fileName = appliedFileName(key);
      if (!applied.has(fileName)) return false;
      await files.remove(fileName);
      applied.delete(fileName);
      return true;
    },

    manifests: () => [...applied.values()].map(({ manifest }) => manifest).filter((one) => one !== undefined),

    content: () => joinSets([...applied].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { set }]) => set)),
  };
}
