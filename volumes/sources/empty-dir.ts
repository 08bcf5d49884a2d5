/** emptyDir: a directory that lives as long as the pod, on disk, in memory, or in huge pages.
 *  Spec: document 3, 2.3. */
import { chmod, chown, mkdir, rename, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { value } from '#api/meta/quantity.ts';
import type { Container, EmptyDirVolumeSource, Pod } from '#api/schema/gen/core-v1.ts';
import { holdDir } from '../held-dir.ts';
import { groupMode } from '../ownership.ts';
import { removeTree } from '../remove-tree.ts';
import { errorCode, VolumeSetupError } from '../setup-error.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from './source.ts';

const MEMORY = 'Memory';
const HUGE_PAGES = 'HugePages';
const HUGE_PAGES_RESOURCE = 'hugepages-';

function containersOf(pod: Pod): readonly Container[] {
  return [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
}

/** @throws VolumeSetupError */
export function parseSizeLimit(sizeLimit: string | undefined): number | undefined {
  if (sizeLimit === undefined) return undefined;
  try {
    const bytes = value(sizeLimit);
    if (bytes >= 0) return bytes === 0 ? undefined : bytes;
  } catch (cause) {
    throw new VolumeSetupError(`sizeLimit is not a quantity: ${JSON.stringify(sizeLimit)}`, { cause });
  }
  throw new VolumeSetupError(`sizeLimit is negative: ${JSON.stringify(sizeLimit)}`);
}

/** Most bytes of a memory volume: the smallest of its limit, the pod's memory limit with its overhead if every
 *  container has one, and the node's memory. Undefined where none is known. */
export function memorySize(
  pod: Pod,
  sizeLimit: number | undefined,
  allocatableBytes: number | undefined,
): number | undefined {
  const limitOf = (container: Container): number => {
    const memory = container.resources?.limits?.['memory'];
    return memory === undefined ? 0 : value(memory);
  };
  const app = (pod.spec?.containers ?? []).map((container) => limitOf(container));
  const init = (pod.spec?.initContainers ?? []).map((container) => limitOf(container));
  const unlimited = app.includes(0) || init.includes(0) || app.length === 0;
  const sum = app.reduce((total, bytes) => total + bytes, 0);
  const overhead = value(pod.spec?.overhead?.['memory'] ?? '0');
  const podLimit = unlimited ? undefined : Math.max(sum, ...init) + overhead;
  const known = [sizeLimit, podLimit, allocatableBytes].filter((bytes) => bytes !== undefined && bytes > 0);
  return known.length === 0 ? undefined : Math.min(...known.map((bytes) => bytes ?? 0));
}

/** The page size in bytes that `HugePages` or `HugePages-<size>` means for this pod.
 *  @throws VolumeSetupError when the pod's containers don't ask for it, or for several */
export function hugePageSize(pod: Pod, medium: string): number {
  const sizes = new Set<string>();
  for (const container of containersOf(pod)) {
    for (const name of [
      ...Object.keys(container.resources?.limits ?? {}),
      ...Object.keys(container.resources?.requests ?? {}),
    ]) {
      if (name.startsWith(HUGE_PAGES_RESOURCE)) sizes.add(name.slice(HUGE_PAGES_RESOURCE.length));
    }
  }
  const asked = medium === HUGE_PAGES ? undefined : medium.slice(HUGE_PAGES.length + 1);
  if (asked === undefined && sizes.size > 1) {
    throw new VolumeSetupError(
      'medium HugePages needs a size, as in HugePages-2Mi: the pod uses several page sizes',
    );
  }
  const size = asked ?? [...sizes][0];
  if (size === undefined || !sizes.has(size)) {
    throw new VolumeSetupError(
      `medium ${medium} needs a container that asks for ${HUGE_PAGES_RESOURCE}${asked ?? '<size>'}`,
    );
  }
  try {
    return value(size);
  } catch (cause) {
    throw new VolumeSetupError(`medium ${medium} has no readable page size`, { cause });
  }
}

/** Mode of the root directory: everyone may write, as containers run as anyone. One in memory has the sticky bit, as file
 *  systems in memory have it by themselves. Source: upstream 1.24. */
function rootMode(request: SourceRequest, medium: string): number {
  const mode = medium === MEMORY ? 0o1777 : 0o777;
  return request.fsGroup === undefined ? mode : groupMode(mode, true, false);
}

async function exists(dir: string): Promise<boolean> {
  try {
    return (await stat(dir)).isDirectory();
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return false;
    throw thrown;
  }
}

/** Makes the directory under another name and renames it when it is right, so that one that exists is complete
 *  and what the pod did to its permissions since then stays. */
async function makeOnDisk(request: SourceRequest, dir: string): Promise<void> {
  const { countFolder } = request.services.emptyDirs ?? {};
  const path = join(dirname(dir), `.${basename(dir)}.new`);
  const made = await mkdir(path, { recursive: true, mode: 0o750 });
  // Where the folder around it was made just now too, nothing can be there.
  const isFirst = made !== undefined && made.length < path.length;
  if (!isFirst && (await exists(dir))) await rmdir(path);
  else await finish(request, path, dir, made === undefined);
  // Before anything is in it; and again after a restart, which only takes note of it.
  await countFolder?.(dir);
}

/** @param isLeft the new one is of an agent that ended in between */
async function finish(request: SourceRequest, path: string, dir: string, isLeft: boolean): Promise<void> {
  if (isLeft) {
    await using parent = await holdDir(dirname(path));
    await removeTree(request.services.mounter.syscalls, parent, basename(path));
    await mkdir(path, 0o750);
  }
  if (request.fsGroup !== undefined) await chown(path, 0, request.fsGroup);
  await chmod(path, rootMode(request, ''));
  await rename(path, dir);
}

function gidOption(request: SourceRequest): { gid?: number } {
  return request.fsGroup === undefined ? {} : { gid: request.fsGroup };
}

function sizeOption(sizeBytes: number | undefined): { sizeBytes?: number } {
  return sizeBytes === undefined ? {} : { sizeBytes };
}

async function setUp(spec: EmptyDirVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  const { mounter, allocatable, emptyDirs } = request.services;
  const { medium = '' } = spec;
  const sizeLimit = parseSizeLimit(spec.sizeLimit);
  const dir = request.dir('empty-dir');
  const mode = rootMode(request, medium);
  if (medium === '') {
    await makeOnDisk(request, dir);
  } else if (medium === MEMORY) {
    const isNew = (await mkdir(dir, { recursive: true, mode: 0o750 })) !== undefined;
    const sizes = emptyDirs?.sizesMemory ?? true;
    const size = sizes ? memorySize(request.pod, sizeLimit, allocatable()['memory']) : undefined;
    await mounter.ensureTmpfs(dir, { mode, isNew, ...gidOption(request), ...sizeOption(size) });
  } else if (medium === HUGE_PAGES || medium.startsWith(`${HUGE_PAGES}-`)) {
    const pageSizeBytes = hugePageSize(request.pod, medium);
    await mkdir(dir, { recursive: true, mode: 0o750 });
    await mounter.ensureHugetlbfs(dir, {
      mode,
      pageSizeBytes,
      ...gidOption(request),
      ...sizeOption(sizeLimit),
    });
  } else {
    throw new VolumeSetupError(
      `emptyDir medium ${JSON.stringify(medium)} is unknown; use "", Memory or HugePages`,
    );
  }
  return { hostPath: dir, readOnly: false, seLinuxRelabel: true, changes: false };
}

export const emptyDir: SourcePlugin = defineSource(
  'emptyDir',
  { summary: 'A directory of its own for the pod, on disk, in memory or in huge pages.', use: 'pod' },
  setUp,
);
