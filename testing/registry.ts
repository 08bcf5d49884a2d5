/** An image registry on the loopback interface that serves one image under every name and tag.
 *  Source: OCI distribution specification, pulls. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ImageArchive } from '#agent/runtime/managed/image-archive.ts';
import { createTempDir } from './temp.ts';

export interface TestRegistry extends AsyncDisposable {
  /** `host:port`, the first component of image names. */
  readonly name: string;
}

const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';

export interface TestRegistryOptions {
  /** Serves HTTPS with this certificate; HTTP by default. */
  readonly tls?: { readonly certificate: string; readonly key: string };
  /** `user:password` that every request needs. */
  readonly login?: string;
}

export async function startRegistry(
  image: ImageArchive,
  { tls, login }: TestRegistryOptions = {},
): Promise<TestRegistry> {
  const folder = await createTempDir();
  const archive = join(folder.path, 'image.tar');
  await writeFile(archive, image.tar);
  await promisify(execFile)('tar', ['-xf', archive, '-C', folder.path]);
  const expected = login === undefined ? undefined : `Basic ${Buffer.from(login).toString('base64')}`;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Requests to a mirror name the registry in the query.
    const [url = ''] = (request.url ?? '').split('?', 1);
    const { method, headers: given } = request;
    if (expected !== undefined && given.authorization !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
      return;
    }
    const [, kind, reference = ''] = /^\/v2\/.+\/(manifests|blobs)\/([\w.:-]+)$/.exec(url) ?? [];
    const digest = reference.startsWith('sha256:') ? reference : image.manifestDigest;
    const path = join(folder.path, 'blobs/sha256', digest.slice('sha256:'.length));
    const bytes = kind === undefined ? undefined : await readFile(path).catch(() => undefined);
    if (bytes === undefined) {
      response.writeHead(url === '/v2/' ? 200 : 404).end();
      return;
    }
    const type = kind === 'manifests' ? MANIFEST_TYPE : 'application/octet-stream';
    const headers = { 'content-type': type, 'content-length': bytes.length, 'docker-content-digest': digest };
    response.writeHead(200, headers).end(method === 'HEAD' ? undefined : bytes);
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void =>
    void handle(request, response);
  const server =
    tls === undefined
      ? createServer(listener)
      : createSecureServer({ cert: tls.certificate, key: tls.key }, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    name: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}
