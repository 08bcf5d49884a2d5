/** Explains in a sentence why the server failed to start. Pure. */
import { errorCode } from '#api/kit/errno.ts';
import { describeError } from '#api/kit/error-chain.ts';
import type { ServerConfig } from '../config/settings.ts';

type Where = Pick<ServerConfig, 'bindAddress' | 'securePort' | 'dataDir'>;

const isListening = (error: Error): boolean => 'syscall' in error && error.syscall === 'listen';

/** Names the flag to change if the failure identifies it. */
export function startError(error: Error, { bindAddress, securePort, dataDir }: Where): string {
  const code = errorCode(error) ?? '';
  if (isListening(error) || code === 'EADDRINUSE') return listenError(code, bindAddress, securePort);
  switch (code) {
    case 'EEXIST':
    case 'ENOTDIR':
      return `--data-dir: ${dataDir} is not a directory`;
    case 'EACCES':
    case 'EPERM':
      return `--data-dir: ${dataDir} is not writable: ${error.message}`;
    case 'EROFS':
      return `--data-dir: ${dataDir} is on a read-only file system`;
    default:
      return describeError(error);
  }
}

function listenError(code: string, address: string, port: number): string {
  const place = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return `--secure-port: another program listens on ${place}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `--bind-address: ${address} is not an address of this machine`;
    case 'EACCES':
      return `--secure-port: not permitted to listen on ${place}; ports below 1024 require root`;
    default:
      return `cannot listen on ${place}: ${code}`;
  }
}
