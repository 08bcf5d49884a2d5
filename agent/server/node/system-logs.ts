/** `/logs/`: log files of the node. Follows links only within the directory: a pod that can write there must
 *  not expose other files of the node. */
import { constants, type Dirent } from 'node:fs';
import { open, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { asError } from '#api/kit/errno.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { LogFileError, openRegularFile } from '../../logs/open-log.ts';
import type { NodeEndpoint, NodeResponse } from './endpoint.ts';

const notFound = (cause?: unknown): StatusError =>
  new StatusError('NotFound', '404 page not found', { cause });

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
};
const escapeHtml = (words: string): string => words.replaceAll(/[&<>"']/g, (found) => ESCAPES[found] ?? '');

/** A page with a link to each entry. */
export function listing(entries: readonly Pick<Dirent, 'name' | 'isDirectory'>[]): string {
  const lines = entries
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .toSorted()
    .map(
      (name) =>
        `<a href="${encodeURI(name).replaceAll('?', '%3F').replaceAll('#', '%23')}">${escapeHtml(name)}</a>\n`,
    );
  return `<pre>\n${lines.join('')}</pre>\n`;
}

/** @throws StatusError NotFound for a missing path, or one outside of the directory */
async function realPathBelow(root: string, parts: readonly string[]): Promise<string> {
  try {
    const [realRoot, real] = await Promise.all([realpath(root), realpath(join(root, ...parts))]);
    if (real === realRoot || real.startsWith(realRoot + sep)) return real;
  } catch (thrown) {
    throw notFound(thrown);
  }
  throw notFound();
}

async function list(path: string, root: string): Promise<string> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const held = `/proc/self/fd/${directory.fd}`;
    const [actual, realRoot] = await Promise.all([readlink(held), realpath(root)]);
    if (actual !== realRoot && !actual.startsWith(realRoot + sep)) throw notFound();
    return listing(await readdir(held, { withFileTypes: true }));
  } finally {
    await directory.close();
  }
}

async function* bytesOf(path: string, root: string): AsyncGenerator<Uint8Array> {
  const opened = await openRegularFile(path, root);
  const { sizeBytes } = opened;
  // Stop at the current size: a file that grows while it is read might never end.
  if (sizeBytes > 0) yield* opened.file.createReadStream({ end: sizeBytes - 1 }) as AsyncIterable<Buffer>;
  else await opened.file.close();
}

async function fileResponse(path: string, root: string): Promise<NodeResponse> {
  const chunks = bytesOf(path, root);
  try {
    // Read before the response begins, so that an unreadable file is an error.
    const first = await chunks.next();
    return { kind: 'stream', chunks: joined(first, chunks), contentType: 'text/plain; charset=utf-8' };
  } catch (thrown) {
    if (thrown instanceof LogFileError) throw notFound(thrown);
    throw thrown;
  }
}

async function* joined(
  first: IteratorResult<Uint8Array>,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (first.done === true) return;
  yield first.value;
  yield* rest;
}

export function systemLogsEndpoint(root: string): NodeEndpoint {
  return {
    name: 'logs',
    methods: ['GET'],
    async handle({ rest }) {
      const path = await realPathBelow(root, rest);
      const found = await stat(path).catch((thrown: unknown) => {
        throw notFound(asError(thrown));
      });
      if (!found.isDirectory()) return fileResponse(path, root);
      return { kind: 'text', text: await list(path, root), contentType: 'text/html; charset=utf-8' };
    },
  };
}
