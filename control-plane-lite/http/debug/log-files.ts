/** `/logs/`: log files of the machine. Follows no link: a program that can write below the directory must not expose
 *  other files. */
import { constants, type Dirent } from 'node:fs';
import { type FileHandle, open, readdir, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiRequest, ApiResponse, PathRoute } from '../contract.ts';

const ROOT = '/logs';
const CHUNK_BYTES = 64 * 1024;

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
const escapeUrl = (words: string): string => encodeURI(words).replaceAll('?', '%3F').replaceAll('#', '%23');

/** A page with a link to each entry. */
export function listing(entries: readonly Pick<Dirent, 'name' | 'isDirectory'>[]): string {
  const lines = entries
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .toSorted()
    .map((name) => `<a href="${escapeUrl(name)}">${escapeHtml(name)}</a>\n`);
  return `<pre>\n${lines.join('')}</pre>\n`;
}

/** Names below the directory, without `.` and `..`. @throws StatusError NotFound */
export function partsOf(path: string): readonly string[] {
  const parts = path
    .slice(ROOT.length)
    .split('/')
    .filter((part) => part !== '');
  if (parts.some((part) => part === '.' || part === '..' || part.includes('\0'))) throw notFound();
  return parts;
}

/** Opens a path that leads through no link. @throws StatusError NotFound */
async function openBelow(root: string, parts: readonly string[]): Promise<FileHandle> {
  const base = await realpath(root).catch((thrown: unknown) => {
    throw notFound(thrown);
  });
  const path = join(base, ...parts);
  // A pipe must not block the server.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (thrown: unknown) => {
      throw notFound(thrown);
    },
  );
  try {
    // The kernel's name of what was opened shows links on the way.
    if ((await readlink(`/proc/self/fd/${file.fd}`)) === path) return file;
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
  await file.close();
  throw notFound();
}

/** Writes the file up to its present size: one that grows might never end. */
function fileResponse(file: FileHandle, sizeBytes: number, signal: AbortSignal): ApiResponse {
  // The response of a client that has left never starts.
  const close = (): Promise<void> => file.close().catch(() => undefined);
  if (signal.aborted) void close();
  else signal.addEventListener('abort', () => void close(), { once: true });
  return {
    kind: 'stream',
    contentType: 'text/plain; charset=utf-8',
    start(sink) {
      const write = async (): Promise<void> => {
        try {
          for (let at = 0; at < sizeBytes && !signal.aborted; ) {
            const length = Math.min(CHUNK_BYTES, sizeBytes - at);
            const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, at);
            if (bytesRead === 0) break;
            at += bytesRead;
            sink.write(buffer.subarray(0, bytesRead));
            await sink.drained?.();
          }
        } finally {
          await close();
          sink.end();
        }
      };
      write().catch(() => sink.end());
      return () => void close();
    },
  };
}

/** @param root the directory that is served */
export function logFilesRoute(root: string): PathRoute {
  async function handler({ info, signal }: ApiRequest): Promise<ApiResponse> {
    const file = await openBelow(root, partsOf(info.path));
    const found = await file.stat();
    if (found.isFile()) return fileResponse(file, found.size, signal);
    try {
      if (!found.isDirectory()) throw notFound();
      const body = Buffer.from(listing(await readdir(`/proc/self/fd/${file.fd}`, { withFileTypes: true })));
      return { kind: 'bytes', status: 200, contentType: 'text/html; charset=utf-8', body };
    } finally {
      await file.close();
    }
  }
  return { path: ROOT, below: true, methods: ['GET'], handler };
}
