import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import {
  chmod,
  chown,
  link as hardLink,
  lstat,
  mkdir,
  readdir,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GitRepoVolumeSource } from '#api/gen/core-v1.ts';
import type { ReadyVolume, SourceRequest } from '../contract/source.ts';
import { createMounter } from '../mount/mounter.ts';
import { mountsBeneath } from '../mount/mountinfo.ts';
import { createTestRequest, type TestRequest } from '../network/request.fixture.ts';
import { createRunProgram } from '../programs/run-program.ts';
import { createGitRepo, type GitLimits } from '../sources/git-repo.ts';
import { adoptTree } from './adopt-tree.ts';
import {
  createRepository,
  file,
  folder,
  type GitServer,
  link,
  startGitServer,
  type TestRepository,
} from './server.fixture.ts';

const LIMITS: GitLimits = {
  fileBytes: 2 ** 24,
  totalBytes: 2 ** 28,
  memoryBytes: 2 ** 32,
  openFiles: 256,
  timeoutMs: 20_000,
};
const mounter = createMounter();

interface World extends TestRequest {
  clone(spec: Partial<GitRepoVolumeSource>, more?: Partial<SourceRequest>): Promise<ReadyVolume>;
  /** Files of the volume, without git's own directory. */
  files(): readonly string[];
}

let server: GitServer;
let repositories: TestRequest;
let app: TestRepository;

beforeAll(async () => {
  repositories = await createTestRequest();
  app = createRepository(join(repositories.base, 'app.git'), [
    file('a.txt', 'one'),
    file('run.sh', '#!', '100755'),
  ]);
  server = await startGitServer(repositories.base);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await repositories[Symbol.asyncDispose]();
});

/** @param programs a directory with programs that precede those of the system */
async function createWorld(limits: GitLimits = LIMITS, programs: readonly string[] = []): Promise<World> {
  const requested = await createTestRequest();
  await chmod(requested.base, 0o711);
  const plugin = createGitRepo({ workFolder: requested.base, limits });
  const services = { ...requested.request.services, mounter, run: createRunProgram({ folders: programs }) };
  const dir = join(requested.base, 'git-repo', 'data');
  return {
    ...requested,
    clone: (spec, more = {}) =>
      requested.setUp(
        plugin,
        { gitRepo: { repository: `${server.url}/app.git`, ...spec } },
        { services, ...more },
      ),
    files: () =>
      readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter(
        (name) => !/(^|\/)\.git(\/|$)/.test(name),
      ),
  };
}

const read = (ready: ReadyVolume, name: string): string => readFileSync(join(ready.hostPath, name), 'utf8');

/** Checks that nothing of the attempt remains. */
async function expectNothing(world: World): Promise<void> {
  expect(mountsBeneath(await mounter.list(), world.base)).toEqual([]);
  expect(await readdir(world.base)).toEqual(['git-repo']);
  expect(await readdir(join(world.base, 'git-repo'))).toEqual([]);
}

