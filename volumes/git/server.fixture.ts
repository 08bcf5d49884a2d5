/** Repositories for tests, built from raw objects so that they may contain what git itself refuses to
 *  create, and a server that serves their files over http. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, normalize } from 'node:path';

export interface TreeEntry {
  /** Mode of a tree entry: `100644`, `120000` for a link, `160000` for a submodule. */
  readonly mode: string;
  readonly name: string;
  /** Text, entries of a directory, or the commit of a submodule. */
  readonly content: string | readonly TreeEntry[];
}

export const file = (name: string, content: string, mode = '100644'): TreeEntry => ({ mode, name, content });
export const link = (name: string, content: string): TreeEntry => ({ mode: '120000', name, content });
export const folder = (name: string, content: readonly TreeEntry[]): TreeEntry => ({
  mode: '40000',
  name,
  content,
});

function git(dir: string, args: readonly string[], input: string | Buffer = ''): string {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: '/nonexistent',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
  };
  const { status, stdout, stderr } = spawnSync('git', ['-C', dir, ...args], { input, env });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr.toString()}`);
  return stdout.toString().trim();
}

function writeTree(dir: string, entries: readonly TreeEntry[]): string {
  const parts = entries.map(({ mode, name, content }) => {
    const id =
      typeof content !== 'string'
        ? writeTree(dir, content)
        : mode === '160000'
          ? content
          : git(dir, ['hash-object', '-w', '--stdin'], content);
    return Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]);
  });
  const tree = Buffer.concat(parts);
  return git(dir, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], tree);
}

export interface TestRepository {
  /** Adds a commit to the branch, and returns its name. */
  commit(entries: readonly TreeEntry[], branch?: string): string;
}

/** Creates a bare repository with these files on branch main. */
export function createRepository(dir: string, entries: readonly TreeEntry[]): TestRepository {
  mkdirSync(dir, { recursive: true });
  git(dir, ['init', '--quiet', '--bare', '--initial-branch=main']);
  const commit = (tree: readonly TreeEntry[], branch = 'main'): string => {
    const id = git(dir, ['commit-tree', '-m', 'x', writeTree(dir, tree)]);
    git(dir, ['update-ref', `refs/heads/${branch}`, id]);
    git(dir, ['update-server-info']);
    return id;
  };
  commit(entries);
  rmSync(join(dir, 'hooks'), { recursive: true, force: true });
  return { commit };
}

export interface GitServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Received values of the header `Authorization`. */
  readonly logins: readonly string[];
}

/** Serves the files beneath the directory. */
export async function startGitServer(root: string): Promise<GitServer> {
  const logins: string[] = [];
  const server = createServer((request, response) => {
    const { authorization, host } = request.headers;
    if (authorization !== undefined) logins.push(authorization);
    const path = normalize(new URL(request.url ?? '/', `http://${host}`).pathname);
    readFile(join(root, path)).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    logins,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
