/** OCI image of control-plane-lite: the program and the libraries of its Node, without a shell. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { buildImageArchive } from '#agent/runtime/managed/image-archive.ts';
import type { TarEntry } from '#agent/runtime/managed/tar.ts';
import { withFolders } from './deb.ts';
import type { Release } from './release.ts';
import { fileEntry, under } from './tree.ts';

const run = promisify(execFile);
const USER = 65_532;
const FOLDER = 'usr/lib/control-plane-lite';
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';

/** Returns the paths of the libraries of a program on this machine. */
async function librariesOf(program: string): Promise<readonly string[]> {
  const { stdout } = await run('ldd', [program]);
  return Array.from(stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g), ([, path = '']) => path).toSorted();
}

/** Bytes of the image as an OCI archive. @param node the binary of this machine */
export async function serverImage(
  tree: readonly TarEntry[],
  node: string,
  { version, commit }: Release,
): Promise<Buffer> {
  const libraries = await Promise.all(
    (await librariesOf(node)).map(async (path) => fileEntry(path.slice(1), await readFile(path), 0o755)),
  );
  const data: TarEntry = { kind: 'directory', path: 'var/lib/control-plane-lite', mode: 0o700, uid: USER };
  const entries = withFolders([
    ...under(FOLDER, tree),
    ...libraries,
    fileEntry('etc/passwd', `root:x:0:0:root:/:/nologin\nserver:x:${USER}:${USER}:server:/:/nologin\n`),
    fileEntry('etc/group', `root:x:0:\nserver:x:${USER}:\n`),
    fileEntry(AUTHORITIES.slice(1), await readFile(AUTHORITIES).catch(() => Buffer.alloc(0))),
    { kind: 'directory', path: 'tmp', mode: 0o1777 },
    data,
  ]);
  return buildImageArchive({
    name: `docker.io/local/control-plane-lite:${version.replaceAll('+', '-')}`,
    entries,
    entrypoint: [
      `/${FOLDER}/bin/node`,
      '--max-semi-space-size=16',
      '--heap-growing-percent=80',
      '--invocation-count-for-maglev=100',
      '--invocation-count-for-turbofan=300',
      `/${FOLDER}/dist/control-plane-lite.js`,
    ],
    command: ['--data-dir=/var/lib/control-plane-lite', '--vocabulary=kubernetes'],
    env: ['MALLOC_ARENA_MAX=2'],
    user: `${USER}:${USER}`,
    workingDir: '/',
    labels: {
      'org.opencontainers.image.title': 'control-plane-lite',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': commit,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
  }).tar;
}
