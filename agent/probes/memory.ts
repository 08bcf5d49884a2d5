/** Persisted probe results, so that a restarted agent reports a ready container as ready. One small file per
 *  pod, in its directory, written at each change. Losing it costs one round of probes, during which the
 *  containers count as not ready. */

import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { isObject } from '#api/kit/object.ts';

export interface ProbeFinding {
  readonly started: boolean;
  readonly ready: boolean;
}

/** By container ID. Empty for a pod without running probed containers. */
export type ProbeFindings = Readonly<Record<string, ProbeFinding>>;

export interface ProbeMemory {
  /** Reads the results of an earlier run. Never rejects: an unreadable file counts as missing. */
  load(): Promise<void>;
  /** Returns the result of an earlier run for this container. */
  previous(containerId: string): ProbeFinding | undefined;
  /** Schedules a write of the pod's current results, unless the file contains them already. Returns
   *  immediately. */
  note(podUID: string, findings: ProbeFindings): void;
}

const VERSION = 1;
const FILE_NAME = 'probes.json';
const textOf = (containers: ProbeFindings): string => JSON.stringify({ version: VERSION, containers });
const NOTHING = textOf({});

/** @param podsDir `<rootDir>/pods` */
export function createProbeMemory({ log }: { readonly log: Logger }, podsDir: string): ProbeMemory {
  const left = new Map<string, ProbeFinding>();
  /** Current or pending content of the file of a pod. */
  const texts = new Map<string, string>();
  const writing = new Set<string>();

  async function loadPod(podUID: string): Promise<void> {
    try {
      const text = await readFile(join(podsDir, podUID, FILE_NAME), 'utf8');
      for (const [id, finding] of parseFindings(text)) left.set(id, finding);
      texts.set(podUID, text);
    } catch (thrown) {
      if (!hasCode(thrown, 'ENOENT'))
        log.warn({ err: asError(thrown), podUID }, 'Failed to read probe results');
    }
  }

  /** Serialized; changes during a write are written next. */
  async function write(podUID: string): Promise<void> {
    if (writing.has(podUID)) return;
    writing.add(podUID);
    const path = join(podsDir, podUID, FILE_NAME);
    let written: string | undefined;
    try {
      for (let text = texts.get(podUID); text !== undefined && text !== written; text = texts.get(podUID)) {
        await writeFile(`${path}.tmp`, text, { mode: 0o600 });
        await rename(`${path}.tmp`, path);
        written = text;
      }
    } catch (thrown) {
      texts.delete(podUID);
      // The directory of the pod is removed with the pod.
      if (!hasCode(thrown, 'ENOENT'))
        log.warn({ err: asError(thrown), podUID }, 'Failed to write probe results');
    } finally {
      writing.delete(podUID);
    }
    // Nothing is retained for pods without results or removed pods.
    if (texts.get(podUID) === NOTHING) texts.delete(podUID);
  }

  return {
    async load() {
      const podUIDs = await readdir(podsDir).catch(() => []);
      await Promise.all(podUIDs.map(loadPod));
    },
    previous: (containerId) => left.get(containerId),
    note(podUID, findings) {
      const isEmpty = Object.keys(findings).length === 0;
      if (isEmpty && !texts.has(podUID)) return;
      const text = textOf(findings);
      if (texts.get(podUID) === text) return;
      texts.set(podUID, text);
      void write(podUID);
    },
  };
}

function parseFindings(text: string): readonly (readonly [id: string, finding: ProbeFinding])[] {
  const value: unknown = JSON.parse(text);
  if (!isObject(value) || value['version'] !== VERSION || !isObject(value['containers'])) return [];
  return Object.entries(value['containers']).map(([id, finding]) => [
    id,
    {
      started: isObject(finding) && finding['started'] === true,
      ready: isObject(finding) && finding['ready'] === true,
    },
  ]);
}
