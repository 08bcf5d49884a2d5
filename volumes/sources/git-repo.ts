/** gitRepo (deprecated): a clone of a repository, created once for the pod. git runs as user nobody, in a
 *  separate directory that only exposes the volume, with limits; root takes over its files before a pod
 *  sees them. Source: volume sources, document 3 §2.3. */
import { chmod, chown, lstat, mkdir, mkdtemp, rename, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { GitRepoVolumeSource } from '#api/gen/core-v1.ts';
import { errorCode, unlessCode } from '#api/kit/errno.ts';
import {
  defineSource,
  type ReadyVolume,
  type SourcePlugin,
  type SourceRequest,
  type UndoServices,
} from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { holdDir, holdPath } from '../files/held-dir.ts';
import { groupMode, setOwnership } from '../files/ownership.ts';
import { removeTree } from '../files/remove-tree.ts';
import { MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_REMOUNT } from '../files/syscalls.ts';
import { adoptTree } from '../git/adopt-tree.ts';
import { withinSize } from '../git/bound-size.ts';
import { type ClonePlan, cloneCommands, cloneEnvironment, planClone } from '../git/clone-plan.ts';
import { detachAt } from '../network/mount-state.ts';
import { failText, MissingProgramError } from '../programs/errors.ts';

export interface GitLimits {
  /** Limit of one file. */
  readonly fileBytes: number;
  /** Limit of the whole clone. */
  readonly totalBytes: number;
  /** Address space of one process. */
  readonly memoryBytes: number;
  readonly openFiles: number;
  /** Timeout of one command. */
  readonly timeoutMs: number;
}

export interface GitRepoOptions {
  /** Parent of the directory in which git sees the volume; world-searchable. */
  readonly workFolder: string;
  readonly limits: GitLimits;
}

const GIB = 2 ** 30;
const DEFAULTS: GitRepoOptions = {
  workFolder: '/run',
  limits: {
    fileBytes: 4 * GIB,
    totalBytes: 16 * GIB,
    memoryBytes: 8 * GIB,
    openFiles: 1024,
    timeoutMs: 600_000,
  },
};
const NOBODY = 65_534;
const WORK = 'nodeagent-git-';

/** git as user nobody, without a way to gain privileges, and with limits. */
function lockedDown(limits: GitLimits, command: readonly string[]): readonly string[] {
  return [
    `--fsize=${limits.fileBytes}`,
    `--as=${limits.memoryBytes}`,
    `--nofile=${limits.openFiles}`,
    '--core=0',
    '--',
    'setpriv',
    `--reuid=${NOBODY}`,
    `--regid=${NOBODY}`,
    '--clear-groups',
    '--inh-caps=-all',
    '--bounding-set=-all',
    '--no-new-privs',
    '--',
    'git',
    ...command,
  ];
}

async function runGit(
  { limits }: GitRepoOptions,
  plan: ClonePlan,
  root: string,
  { services, signal }: SourceRequest,
): Promise<void> {
  const env = cloneEnvironment(plan);
  for (const command of cloneCommands(plan, root)) {
    const args = lockedDown(limits, command);
    const result = await services.run('prlimit', args, { signal, timeoutMs: limits.timeoutMs, env });
    const missing = /failed to execute (setpriv|git)\b/.exec(result.stderr)?.[1];
    if (result.code === 127 && missing !== undefined) throw new MissingProgramError(missing);
    if (result.code !== 0) {
      const redacted = { ...result, stderr: result.stderr.replaceAll(root, '') };
      throw new VolumeSetupError(`failed to clone ${plan.url}: ${failText('git', redacted)}`);
    }
  }
}

/** Mounts the volume for git without programs, devices and set-user-ID. */
async function showAt(work: string, path: string, { mounter }: UndoServices): Promise<void> {
  await using held = await holdPath(work);
  await mounter.bind(held, path);
  const flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  await mounter.syscalls.mount({ source: 'none', target: path, flags });
}

async function hide(path: string, services: UndoServices): Promise<void> {
  await detachAt(services.mounter, path);
  for (const dir of [path, dirname(path)]) await unlessCode(['ENOENT'], () => rmdir(dir));
}

async function fill(
  options: GitRepoOptions,
  plan: ClonePlan,
  work: string,
  request: SourceRequest,
): Promise<void> {
  await tearDown(options.workFolder, (await request.remembered?.())?.['path'] ?? '', request.services);
  const own = await mkdtemp(join(options.workFolder, WORK));
  const path = join(own, 'volume');
  try {
    await request.remember({ path });
    await chmod(own, 0o711);
    await mkdir(path);
    await showAt(work, path, request.services);
    const { clock, run } = request.services;
    const bound = { clock, run, dir: work, totalBytes: options.limits.totalBytes };
    await withinSize(bound, (signal) => runGit(options, plan, path, { ...request, signal }), request.signal);
  } finally {
    await hide(path, request.services);
  }
}

async function exists(dir: string): Promise<boolean> {
  try {
    return (await lstat(dir)).isDirectory();
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return false;
    throw thrown;
  }
}

/** The root is like that of an emptyDir: containers run as any user. */
async function finish(work: string, request: SourceRequest): Promise<void> {
  const { syscalls } = request.services.mounter;
  const { fsGroup, signal } = request;
  await adoptTree(syscalls, work, signal);
  await chmod(work, 0o777);
  if (fsGroup === undefined) return;
  await setOwnership(syscalls, work, { gid: fsGroup, readOnly: false, onRootMismatch: false }, signal);
  await chmod(work, groupMode(0o777, true, false));
}

/** Leftovers of an earlier attempt are removed; an existing directory is complete. */
async function cloneOnce(
  options: GitRepoOptions,
  plan: ClonePlan,
  dir: string,
  request: SourceRequest,
): Promise<void> {
  const { syscalls } = request.services.mounter;
  const name = `.${basename(dir)}.new`;
  const work = join(dirname(dir), name);
  await mkdir(dirname(dir), { recursive: true, mode: 0o750 });
  await using parent = await holdDir(dirname(dir));
  await removeTree(syscalls, parent, name);
  await mkdir(work, 0o700);
  try {
    await chown(work, NOBODY, NOBODY);
    await fill(options, plan, work, request);
    await finish(work, request);
    await rename(work, dir);
  } catch (thrown) {
    await removeTree(syscalls, parent, name);
    throw thrown;
  }
}

async function setUp(
  options: GitRepoOptions,
  spec: GitRepoVolumeSource,
  request: SourceRequest,
): Promise<ReadyVolume> {
  const plan = planClone(spec);
  const dir = request.dir('git-repo');
  if (!(await exists(dir))) await cloneOnce(options, plan, dir, request);
  return { hostPath: dir, readOnly: false, seLinuxRelabel: true, changes: false };
}

/** Removes what a killed process left of the directory in which git saw the volume. */
async function tearDown(workFolder: string, path: string, services: UndoServices): Promise<void> {
  if (path.startsWith(join(workFolder, WORK))) await hide(path, services);
}

export function createGitRepo(options: GitRepoOptions = DEFAULTS): SourcePlugin {
  return defineSource(
    'gitRepo',
    {
      summary: 'A clone of a Git repository, created when the pod starts. Deprecated.',
      use: 'pod',
      programs: ['git', 'setpriv', 'prlimit'],
      notes: [
        'Repositories are reached over http, https, ssh and git; ssh uses the known hosts of the node and no keys.',
        'git runs as user nobody, without hooks, filters and submodules; symbolic links in the repository become files.',
        'A clone of more than 16 GiB, or with a file of more than 4 GiB, is rejected.',
        'A password in the URL is sent to its server and appears in no file of the volume.',
      ],
    },
    (spec, request) => setUp(options, spec, request),
    {
      tearDown: (record, _dir, services) =>
        tearDown(options.workFolder, record.state['path'] ?? '', services),
    },
  );
}

export const gitRepo: SourcePlugin = createGitRepo();
