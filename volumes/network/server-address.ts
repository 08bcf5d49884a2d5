/** Server names and addresses as arguments of helper programs. Pure. */
import { isIPv4, isIPv6 } from 'node:net';
import { VolumeSetupError } from '../errors/setup-error.ts';

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9.])?$/;
/** Interface of a link-local address. */
const ZONE = /%[A-Za-z0-9._-]{1,15}$/;

/** Returns the server in the form before a colon: an IPv6 address in brackets.
 *  @throws VolumeSetupError for anything but a host name or an address */
export function formatServer(field: string, server: string): string {
  const bare = server.startsWith('[') && server.endsWith(']') ? server.slice(1, -1) : server;
  if (isIPv4(bare) || NAME.test(server)) return server;
  if (isIPv6(bare.replace(ZONE, ''))) return `[${bare}]`;
  throw new VolumeSetupError(`${field} ${JSON.stringify(server)} must be a host name or an IP address`);
}

/** Like `formatServer`, with an optional port, such as `10.0.0.1:6789` or `[fd00::1]:6789`.
 *  @throws VolumeSetupError */
export function formatServerWithPort(field: string, text: string): string {
  const [, server, port] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  if (server === undefined || port === undefined || isIPv6(text)) return formatServer(field, text);
  if (Number(port) < 1 || Number(port) > 65_535) {
    throw new VolumeSetupError(`${field} ${JSON.stringify(text)} must have a port between 1 and 65535`);
  }
  return `${formatServer(field, server)}:${port}`;
}

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Checks a path on a server. @throws VolumeSetupError when it is relative or contains ".." */
export function checkServerPath(field: string, path: string): string {
  if (path.startsWith('/') && !path.split('/').includes('..') && !CONTROL.test(path)) return path;
  throw new VolumeSetupError(`${field} ${JSON.stringify(path)} must be an absolute path without ".."`);
}
