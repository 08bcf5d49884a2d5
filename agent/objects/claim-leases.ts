/** Which volumes of the manifests pods have by claims that the agent made, on disk. */
import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonText } from '#api/codec/json-text.ts';
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';

/** A volume that a pod has by a claim. */
export interface Lease {
  readonly podUID: string;
  readonly namespace: string;
  readonly claimName: string;
  readonly volumeName: string;
}

const VERSION = 1;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function parseLease(value: unknown): Lease | undefined {
  if (!isObject(value)) return undefined;
  const { podUID, namespace, claimName, volumeName } = value;
  const isWhole = [podUID, namespace, claimName, volumeName].every(
    (part) => typeof part === 'string' && part !== '' && !part.includes('/'),
  );
  if (!isWhole) return undefined;
  return {
    podUID: String(podUID),
    namespace: String(namespace),
    claimName: String(claimName),
    volumeName: String(volumeName),
  };
}

function parseLeases(text: string): readonly Lease[] {
  const value: unknown = parseJsonText(text);
  if (!isObject(value) || value['version'] !== VERSION || !Array.isArray(value['claims']))
    throw new Error('is not what this version writes');
  return value['claims'].map(parseLease).filter((lease) => lease !== undefined);
}

export interface ClaimLeases {
  /** Those of pods of which something is left. */
  load(): Promise<readonly Lease[]>;
  /** Replaces them. */
  save(next: readonly Lease[]): Promise<void>;
}

export interface ClaimLeasesDeps {
  readonly rootDir: string;
  readonly log: Logger;
}

/** For one caller at a time. */
export function createClaimLeases({ rootDir, log }: ClaimLeasesDeps): ClaimLeases {
  const file = join(rootDir, 'ephemeral-claims.json');
  let leases: readonly Lease[] | undefined;

  async function readLeases(): Promise<readonly Lease[]> {
    try {
      return parseLeases(await readFile(file, 'utf8'));
    } catch (thrown) {
      const missing = thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';
      if (!missing) log.warn({ err: asError(thrown), path: file }, 'Claims could not be read');
      return [];
    }
  }

  /** Those of pods of which nothing is left were not taken back by an agent that was killed. */
  async function load(): Promise<readonly Lease[]> {
    if (leases !== undefined) return leases;
    const found = await readLeases();
    const present = await Promise.all(
      found.map(({ podUID }) =>
        stat(join(rootDir, 'pods', podUID)).then(
          () => true,
          () => false,
        ),
      ),
    );
    leases = found.filter((_, index) => present[index]);
    return leases;
  }

  async function save(next: readonly Lease[]): Promise<void> {
    await mkdir(rootDir, { recursive: true });
    {
      await using written = await open(`${file}.tmp`, 'w', 0o600);
      await written.writeFile(JSON.stringify({ version: VERSION, claims: next }));
      await written.datasync();
    }
    await rename(`${file}.tmp`, file);
    leases = next;
  }

  return { load, save };
}
