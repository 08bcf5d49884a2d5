/** Persisted record of each admitted pod, so that a restarted agent knows pods whose manifest is gone and
 *  does not rerun terminated ones. One file per pod, written atomically. No write reverts the changes of
 *  another. */

import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonText } from '#api/codec/json-text.ts';
import type { Pod } from '#api/gen/core-v1.ts';
import { asError, hasCode } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { isObject } from '#api/kit/object.ts';
import { decode } from '#api/schema/decode.ts';
import { type ManifestOrigin, SOURCE_NAMES } from '../../sources/types.ts';
import type { TerminalPhase } from '../decide/decision-types.ts';

export interface PodRecord {
  readonly pod: Pod;
  readonly origin: ManifestOrigin;
  readonly startedAtMs: number;
  readonly terminal: TerminalPhase | undefined;
}

export interface RecordStore {
  /** Returns every readable record; others are reported through `onBad` and skipped. */
  loadAll(onBad: (path: string, error: Error) => void): Promise<readonly PodRecord[]>;
  save(record: PodRecord): Promise<void>;
  remove(podUID: string): Promise<void>;
}

const VERSION = 1;
const FILE_NAME = 'pod.json';

/** A record that is truncated, of another version, or corrupt. */
class PodRecordError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'PodRecordError';
  }
}

/** @param podsDir `<rootDir>/pods`; the record lies in the directory of its pod */
export function createRecordStore(podsDir: string): RecordStore {
  const fileOf = (podUID: string): string => join(podsDir, podUID, FILE_NAME);

  async function load(podUID: string): Promise<PodRecord | undefined> {
    const text = await readFile(fileOf(podUID), 'utf8').catch((thrown: unknown) => {
      if (hasCode(thrown, 'ENOENT', 'ENOTDIR')) return undefined;
      throw thrown;
    });
    if (text === undefined) return undefined;
    const record = parseRecord(text);
    // The UID must match, since the removal of the pod deletes this directory.
    const { uid } = record.pod.metadata ?? {};
    if (uid !== podUID) throw new PodRecordError(`uid ${JSON.stringify(uid)} does not match its directory`);
    return record;
  }

  return {
    async loadAll(onBad) {
      const names = await readdir(podsDir).catch(() => []);
      const records = await Promise.all(
        names.map((name) =>
          load(name).catch((thrown: unknown) => {
            onBad(fileOf(name), asError(thrown));
            return undefined;
          }),
        ),
      );
      return records.filter((record) => record !== undefined);
    },
    async save(record) {
      const path = fileOf(record.pod.metadata?.uid ?? '');
      await mkdir(join(path, '..'), { recursive: true, mode: 0o750 });
      const temporary = `${path}.tmp`;
      const file = await open(temporary, 'w', 0o600);
      try {
        await file.writeFile(JSON.stringify({ version: VERSION, ...record }));
        if (record.terminal !== undefined) await file.datasync();
      } finally {
        await file.close();
      }
      await rename(temporary, path);
    },
    remove: (podUID) => rm(fileOf(podUID), { force: true }),
  };
}

/** @throws PodRecordError */
export function parseRecord(text: string): PodRecord {
  const value = parseObject(text);
  if (value['version'] !== VERSION)
    throw new PodRecordError(`unsupported version ${String(value['version'])}, expected ${VERSION}`);
  const { value: pod, errors } = decode<Pod>('core/v1.Pod', value['pod']);
  if (errors[0] !== undefined) throw new PodRecordError(`pod: ${errors[0].field}: ${errors[0].detail}`);
  const { name = '', namespace = '' } = pod.metadata ?? {};
  if (name === '' || namespace === '') throw new PodRecordError('pod has no name or namespace');
  const startedAtMs = value['startedAtMs'];
  return {
    pod,
    origin: parseOrigin(value['origin']),
    startedAtMs: typeof startedAtMs === 'number' ? startedAtMs : 0,
    terminal: parseTerminal(value['terminal']),
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJsonText(text);
    if (isObject(value)) return value;
  } catch (cause) {
    throw new PodRecordError('not JSON', { cause });
  }
  throw new PodRecordError('not an object');
}

function parseOrigin(value: unknown): ManifestOrigin {
  if (!isObject(value)) throw new PodRecordError('origin is not an object');
  const source = SOURCE_NAMES.find((name) => name === value['source']);
  if (source === undefined) throw new PodRecordError(`unknown origin.source ${String(value['source'])}`);
  return { source, location: String(value['location']), document: String(value['document']) };
}

function parseTerminal(value: unknown): TerminalPhase | undefined {
  if (!isObject(value)) return undefined;
  const phase = value['phase'] === 'Succeeded' ? 'Succeeded' : 'Failed';
  const { gracePeriodSeconds } = value;
  return {
    phase,
    reason: String(value['reason']),
    message: String(value['message']),
    ...(typeof gracePeriodSeconds === 'number' || typeof gracePeriodSeconds === 'bigint'
      ? { gracePeriodSeconds }
      : {}),
  };
}

/** Fields that may change during the lifetime of a pod. */
export type RecordChanges = Partial<Pick<PodRecord, 'pod' | 'terminal'>>;

export interface RecordWriter {
  /** Writes the record with the changes; a failed write is not part of later ones. */
  readonly write: (changes: RecordChanges) => Promise<void>;
  /** Ignores later writes. Resolves when no write is in flight. */
  readonly close: () => Promise<void>;
}

/** Creates the writer of one pod's record; its writes are serialized.
 *  @param first the initial record, not yet written */
export function createRecordWriter(
  save: (record: PodRecord) => Promise<void>,
  first: PodRecord,
): RecordWriter {
  const turns = createLimiter(1);
  let record = first;
  let closed = false;
  return {
    async write(changes) {
      if (closed) return;
      await turns.run(async () => {
        const next = { ...record, ...changes };
        await save(next);
        record = next;
      });
    },
    close() {
      closed = true;
      return turns.run(() => Promise.resolve());
    },
  };
}
