/** Persisted bindings of manifest volumes to pods, through claims that the agent created. */

import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonText } from '#api/codec/json-text.ts';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { isObject } from '#api/kit/object.ts';

/** A volume bound to a pod by a claim. */
export interface Lease {
  readonly podUID: string;
  readonly namespace: string;
  readonly claimName: string;
  readonly volumeName: string;
}

const VERSION = 1;

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
    throw new Error('was not written by this version');
  return value['claims'].map(parseLease).filter((lease) => lease !== undefined);
}

export interface ClaimLeases {
  /** Returns the bindings of pods that still exist. */
  load(): Promise<readonly Lease[]>;
  /** Replaces the bindings. */
  save(next: readonly Lease[]): Promise<void>;
}

export interface ClaimLeasesDeps {
  readonly rootDir: string;
  readonly log: Logger;
}

/** Not safe for concurrent calls. */
export function createClaimLeases({ rootDir, log }: ClaimLeasesDeps): ClaimLeases {
  const file = join(rootDir, 'ephemeral-claims.json');
  let leases: readonly Lease[] | undefined;

  async function readLeases(): Promise<readonly Lease[]> {
    try {
      return parseLeases(await readFile(file, 'utf8'));
    } catch (thrown) {
      const missing = hasCode(thrown, 'ENOENT');
      if (!missing) log.warn({ err: asError(thrown), path: file }, 'Failed to read claims');
      return [];
    }
  }

  /** An agent that was killed has not released the bindings of deleted pods. */
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
