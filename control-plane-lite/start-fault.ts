/** Why the server did not start, as a sentence for whoever started it. Pure. */
import { describeError } from '#api/kit/error-chain.ts';
import type { ServerConfig } from './config/settings.ts';

type Where = Pick<ServerConfig, 'bindAddress' | 'securePort' | 'dataDir'>;

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? error.code : '';
const isListening = (error: Error): boolean => 'syscall' in error && error.syscall === 'listen';

/** Names the flag that is to be changed where the failure tells. */
export function startFault(error: Error, { bindAddress, securePort, dataDir }: Where): string {
  const code = codeOf(error);
  if (isListening(error) || code === 'EADDRINUSE') return listenFault(code, bindAddress, securePort);
  switch (code) {
    case 'EEXIST':
    case 'ENOTDIR':
      return `--data-dir: ${dataDir} is no folder`;
    case 'EACCES':
    case 'EPERM':
      return `--data-dir: ${dataDir} may not be written: ${error.message}`;
    case 'EROFS':
      return `--data-dir: ${dataDir} is on a read-only file system`;
    default:
      return describeError(error);
  }
}

function listenFault(code: string, address: string, port: number): string {
  const place = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return `--secure-port: another program listens on ${place}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `--bind-address: ${address} is no address of this machine`;
    case 'EACCES':
      return `--secure-port: listening on ${place} is not allowed; ports below 1024 need root`;
    default:
      return `${place} cannot be listened on: ${code}`;
  }
}
