/** What is on a block device. More careful than `blkid` alone: what it does not recognize is not yet empty. */
import type { RunProgram } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { DevicePaths } from './contract.ts';
import { deviceSizeBytes, readEnds } from './device-facts.ts';
import { readSuperblock } from './superblock.ts';

export type DeviceContent =
  /** Nothing that anybody recognizes, and zeros at both ends. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'fileSystem'; readonly fsType: string }
  /** A file system whose making was interrupted. */
  | { readonly kind: 'unfinished'; readonly fsType: string }
  /** Not zeros, and nobody knows what it is. */
  | { readonly kind: 'unknown' }
  /** `what`: in words, such as `a partition table (gpt)`. */
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

/** What `blkid -p -o export` found; undefined for nothing, as with an empty partition. Pure. */
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

/** @throws VolumeSetupError where it can't be found out; MissingProgramError; the system's error */
export async function probeDevice(
  { run, paths }: ProbeDeps,
  device: string,
  signal: AbortSignal,
): Promise<DeviceContent> {
  const args = ['-p', '-s', 'TYPE', '-s', 'PTTYPE', '-s', 'USAGE', '-o', 'export', device];
  const result = await run('blkid', args, { signal, timeoutMs: PROBE_MS });
  if (result.code === AMBIVALENT) return { kind: 'other', what: 'marks of several file systems at once' };
  if (result.code !== FOUND && result.code !== NOTHING_FOUND) {
    throw new VolumeSetupError(`what is on ${device} can't be found out: ${failText('blkid', result)}`);
  }
  const found = result.code === FOUND ? readBlkid(result.stdout) : undefined;
  if (found !== undefined && !(found.kind === 'fileSystem' && found.fsType === 'xfs')) return found;
  // blkid also finds nothing on a device that it can't read: then this fails.
  const { head, isAllZero } = await readEnds(device, await deviceSizeBytes(paths.sys, device));
  const superblock = readSuperblock(head);
  if (superblock?.unfinished === true) return { kind: 'unfinished', fsType: superblock.fsType };
  if (found !== undefined) return found;
  return { kind: isAllZero ? 'empty' : 'unknown' };
}
