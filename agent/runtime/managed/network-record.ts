/** Record of the pod network of a managed containerd, beside its socket: an agent that is given the socket finds
 *  by it the network configuration to adapt. */
import { readFile } from 'node:fs/promises';
import { asError, hasCode } from '#api/kit/errno.ts';
import { isObject } from '#api/kit/object.ts';
import type { PodNetwork } from './network.ts';

export interface NetworkRecord extends Pick<PodNetwork, 'name' | 'bridge' | 'leaseDir'> {
  readonly conflistPath: string;
}

/** The record is damaged. */
class NetworkRecordError extends Error {
  constructor(path: string, cause?: unknown) {
    super(`${path}: not a record of a pod network; restart the managed containerd to replace it`, { cause });
    this.name = 'NetworkRecordError';
  }
}

export const networkRecordPath = (socketPath: string): string => `${socketPath}.network.json`;

function parseRecord(text: string): NetworkRecord | undefined {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) return undefined;
  const { name, bridge, leaseDir, conflistPath } = value;
  const isRecord =
    typeof name === 'string' &&
    typeof bridge === 'string' &&
    typeof leaseDir === 'string' &&
    typeof conflistPath === 'string';
  return isRecord ? { name, bridge, leaseDir, conflistPath } : undefined;
}

/** Returns the record of the runtime with this socket; undefined for a runtime of another owner.
 *  @throws NetworkRecordError */
export async function readNetworkRecord(socketPath: string): Promise<NetworkRecord | undefined> {
  const path = networkRecordPath(socketPath);
  try {
    const record = parseRecord(await readFile(path, 'utf8'));
    if (record === undefined) throw new NetworkRecordError(path);
    return record;
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return undefined;
    throw thrown instanceof NetworkRecordError ? thrown : new NetworkRecordError(path, asError(thrown));
  }
}
