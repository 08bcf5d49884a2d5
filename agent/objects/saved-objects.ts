/** Persisted objects of the API server, for use while it is unavailable: one file each, readable by root
 *  only. Pods do not reference PersistentVolumes or the objects named by them: they are retained as long as a
 *  persisted claim leads to them. */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonText } from '#api/codec/json-text.ts';
import { asError } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import { isObject } from '#api/kit/object.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '#api/meta/names.ts';
import type { Json } from '../api-client/client.ts';
import { formatObjectKey, type ObjectKey } from './references.ts';
import type { SavedObjects } from './server-objects.ts';
import { referencesOfVolume } from './volume-references.ts';

export interface SavedObjectsDeps {
  /** `<rootDir>/api/objects`; created if missing. */
  readonly dir: string;
  readonly log: Logger;
}

/** Separator: object names contain no underscore. */
function fileName({ kind, namespace, name }: ObjectKey): string | undefined {
  if (dns1123SubdomainErrors(name).length > 0) return undefined;
  if (namespace !== '' && dns1123LabelErrors(namespace).length > 0) return undefined;
  return `${kind}_${namespace}_${name}.json`;
}

/** Returns the volume that a claim is bound to. */
function volumeOf(claim: Json | undefined): ObjectKey | undefined {
  const spec = claim?.['spec'];
  const name = isObject(spec) ? spec['volumeName'] : undefined;
  return typeof name === 'string' && name !== ''
    ? { kind: 'PersistentVolume', namespace: '', name }
    : undefined;
}

export function createSavedObjects({ dir, log }: SavedObjectsDeps): SavedObjects {
  const turns = createLimiter(1);
  /** Pending writes, by file name. */
  const newest = new Map<string, Json | undefined>();

  async function write(path: string, object: Json): Promise<void> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const file = await open(`${path}.tmp`, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(object));
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(`${path}.tmp`, path);
  }

  async function flush(name: string): Promise<void> {
    if (!newest.has(name)) return;
    const object = newest.get(name);
    newest.delete(name);
    const path = join(dir, name);
    if (object === undefined) await rm(path, { force: true });
    else await write(path, object);
  }

  async function load(key: ObjectKey): Promise<Json | undefined> {
    const name = fileName(key);
    if (name === undefined) return undefined;
    if (newest.has(name)) return newest.get(name);
    const text = await readFile(join(dir, name), 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    try {
      const value: unknown = parseJsonText(text);
      return isObject(value) ? value : undefined;
    } catch (thrown) {
      log.warn({ err: asError(thrown), object: formatObjectKey(key) }, 'Failed to read persisted object');
      return undefined;
    }
  }

  /** Ordered with the writes: later writes are retained. */
  async function clean(keys: readonly ObjectKey[]): Promise<void> {
    const claims = keys.filter(({ kind }) => kind === 'PersistentVolumeClaim');
    const volumes = (await Promise.all(claims.map(load))).flatMap((claim) => volumeOf(claim) ?? []);
    const led = (await Promise.all(volumes.map(load))).flatMap((volume) =>
      volume === undefined ? [] : referencesOfVolume(volume).names,
    );
    const retained = new Set([...keys, ...volumes, ...led].map(fileName));
    const names = await readdir(dir).catch(() => []);
    for (const name of names) if (!retained.has(name)) await rm(join(dir, name), { force: true });
  }

  return {
    load,
    save(key, object) {
      const name = fileName(key);
      if (name === undefined) return;
      newest.set(name, object);
      turns
        .run(() => flush(name))
        .catch((thrown: unknown) => {
          log.warn({ err: asError(thrown), object: formatObjectKey(key) }, 'Failed to persist object');
        });
    },
    keepOnly(keys) {
      turns
        .run(() => clean(keys))
        .catch((thrown: unknown) => {
          log.warn({ err: asError(thrown) }, 'Failed to clean up persisted objects');
        });
    },
  };
}

/** Persists nothing, for nodes without secrets on disk. */
export const NO_SAVED_OBJECTS: SavedObjects = {
  load: () => Promise.resolve(undefined),
  save: () => undefined,
  keepOnly: () => undefined,
};