describe('gitRepo', () => {
  it('is a clone owned by root, in a world-writable directory', async () => {
    await using world = await createWorld();
    const ready = await world.clone({});
    expect(world.files().toSorted()).toEqual(['app', 'app/a.txt', 'app/run.sh']);
    expect(read(ready, 'app/a.txt')).toBe('one');
    const modes = ['', 'app', 'app/a.txt', 'app/run.sh', 'app/.git/config'].map((name) => {
      const { mode, uid, gid } = statSync(join(ready.hostPath, name));
      return [(mode & 0o7777).toString(8), uid, gid];
    });
    expect(modes).toEqual([
      ['777', 0, 0],
      ['755', 0, 0],
      ['644', 0, 0],
      ['755', 0, 0],
      ['644', 0, 0],
    ]);
    expect(await readdir(world.base)).toEqual(['git-repo']);
    expect(mountsBeneath(await mounter.list(), world.base)).toEqual([]);
  });

  it('is created once', async () => {
    await using world = await createWorld();
    const ready = await world.clone({});
    await writeFile(join(ready.hostPath, 'app', 'a.txt'), 'of the pod');
    await world.clone({});
    expect(read(ready, 'app/a.txt')).toBe('of the pod');
  });

  it('is the volume itself, or the requested directory', async () => {
    await using world = await createWorld();
    const ready = await world.clone({ directory: '.' });
    expect(read(ready, 'a.txt')).toBe('one');
    await using other = await createWorld();
    expect(read(await other.clone({ directory: 'src/x' }), 'src/x/a.txt')).toBe('one');
  });

  it('has the requested revision: a commit, or a branch', async () => {
    const old = app.commit([file('a.txt', 'old')], 'old');
    app.commit([file('a.txt', 'newer')], 'old');
    app.commit([file('a.txt', 'side')], 'side');
    await using world = await createWorld();
    expect(read(await world.clone({ revision: 'side' }), 'app/a.txt')).toBe('side');
    await using other = await createWorld();
    await expect(other.clone({ revision: old })).rejects.toThrow('failed to clone');
    await using third = await createWorld();
    expect(read(await third.clone({ revision: 'origin/old', directory: '.' }), 'a.txt')).toBe('newer');
  });

  it('belongs to the group of the pod', async () => {
    await using world = await createWorld();
    const ready = await world.clone({}, { fsGroup: 4321 });
    const of = (name: string): unknown => {
      const { mode, gid } = statSync(join(ready.hostPath, name));
      return [(mode & 0o7777).toString(8), gid];
    };
    expect([of(''), of('app'), of('app/a.txt')]).toEqual([
      ['2777', 4321],
      ['2775', 4321],
      ['664', 4321],
    ]);
  });

  it('sends credentials to its server, and stores them nowhere', async () => {
    await using world = await createWorld();
    const url = new URL(`${server.url}/app.git`);
    url.username = 'bob';
    url.password = 'sesame';
    const ready = await world.clone({ repository: url.href });
    expect(server.logins).toContain(`Basic ${Buffer.from('bob:sesame').toString('base64')}`);
    const found = spawnSync('grep', ['-rlE', 'sesame|Basic', ready.hostPath]).stdout.toString();
    expect(found).toBe('');
  });

  it('removes a failed clone', async () => {
    await using world = await createWorld();
    await expect(world.clone({ repository: `${server.url}/none.git` })).rejects.toThrow(
      /none.git.* not found/,
    );
    await expectNothing(world);
  });

  it('removes an aborted clone', async () => {
    const stop = new AbortController();
    await using world = await createWorld();
    const cloning = world.clone({}, { signal: stop.signal });
    stop.abort(new Error('the pod is gone'));
    await expect(cloning).rejects.toThrow('the pod is gone');
    await expectNothing(world);
  });

  it('removes leftovers of a killed agent', async () => {
    await using world = await createWorld();
    const own = join(world.base, 'nodeagent-git-old');
    const path = join(own, 'volume');
    mkdirSync(path, { recursive: true });
    mkdirSync(join(world.base, 'git-repo', '.data.new', 'half'), { recursive: true });
    await mounter.ensureTmpfs(path, { mode: 0o700 });
    const ready = await world.clone({}, { remembered: async () => ({ path }) });
    expect(read(ready, 'app/a.txt')).toBe('one');
    expect(await readdir(world.base)).toEqual(['git-repo']);
    expect(mountsBeneath(await mounter.list(), world.base)).toEqual([]);
  });
});

describe('a hostile repository', () => {
  const serve = (
    name: string,
    ...args: Parameters<typeof createRepository> extends [string, ...infer R] ? R : never
  ): string => {
    createRepository(join(repositories.base, name), ...args);
    return `${server.url}/${name}`;
  };

  it('has files instead of links', async () => {
    const repository = serve('links', [link('out', '/etc/passwd'), link('up', '../../../..')]);
    await using world = await createWorld();
    const ready = await world.clone({ repository });
    expect(lstatSync(join(ready.hostPath, 'links/out')).isFile()).toBe(true);
    expect(read(ready, 'links/out')).toBe('/etc/passwd');
    expect(lstatSync(join(ready.hostPath, 'links/up')).isFile()).toBe(true);
  });

  it('reaches no file through its links', async () => {
    const repository = serve('through', [link('d', '/tmp'), folder('d', [file('escaped', 'x')])]);
    await using world = await createWorld();
    await world.clone({ repository }).catch(() => undefined);
    expect(existsSync('/tmp/escaped')).toBe(false);
  });

  it.each(['.git', '.GIT', 'git~1', '.g\u200cit'])(
    'has no directory that git treats as its own: %j',
    async (name) => {
      const hooks = folder('hooks', [file('post-checkout', '#!/bin/sh\ntouch /tmp/na-hooked', '100755')]);
      const config = file('config', '[core]\n\tfsmonitor = touch /tmp/na-hooked\n');
      const repository = serve('dotgit', [file('a', 'x'), folder(name, [config, hooks])]);
      await using world = await createWorld();
      await expect(world.clone({ repository })).rejects.toThrow('failed to clone');
      expect(existsSync('/tmp/na-hooked')).toBe(false);
      await expectNothing(world);
    },
  );

  it('has no submodules', async () => {
    const modules = file(
      '.gitmodules',
      `[submodule "s"]\n\tpath = s\n\turl = ${repositories.base}/app.git\n\tupdate = !touch /tmp/na-hooked\n`,
    );
    const repository = serve('modules', [modules, { mode: '160000', name: 's', content: 'a'.repeat(40) }]);
    await using world = await createWorld();
    const ready = await world.clone({ repository });
    expect(readdirSync(join(ready.hostPath, 'modules/s'))).toEqual([]);
    expect(existsSync('/tmp/na-hooked')).toBe(false);
  });

  it('runs no filter, and has no set-user-ID file', async () => {
    const repository = serve('filters', [
      file('.gitattributes', '* filter=lfs diff=lfs merge=lfs\n'),
      file('big', 'version https://git-lfs.example.com/spec/v1\n'),
      file('suid', 'x', '104755'),
    ]);
    await using world = await createWorld();
    const ready = await world.clone({ repository });
    expect(read(ready, 'filters/big')).toContain('version');
    expect(statSync(join(ready.hostPath, 'filters/suid')).mode & 0o7000).toBe(0);
  });

  it('is rejected when its total size is too large', async () => {
    await using world = await createWorld({ ...LIMITS, totalBytes: 4096 });
    await expect(world.clone({})).rejects.toThrow('it exceeds the limit of 4096 bytes');
    await expectNothing(world);
  });

  it('is limited in the size of a file', async () => {
    const repository = serve('huge', [file('bomb', 'x'.repeat(2 ** 21))]);
    await using world = await createWorld({ ...LIMITS, fileBytes: 2 ** 20 });
    await expect(world.clone({ repository })).rejects.toThrow('failed to clone');
    await expectNothing(world);
  });

  it.each(['file:///tmp', '/tmp', 'ext::sh -c touch% /tmp/na-hooked'])('is not %s', async (repository) => {
    await using world = await createWorld();
    await expect(world.clone({ repository })).rejects.toThrow('gitRepo.repository');
    expect(existsSync('/tmp/na-hooked')).toBe(false);
  });
});

