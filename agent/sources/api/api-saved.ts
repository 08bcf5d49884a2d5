/** Persists the desired pods of the API server, so that an agent that starts while the server is unavailable
 *  can start them. One file per pod, written atomically, readable by root only. */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonText } from '#api/codec/json-text.ts';
import { asError } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import { isObject } from '#api/kit/object.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { SourcePod } from '../types.ts';
import type { SavedPods } from './api.ts';
import { readApiPod } from './api-pod.ts';

export interface SavedPodsDeps {
  /** `<rootDir>/api/pods`; created if missing. */
  readonly dir: string;
  readonly vocabulary: Vocabulary;
  readonly log: Logger;
}

const SUFFIX = '.json';
const uidOf = ({ pod }: SourcePod): string => pod.metadata?.uid ?? '';

export function createSavedPods({ dir, vocabulary, log }: SavedPodsDeps): SavedPods {
  /** Content on disk once pending writes have finished. */
  const written = new Map<string, SourcePod | undefined>();
  const turns = createLimiter(1);

  async function write(entry: SourcePod): Promise<void> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, `${uidOf(entry)}${SUFFIX}`);
    const file = await open(`${path}.tmp`, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(entry.pod));
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(`${path}.tmp`, path);
  }

  /** Writes the newest version at the time of the write. */
  function enqueue(uid: string, entry: SourcePod | undefined): void {
    if (entry === undefined) written.delete(uid);
    else written.set(uid, entry);
    const task = async (): Promise<void> => {
      if (written.get(uid) !== entry) return;
      if (entry === undefined) await rm(join(dir, `${uid}${SUFFIX}`), { force: true });
      else await write(entry);
    };
    turns.run(task).catch((thrown: unknown) => {
      log.warn({ err: asError(thrown), podUID: uid }, 'Failed to persist API pod');
    });
  }

  async function load(name: string): Promise<SourcePod | undefined> {
    const value: unknown = parseJsonText(await readFile(join(dir, name), 'utf8'));
    if (!isObject(value)) throw new Error('is not an object');
    const read = readApiPod(value, vocabulary);
    if (read.kind === 'rejected') throw new Error(read.errors[0]?.detail ?? 'is not a pod');
    const entry = { pod: read.pod, origin: read.origin };
    if (`${uidOf(entry)}${SUFFIX}` !== name) throw new Error('has a different UID than its file name');
    return entry;
  }

  return {
    async load() {
      const names = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith(SUFFIX));
      const found: SourcePod[] = [];
      for (const name of names) {
        try {
          const entry = await load(name);
          if (entry === undefined) continue;
          found.push(entry);
          written.set(uidOf(entry), entry);
        } catch (thrown) {
          log.warn({ err: asError(thrown), file: name }, 'Failed to read persisted pod');
          written.set(name.slice(0, -SUFFIX.length), undefined);
        }
      }
      return found;
    },
    save(pods) {
      const wanted = new Set(pods.map(uidOf));
      for (const uid of [...written.keys()].filter((known) => !wanted.has(known))) enqueue(uid, undefined);
      for (const entry of pods) {
        if (written.get(uidOf(entry)) !== entry) enqueue(uidOf(entry), entry);
      }
    },
  };
}
