/** Device checkpoint, by which a restarted agent restores device allocations, in the format of upstream's
 *  agents. Pure. Source: upstream's device manager checkpoint (v2) and its checksum, release 1.24. */

import { parseJsonText } from '#api/codec/json-text.ts';
import { isObject } from '#api/kit/object.ts';
import { fnv32a } from '../state/checksum.ts';

export interface CheckpointEntry {
  readonly podUID: string;
  readonly container: string;
  readonly resource: string;
  /** By NUMA node; -1 for devices without NUMA information. */
  readonly devices: ReadonlyMap<number, readonly string[]>;
  /** The encoded Allocate response of the plugin; undefined before the call. */
  readonly response: Uint8Array | undefined;
}

export interface Checkpoint {
  readonly entries: readonly CheckpointEntry[];
  /** Healthy devices by resource. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

/** An invalid checkpoint. */
class CheckpointError extends Error {
  override readonly name = 'CheckpointError';
}

const inNodeOrder = (devices: CheckpointEntry['devices']): [number, readonly string[]][] =>
  [...devices].toSorted(([a], [b]) => a - b);
const inByteOrder = <T>(map: ReadonlyMap<string, T>): [string, T][] =>
  [...map].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

/** Formats the data as the checksum covers it: Go's names of types and members, values in their plain form. */
export function checksumText({ entries, registered }: Checkpoint): string {
  const lists = (pairs: readonly (readonly [string | number, readonly string[]])[]): string =>
    `map[${pairs.map(([key, devices]) => `${key}:[${devices.join(' ')}]`).join(' ')}]`;
  const rows = entries.map(({ podUID, container, resource, devices, response }) => {
    const bytes = response === undefined ? '<nil>' : `[${response.join(' ')}]`;
    return (
      `{PodUID:(string)${podUID} ContainerName:(string)${container} ResourceName:(string)${resource} ` +
      `DeviceIDs:(checkpoint.DevicesPerNUMA)${lists(inNodeOrder(devices))} AllocResp:([]uint8)${bytes}}`
    );
  });
  return (
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)[${rows.join(' ')}] ` +
    `RegisteredDevices:(map[string][]string)${lists(inByteOrder(registered))}}`
  );
}

export function formatCheckpoint(checkpoint: Checkpoint): string {
  const { entries, registered } = checkpoint;
  return JSON.stringify({
    Data: {
      PodDeviceEntries: entries.map(({ podUID, container, resource, devices, response }) => ({
        PodUID: podUID,
        ContainerName: container,
        ResourceName: resource,
        DeviceIDs: Object.fromEntries(inNodeOrder(devices)),
        AllocResp: response === undefined ? null : Buffer.from(response).toString('base64'),
      })),
      RegisteredDevices: Object.fromEntries(inByteOrder(registered)),
    },
    Checksum: fnv32a(checksumText(checkpoint)),
  });
}

function record(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw new CheckpointError(`${what} is not an object`);
  return value;
}

function text(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new CheckpointError(`${what} is not a string`);
  return value;
}

function texts(value: unknown, what: string): readonly string[] {
  if (!Array.isArray(value)) throw new CheckpointError(`${what} is not a list`);
  return value.map((one: unknown) => text(one, what));
}

function parseEntry(value: unknown): CheckpointEntry {
  const entry = record(value, 'an entry');
  const response = entry['AllocResp'];
  return {
    podUID: text(entry['PodUID'], 'PodUID'),
    container: text(entry['ContainerName'], 'ContainerName'),
    resource: text(entry['ResourceName'], 'ResourceName'),
    devices: new Map(
      Object.entries(record(entry['DeviceIDs'], 'DeviceIDs')).map(([node, devices]) => [
        Number(node),
        texts(devices, 'DeviceIDs'),
      ]),
    ),
    response: typeof response === 'string' ? Buffer.from(response, 'base64') : undefined,
  };
}

/** @throws CheckpointError */
export function parseCheckpoint(content: string): Checkpoint {
  let parsed: unknown;
  try {
    parsed = parseJsonText(content);
  } catch (cause) {
    throw new CheckpointError('not JSON', { cause });
  }
  const { Data, Checksum } = record(parsed, 'it');
  const data = record(Data, 'Data');
  const rows = data['PodDeviceEntries'] ?? [];
  if (!Array.isArray(rows)) throw new CheckpointError('PodDeviceEntries is not a list');
  const checkpoint: Checkpoint = {
    entries: rows.map(parseEntry),
    registered: new Map(
      Object.entries(record(data['RegisteredDevices'] ?? {}, 'RegisteredDevices')).map(([name, devices]) => [
        name,
        texts(devices ?? [], 'RegisteredDevices'),
      ]),
    ),
  };
  if (fnv32a(checksumText(checkpoint)) !== Checksum) throw new CheckpointError('checksum mismatch');
  return checkpoint;
}
