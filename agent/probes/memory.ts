/** What the probes last found, kept on disk, so that an agent that starts anew shows a container that was ready as
 *  ready. One small file a pod, in the pod's folder, written at each change. Losing it costs one round of probes:
 *  until then the containers count as not ready. */
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';

export interface ProbeFinding {
  readonly started: boolean;
  readonly ready: boolean;
}

/** By container ID. Empty for a pod without containers that are probed and run. */
export type ProbeFindings = Readonly<Record<string, ProbeFinding>>;

export interface ProbeMemory {
  /** Reads what an earlier agent left. Never rejects: an unreadable file counts as none. */
  load(): Promise<void>;
  /** What an earlier agent last knew of this container. */
  previous(containerId: string): ProbeFinding | undefined;
  /** Writes what is known of the pod's containers now, unless that is what the file says. Returns at once. */
  note(podUID: string, findings: ProbeFindings): void;
}

const VERSION = 1;
const FILE_NAME = 'probes.json';
const textOf = (containers: ProbeFindings): string => JSON.stringify({ version: VERSION, containers });
const NOTHING = textOf({});

/** @param podsDir `<rootDir>/pods` */
export function createProbeMemory({ log }: { readonly log: Logger }, podsDir: string): ProbeMemory {
  const left = new Map<string, ProbeFinding>();
  /** The text that the file of a pod has or is about to get. */
  const texts = new Map<string, string>();
  const writing = new Set<string>();

  async function loadPod(podUID: string): Promise<void> {
    try {
      const text = await readFile(join(podsDir, podUID, FILE_NAME), 'utf8');
      for (const [id, finding] of parseFindings(text)) left.set(id, finding);
      texts.set(podUID, text);
    } catch (thrown) {
      if (!isAbsent(thrown)) log.warn({ err: asError(thrown), podUID }, 'Probe findings were not read');
    }
  }

  /** One write at a time; what changed meanwhile is written next. */
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
      // The pod's folder goes with the pod.
      if (!isAbsent(thrown)) log.warn({ err: asError(thrown), podUID }, 'Probe findings were not written');
    } finally {
      writing.delete(podUID);
    }
    // Of a pod that has nothing to remember, as of one that is gone, nothing is retained.
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

function isAbsent(thrown: unknown): boolean {
  const error = asError(thrown);
  return 'code' in error && error.code === 'ENOENT';
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

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
