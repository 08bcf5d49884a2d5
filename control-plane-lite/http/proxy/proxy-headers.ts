/** Selects the headers that a proxy forwards. Pure. Source: RFC 9110 §7.6.1. */

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
]);

/** Credentials for this server are never forwarded. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization']);
const IDENTITY_PREFIXES = ['impersonate-', 'x-remote-'];

function isCredential(name: string): boolean {
  return CREDENTIALS.has(name) || IDENTITY_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** Returns the names that the message itself declares to be hop-by-hop. */
function declaredHops(raw: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (raw[index]?.toLowerCase() !== 'connection') continue;
    for (const name of (raw[index + 1] ?? '').split(',')) names.add(name.trim().toLowerCase());
  }
  return names;
}

function select(raw: readonly string[], drops: (name: string) => boolean): string[] {
  const declared = declaredHops(raw);
  const selected: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    const lower = name.toLowerCase();
    if (name.startsWith(':') || HOP_BY_HOP.has(lower) || declared.has(lower) || drops(lower)) continue;
    selected.push(name, raw[index + 1] ?? '');
  }
  return selected;
}

export interface ForwardOptions {
  /** Host header of the target. */
  readonly host: string;
  /** Replace headers that the client sent under these names; a list becomes several headers. */
  readonly set: Readonly<Record<string, string | readonly string[]>>;
  readonly remoteAddress: string;
  /** The requested protocol of an upgrade. */
  readonly upgrade?: string;
  /** The client's subprotocols without its token. */
  readonly protocols?: readonly string[];
}

/** Returns the headers of the request to the target, as a flat list. */
export function requestHeaders(raw: readonly string[], options: ForwardOptions): string[] {
  const set = new Map(Object.entries(options.set).map(([name, value]) => [name.toLowerCase(), value]));
  const protocols = options.protocols ?? [];
  let forwarded = '';
  const headers = select(raw, (name) => {
    if (name === 'host' || name === 'x-forwarded-for' || name === 'sec-websocket-protocol') return true;
    return set.has(name) || isCredential(name);
  });
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (raw[index]?.toLowerCase() === 'x-forwarded-for') forwarded += `${raw[index + 1] ?? ''}, `;
  }
  headers.push('Host', options.host);
  if (options.remoteAddress !== '') headers.push('X-Forwarded-For', `${forwarded}${options.remoteAddress}`);
  if (protocols.length > 0) headers.push('Sec-WebSocket-Protocol', protocols.join(', '));
  if (options.upgrade !== undefined) headers.push('Connection', 'Upgrade', 'Upgrade', options.upgrade);
  for (const [name, value] of set) {
    for (const each of typeof value === 'string' ? [value] : value) headers.push(name, each);
  }
  return headers;
}

/** Returns the headers of the target's response for the client, as a flat list. */
export function responseHeaders(
  raw: readonly string[],
  auditId: string,
  rewriteLocation?: (location: string) => string,
): string[] {
  const selected = select(raw, (name) => name === 'audit-id');
  if (rewriteLocation !== undefined) {
    for (let index = 0; index + 1 < selected.length; index += 2) {
      if (selected[index]?.toLowerCase() === 'location')
        selected[index + 1] = rewriteLocation(selected[index + 1] ?? '');
    }
  }
  return [...selected, 'Audit-Id', auditId];
}
