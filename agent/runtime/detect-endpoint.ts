/** Detection of the runtime endpoint when none is configured: the first existing well-known socket. */
import { stat } from 'node:fs/promises';

/** In order of preference. */
const WELL_KNOWN_SOCKETS: readonly string[] = ['/run/containerd/containerd.sock', '/run/crio/crio.sock'];

/** No runtime is configured and none was found. */
export class NoRuntimeError extends Error {
  constructor() {
    super(
      `no container runtime was found at ${WELL_KNOWN_SOCKETS.join(' or ')}; ` +
        'install one, or name its socket with --container-runtime-endpoint=unix:///path',
    );
    this.name = 'NoRuntimeError';
  }
}

/** @throws NoRuntimeError */
export async function detectEndpoint(
  configured: string,
  isSocket: (path: string) => Promise<boolean> = isSocketFile,
): Promise<string> {
  if (configured !== '') return configured;
  for (const path of WELL_KNOWN_SOCKETS) {
    if (await isSocket(path)) return `unix://${path}`;
  }
  throw new NoRuntimeError();
}

async function isSocketFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isSocket() === true;
}
