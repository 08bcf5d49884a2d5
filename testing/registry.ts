/** An image registry on the loopback interface that serves one image under every name and tag.
 *  Source: OCI distribution specification, pulls. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
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

export async function startRegistry(image: ImageArchive): Promise<TestRegistry> {
  const folder = await createTempDir();
  const archive = join(folder.path, 'image.tar');
  await writeFile(archive, image.tar);
  await promisify(execFile)('tar', ['-xf', archive, '-C', folder.path]);
  const handle = async ({ url = '', method }: IncomingMessage, response: ServerResponse): Promise<void> => {
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
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
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
