/** Image commands, archives and registry settings, on a private containerd. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { TestAgent } from '../../testing/agent.ts';
import { CLI, type Ended, runCli } from '../../testing/cli.ts';
import { startTestContainerd, type TestContainerd } from '../../testing/containerd.ts';
import { startRegistry } from '../../testing/registry.ts';
import { createTempDir } from '../../testing/temp.ts';
import { importArchives } from '../runtime/managed/archives.ts';
import { buildImageArchive, type ImageArchive } from '../runtime/managed/image-archive.ts';
import { pinnedNames } from '../runtime/managed/pinned-images.ts';

let containerd: TestContainerd;
let agent: TestAgent;
const run = (args: readonly string[], input: string | Uint8Array = ''): Promise<Ended> =>
  runCli(agent, args, input);

const archiveOf = (name: string): ImageArchive =>
  buildImageArchive({
    name,
    entries: [{ kind: 'file', path: 'name', mode: 0o644, content: Buffer.from(name) }],
    entrypoint: ['/none'],
  });

beforeAll(async () => {
  containerd = await startTestContainerd({ registries: true });
  agent = await TestAgent.create({ endpoint: containerd.endpoint, program: [CLI, 'run'] });
});
afterAll(async () => {
  await agent[Symbol.asyncDispose]();
  await containerd[Symbol.asyncDispose]();
});

describe('image commands', () => {
  test('load, list, save, remove and prune', async () => {
    const { tar } = archiveOf('docker.io/test/one:1');
    expect(await run(['load', '-'], tar)).toEqual({ code: 0, out: 'docker.io/test/one:1 loaded\n', err: '' });
    await writeFile(join(agent.folder, 'two.tar'), archiveOf('docker.io/test/two:1').tar);
    expect((await run(['load', 'two.tar'])).out).toBe('docker.io/test/two:1 loaded\n');
    expect((await run(['images'])).out).toMatch(/^docker\.io\/test\/one:1 +[0-9a-f]{13} +\S+$/m);
    expect((await run(['save', 'test/one:1', '-o', 'one.tar'])).code).toBe(0);
    expect(await run(['rmi', 'test/one:1', 'test/none:1'])).toEqual({
      code: 1,
      out: 'test/one:1 removed\n',
      err: 'test/none:1: not found\n',
    });
    expect((await run(['load', 'one.tar'])).out).toBe('docker.io/test/one:1 loaded\n');
    const dry = await run(['prune', '--dry-run']);
    expect(dry.out).toMatch(/^docker\.io\/test\/two:1 would be removed$/m);
    expect(dry.out).not.toMatch(/pause/);
    expect((await run(['prune'])).out).toMatch(/images, /);
    const left = (await run(['images', '-o', 'jsonpath={.images[*].repoTags[*]}'])).out;
    expect(left).toContain('local/pause:1');
    expect(left).not.toContain('test/');
  });

  test('report a damaged archive and an unusable runtime', async () => {
    const damaged = await run(['load', '-'], 'no archive');
    expect(damaged.code).toBe(1);
    expect(damaged.err).toMatch(/^nodeagent: /);
    expect((await run(['images', '--endpoint', `unix://${join(agent.folder, 'none')}`])).err).toMatch(
      /the runtime does not respond on unix:/,
    );
  });
});

describe('archives of a directory', () => {
  test('are imported once, again after a removal, and retained by image collection', async () => {
    await using dir = await createTempDir();
    const folder = join(dir.path, 'images');
    const options = {
      folder,
      recordPath: join(agent.root, 'pinned-images.json'),
      socketPath: containerd.socketPath,
      log: silentLogger,
    };
    expect(await importArchives(options)).toEqual([]);
    await mkdir(folder);
    await writeFile(join(folder, 'kept.tar'), archiveOf('docker.io/test/kept:1').tar);
    await writeFile(join(folder, 'damaged.tar'), 'no archive');
    expect(await importArchives(options)).toEqual(['docker.io/test/kept:1']);
    expect(await pinnedNames(options.recordPath)).toEqual(['docker.io/test/kept:1']);
    const record = await readFile(options.recordPath, 'utf8');
    expect(await importArchives(options)).toEqual(['docker.io/test/kept:1']);
    expect(await readFile(options.recordPath, 'utf8')).toBe(record);
    expect((await run(['prune'])).out).not.toMatch(/kept/);
    await run(['rmi', 'test/kept:1']);
    await importArchives(options);
    expect((await run(['images'])).out).toMatch(/test\/kept:1/);
    await rm(join(folder, 'kept.tar'));
    expect(await importArchives(options)).toEqual([]);
    expect((await run(['prune'])).out).toMatch(/test\/kept:1 removed/);
  });
});

describe('registry settings', () => {
  const from = new Date(Date.now() - 3_600_000);
  const until = new Date(Date.now() + 24 * 3_600_000);
  const authority = createAuthority({ commonName: 'test registries' }, from, until);
  const tls = issueIdentity(authority, {
    subject: { commonName: 'registry' },
    extendedUsages: ['serverAuth'],
    ipAddresses: ['127.0.0.1'],
    notBefore: from,
    notAfter: until,
  });

  async function configure(registry: string, lines: readonly string[]): Promise<void> {
    const folder = join(containerd.folder, 'certs.d', registry);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'ca.crt'), authority.certificate);
    await writeFile(join(folder, 'hosts.toml'), `${lines.join('\n')}\n`);
  }

  test('a registry over TLS needs its CA and the credentials of the agent', async () => {
    const image = archiveOf('docker.io/test/any:1');
    await using registry = await startRegistry(image, { tls, login: 'robot:hunter2' });
    const name = `${registry.name}/test/secured:1`;
    expect((await run(['pull', name])).code).toBe(1);
    await configure(registry.name, [
      `server = "https://${registry.name}"`,
      `[host."https://${registry.name}"]`,
      '  ca = "ca.crt"',
    ]);
    const anonymous = await run(['pull', name]);
    expect(anonymous.code).toBe(1);
    expect(anonymous.err).toMatch(/401|authorization|no basic auth/i);
    const auth = Buffer.from('robot:hunter2').toString('base64');
    await writeFile(
      join(agent.root, 'config.json'),
      JSON.stringify({ auths: { [registry.name]: { auth } } }),
    );
    expect(await run(['pull', name])).toMatchObject({ code: 0, err: '' });
    expect((await run(['images'])).out).toContain(name);
  });

  test('a mirror serves the images of another registry', async () => {
    await using registry = await startRegistry(archiveOf('docker.io/test/any:1'), { tls });
    await configure('registry.invalid', [
      'server = "https://registry.invalid"',
      `[host."https://${registry.name}"]`,
      '  capabilities = ["pull", "resolve"]',
      '  ca = "ca.crt"',
    ]);
    expect((await run(['pull', 'registry.invalid/test/mirrored:1'])).code).toBe(0);
  });

  test('an insecure registry needs no CA', async () => {
    await using registry = await startRegistry(archiveOf('docker.io/test/any:1'), { tls });
    await configure(registry.name, [`[host."https://${registry.name}"]`, '  skip_verify = true']);
    expect((await run(['pull', `${registry.name}/test/insecure:1`])).code).toBe(0);
  });
});
