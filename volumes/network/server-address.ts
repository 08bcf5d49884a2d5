/** Names and addresses of servers as they become part of what helper programs are told. Pure. */
import { isIPv4, isIPv6 } from 'node:net';
import { VolumeSetupError } from '../setup-error.ts';

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9.])?$/;
/** Interface of a link-local address. */
const ZONE = /%[A-Za-z0-9._-]{1,15}$/;

/** The server as it stands before a colon: an IPv6 address in brackets.
 *  @throws VolumeSetupError for anything but a host name or an address */
export function formatServer(field: string, server: string): string {
  const bare = server.startsWith('[') && server.endsWith(']') ? server.slice(1, -1) : server;
  if (isIPv4(bare) || NAME.test(server)) return server;
  if (isIPv6(bare.replace(ZONE, ''))) return `[${bare}]`;
  throw new VolumeSetupError(`${field} ${JSON.stringify(server)} must be a host name or an IP address`);
}

/** The same with an optional port behind it, as in `10.0.0.1:6789` or `[fd00::1]:6789`.
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

/** A path on a server. @throws VolumeSetupError when it is not absolute or goes up */
export function checkServerPath(field: string, path: string): string {
  if (path.startsWith('/') && !path.split('/').includes('..') && !CONTROL.test(path)) return path;
  throw new VolumeSetupError(`${field} ${JSON.stringify(path)} must be an absolute path without ".."`);
}
