/** emptyDir: a directory with the lifetime of the pod, on disk, in memory, or in huge pages.
 *  Source: volume sources, document 3 §2.3. */
import { chmod, chown, mkdir, rename, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Container, EmptyDirVolumeSource, Pod } from '#api/gen/core-v1.ts';
import { errorCode } from '#api/kit/errno.ts';
import { value } from '#api/meta/quantity.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { holdDir } from '../files/held-dir.ts';
import { groupMode } from '../files/ownership.ts';
import { removeTree } from '../files/remove-tree.ts';

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

/** Returns the size limit of a memory volume in bytes: the smallest of its own limit, the pod's memory
 *  limit with its overhead if every container has one, and the node's memory. Undefined if none is known. */
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

/** Returns the page size in bytes of `HugePages` or `HugePages-<size>` for this pod.
 *  @throws VolumeSetupError when the pod's containers do not request it, or request several */
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
      'medium HugePages needs a size, as in HugePages-2Mi, because the pod uses several page sizes',
    );
  }
  const size = asked ?? [...sizes][0];
  if (size === undefined || !sizes.has(size)) {
    throw new VolumeSetupError(
      `medium ${medium} needs a container that requests ${HUGE_PAGES_RESOURCE}${asked ?? '<size>'}`,
    );
  }
  try {
    return value(size);
  } catch (cause) {
    throw new VolumeSetupError(`medium ${medium} has no readable page size`, { cause });
  }
}

/** Mode of the root directory: everyone may write, since containers run as any user. One in memory has the
 *  sticky bit, which memory file systems have by default. Source: upstream 1.24. */
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

/** Creates the directory under a temporary name and renames it when it is complete, so that an existing
 *  one is always complete and keeps the permissions that the pod has set since. */
async function makeOnDisk(request: SourceRequest, dir: string): Promise<void> {
  const { countFolder } = request.services.emptyDirs ?? {};
  const path = join(dirname(dir), `.${basename(dir)}.new`);
  const created = await mkdir(path, { recursive: true, mode: 0o750 });
  // If its parent was just created too, nothing can exist there.
  const isFirst = created !== undefined && created.length < path.length;
  if (!isFirst && (await exists(dir))) await rmdir(path);
  else await finish(request, path, dir, created === undefined);
  // Before anything is in it; and again after a restart, which only records it.
  await countFolder?.(dir);
}

/** @param isLeft the temporary directory was left by an agent that was interrupted */
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
  { summary: 'An initially empty directory for the pod, on disk, in memory or in huge pages.', use: 'pod' },
  setUp,
);