describe('a compromised git', () => {
  /** Attacks that must fail inside. The last argument is the directory of the clone. */
  const EVIL = `#!/bin/sh
for target; do :; done
mkdir -p "$target" && cd "$target" || exit 9
id -u > who; id -G > groups
sed -n 's/^CapEff:\\t//p;s/^CapBnd:\\t//p;s/^NoNewPrivs:\\t//p' /proc/self/status > powers
cp /bin/true suid && chmod 6755 suid
ln -s /etc/shadow shadow; mkfifo pipe; echo x > first; ln first second
mkdir deep; chmod 0 deep
(mknod null c 1 3 || touch / || cat /etc/shadow || touch ../../x) 2>/dev/null && echo broken > broken
printf '#!/bin/sh\\necho ran > ran\\n' > prog; chmod 755 prog; ./prog 2>/dev/null
ulimit -c > cores; exit 0
`;

  it('has no privileges, and leaves plain files owned by root', async () => {
    await using programs = await createTestRequest();
    await chmod(programs.base, 0o755);
    await writeFile(join(programs.base, 'git'), EVIL, { mode: 0o755 });
    await using world = await createWorld(LIMITS, [programs.base]);
    const ready = await world.clone({});
    const inside = join(ready.hostPath, 'app');
    expect(readdirSync(inside).toSorted()).toEqual([
      'cores',
      'deep',
      'groups',
      'powers',
      'prog',
      'suid',
      'who',
    ]);
    expect([read(ready, 'app/who'), read(ready, 'app/groups'), read(ready, 'app/cores')]).toEqual([
      '65534\n',
      '65534\n',
      '0\n',
    ]);
    expect(read(ready, 'app/powers')).toBe('0000000000000000\n0000000000000000\n1\n');
    for (const name of readdirSync(inside)) {
      const { uid, gid, mode } = lstatSync(join(inside, name));
      expect([name, uid, gid, mode & 0o7022]).toEqual([name, 0, 0, 0]);
    }
  });

  it('reports the missing program', async () => {
    await using world = await createWorld();
    const run: SourceRequest['services']['run'] = async () => ({
      code: 127,
      stdout: '',
      stderr: 'setpriv: failed to execute git: No such file or directory\n',
    });
    const services = { ...world.request.services, mounter, run };
    await expect(world.clone({}, { services })).rejects.toThrow('install the Debian package git');
    await expectNothing(world);
  });
});

describe('adoptTree', () => {
  it('follows no link, and keeps only files and directories', async () => {
    await using test = await createTestRequest();
    const outside = join(test.base, 'outside');
    const tree = join(test.base, 'tree');
    await writeFile(outside, 'x', { mode: 0o600 });
    await chown(outside, 7, 7);
    await mkdir(join(tree, 'a', 'b'), { recursive: true });
    await writeFile(join(tree, 'a', 'b', 'f'), 'x');
    await chown(join(tree, 'a', 'b', 'f'), 65_534, 65_534);
    await chmod(join(tree, 'a', 'b', 'f'), 0o6777);
    await symlink(outside, join(tree, 'a', 'link'));
    await hardLink(outside, join(tree, 'a', 'hard'));
    await adoptTree(mounter.syscalls, tree, new AbortController().signal);
    const { uid, mode } = await stat(join(tree, 'a', 'b', 'f'));
    expect([uid, mode & 0o7777]).toEqual([0, 0o755]);
    expect(await readdir(join(tree, 'a'))).toEqual(['b']);
    const unchanged = await lstat(outside);
    expect([unchanged.uid, unchanged.mode & 0o7777, unchanged.nlink]).toEqual([7, 0o600, 1]);
  });

  it('enters no mount', async () => {
    await using test = await createTestRequest();
    const inside = join(test.base, 'tree', 'mnt');
    await mkdir(inside, { recursive: true });
    await mounter.ensureTmpfs(inside, { mode: 0o700 });
    try {
      const adopting = adoptTree(mounter.syscalls, join(test.base, 'tree'), new AbortController().signal);
      await expect(adopting).rejects.toThrow('EXDEV');
    } finally {
      await mounter.syscalls.unmount(inside, 0);
    }
  });
});
