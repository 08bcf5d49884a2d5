/** Detection of the content of a block device. More careful than `blkid` alone: unrecognized content does
 *  not count as empty. */

import type { DevicePaths } from '../contract/device-paths.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { RunProgram } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { deviceSizeBytes, readEnds } from './device-facts.ts';
import { readSuperblock } from './superblock.ts';

export type DeviceContent =
  /** No signature, and zeros at both ends. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'fileSystem'; readonly fsType: string }
  /** A file system whose formatting was interrupted. */
  | { readonly kind: 'unfinished'; readonly fsType: string }
  /** Unrecognized data. */
  | { readonly kind: 'unknown' }
  /** `what`: a description such as `a partition table (gpt)`. */
  | { readonly kind: 'other'; readonly what: string };

export interface ProbeDeps {
  readonly run: RunProgram;
  readonly paths: Pick<DevicePaths, 'sys'>;
}

const PROBE_MS = 60_000;
/** Exit codes. Source: blkid(8). */
const FOUND = 0;
const NOTHING_FOUND = 2;
const AMBIVALENT = 8;

/** Parses the output of `blkid -p -o export`; undefined if it found nothing, as with an empty partition.
 *  Pure. */
export function readBlkid(
  text: string,
): Extract<DeviceContent, { kind: 'fileSystem' | 'other' }> | undefined {
  const found = new Map(
    text.split('\n').flatMap((line) => {
      const at = line.indexOf('=');
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const];
    }),
  );
  const type = found.get('TYPE') ?? '';
  const table = found.get('PTTYPE') ?? '';
  const usage = found.get('USAGE') ?? '';
  if (table !== '') return { kind: 'other', what: `a partition table (${table})` };
  if (type === '') return undefined;
  if (usage === 'filesystem') return { kind: 'fileSystem', fsType: type };
  return { kind: 'other', what: `${type}${usage === '' ? '' : ` (${usage})`}` };
}

/** @throws VolumeSetupError if the probe fails; MissingProgramError; the system's error */
export async function probeDevice(
  { run, paths }: ProbeDeps,
  device: string,
  signal: AbortSignal,
): Promise<DeviceContent> {
  const args = ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-s', 'USAGE', '-o', 'export', device];
  const result = await run('blkid', args, { signal, timeoutMs: PROBE_MS });
  if (result.code === AMBIVALENT) return { kind: 'other', what: 'signatures of several file systems' };
  if (result.code !== FOUND && result.code !== NOTHING_FOUND) {
    throw new VolumeSetupError(`cannot probe ${device}: ${failText('blkid', result)}`);
  }
  const found = result.code === FOUND ? readBlkid(result.stdout) : undefined;
  if (found !== undefined && !(found.kind === 'fileSystem' && found.fsType === 'xfs')) return found;
  // blkid also finds nothing on an unreadable device; this read fails then.
  const { head, isAllZero } = await readEnds(device, await deviceSizeBytes(paths.sys, device));
  const superblock = readSuperblock(head);
  if (superblock?.unfinished === true) return { kind: 'unfinished', fsType: superblock.fsType };
  if (found !== undefined) return found;
  return { kind: isAllZero ? 'empty' : 'unknown' };
}
