/** Client of the API server that records all its requests in a history. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import type { EventType, Get, Intent, Key, Seen, Selection, Version, Watching, Write } from './history.ts';

/** A watch that may still go on. */
export type Noted = Omit<Watching, 'complete'> & { complete: boolean };

/** Where all clients write to. */
export interface Notes {
  readonly writes: Write[];
  readonly gets: Get[];
  readonly watchings: Noted[];
  /** Responses that no client should get. */
  readonly surprises: string[];
  /** The highest revision that anyone has seen. */
  newest: number;
  /** Servers fail on purpose: requests may, too. */
  readonly failing: boolean;
}

/** Before something that failed is tried again, in ms. */
const RETRY_MS = 20;

const isFailure = (status: number): boolean => status >= 500 || status === 429;

export interface Server {
  readonly url: () => string;
  readonly agent: () => Dispatcher;
}

interface ObjectBody {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: { readonly color?: string };
  };
  readonly data?: Readonly<Record<string, string>>;
}

export interface ListBody {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly ObjectBody[];
}

export function versionOf({ metadata, data = {} }: ObjectBody): Version {
  const { namespace, name, uid, resourceVersion, labels } = metadata;
  return {
    key: `${namespace}/${name}`,
    revision: Number(resourceVersion),
    uid,
    value: { color: labels?.color ?? '', data },
  };
}

export function notice(notes: Notes, revision: number): void {
  if (revision > notes.newest) notes.newest = revision;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export async function send(
  { url, agent }: Server,
  method: string,
  path: string,
  options: { readonly body?: unknown; readonly type?: string; readonly signal?: AbortSignal } = {},
): Promise<Reply> {
  const { body, type = 'application/json', signal } = options;
  const response = await request(url() + path, {
    method: method as 'GET',
    dispatcher: agent(),
    headers: body === undefined ? {} : { 'content-type': type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { status: response.statusCode, body: await response.body.json() };
}

export const collectionPath = (namespace: string | undefined): string =>
  namespace === undefined ? '/api/v1/configmaps' : `/api/v1/namespaces/${namespace}/configmaps`;

export function objectPath(key: Key): string {
  const [namespace, name = ''] = key.split('/');
  return `${collectionPath(namespace)}/${name}`;
}

export interface WriteRequest {
  readonly id: string;
  readonly key: Key;
  readonly intent: Intent;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
  /** Goes away this long after the start, in ms. */
  readonly abandonMs?: number;
}

/** Responses with the version of the write. */
export async function write(notes: Notes, server: Server, wish: WriteRequest): Promise<Version | undefined> {
  const { id, key, intent, method, path, body, type, abandonMs } = wish;
  const call = { id, key, intent, floor: notes.newest, beganMs: performance.now() };
  const end = (result: Write['result']): void => {
    notes.writes.push({ ...call, endedMs: performance.now(), result });
  };
  let reply: Reply;
  try {
    reply = await send(server, method, path, {
      ...(body === undefined ? {} : { body }),
      ...(type === undefined ? {} : { type }),
      ...(abandonMs === undefined ? {} : { signal: AbortSignal.timeout(abandonMs) }),
    });
  } catch (thrown) {
    if (abandonMs === undefined && !notes.failing) notes.surprises.push(`${id}: ${String(thrown)}`);
    end({ kind: 'unknown' });
    return undefined;
  }
  const { status, body: object } = reply;
  if (notes.failing && isFailure(status)) {
    end({ kind: 'unknown' });
    return undefined;
  }
  if (status >= 400) {
    const { reason } = object as { reason: string };
    if (status !== 404 && status !== 409) notes.surprises.push(`${id}: ${JSON.stringify(object)}`);
    end({ kind: 'refused', status, reason });
    return undefined;
  }
  if (intent.kind === 'delete') {
    end({ kind: 'deleted', uid: (object as { details: { uid: string } }).details.uid });
    return undefined;
  }
  const version = versionOf(object as ObjectBody);
  notice(notes, version.revision);
  end({ kind: 'done', version });
  return version;
}

/** `undefined`: no response, which is acceptable. */
export async function read(notes: Notes, server: Server, path: string): Promise<Reply | undefined> {
  try {
    const reply = await send(server, 'GET', path);
    return notes.failing && isFailure(reply.status) ? undefined : reply;
  } catch (thrown) {
    if (!notes.failing) throw thrown;
    await pause(RETRY_MS);
    return undefined;
  }
}

/** `any`: whatever state the server has at hand; a number: one not older. */
export async function get(
  notes: Notes,
  server: Server,
  key: Key,
  freshness: 'newest' | 'any' | number,
): Promise<Version | undefined> {
  const began = { floor: freshness === 'newest' ? notes.newest : 0, beganMs: performance.now() };
  const floor = typeof freshness === 'number' ? freshness : began.floor;
  const query =
    freshness === 'newest' ? '' : `?resourceVersion=${freshness === 'any' ? 0 : String(freshness)}`;
  const reply = await read(notes, server, objectPath(key) + query);
  if (reply === undefined) return undefined;
  const { status, body } = reply;
  if (status !== 200 && status !== 404) notes.surprises.push(`get ${key}${query}: ${JSON.stringify(body)}`);
  const found = status === 200 ? versionOf(body as ObjectBody) : undefined;
  notes.gets.push({ key, ...began, floor, endedMs: performance.now(), found });
  if (found !== undefined) notice(notes, found.revision);
  return found;
}

export function selectorQuery({ color, name }: Selection): URLSearchParams {
  const query = new URLSearchParams();
  if (color !== undefined) query.set('labelSelector', `color=${color}`);
  if (name !== undefined) query.set('fieldSelector', `metadata.name=${name}`);
  return query;
}

export interface WatchWish {
  readonly selection: Selection;
  /** `state`: first what is there. `any`: what the server has at hand. */
  readonly from: 'state' | 'any' | number;
  readonly bookmarks: boolean;
  readonly initialEvents?: boolean;
  /** The server ends it after so many seconds. */
  readonly timeoutSeconds?: number;
  /** Aborted to disconnect the client. */
  readonly signal: AbortSignal;
  /** Resolves at the server's response: later changes are seen. */
  readonly onOpen?: () => void;
  readonly onSeen?: (seen: Seen) => void;
}

/** How a watch went. */
export interface Watched {
  /** The revision to go on from. */
  readonly position: number;
  readonly noted: Noted;
}

function watchQuery({ selection, from, bookmarks, initialEvents, timeoutSeconds }: WatchWish): string {
  const query = selectorQuery(selection);
  query.set('watch', '1');
  if (bookmarks) query.set('allowWatchBookmarks', 'true');
  if (typeof from === 'number') query.set('resourceVersion', String(from));
  if (from === 'any') query.set('resourceVersion', '0');
  if (initialEvents === true) {
    query.set('sendInitialEvents', 'true');
    query.set('resourceVersionMatch', 'NotOlderThan');
  }
  if (timeoutSeconds !== undefined) query.set('timeoutSeconds', String(timeoutSeconds));
  return query.toString();
}

interface EventBody {
  readonly type: EventType | 'BOOKMARK' | 'ERROR';
  readonly object: ObjectBody;
}

/** Of an error event. */
const codeOf = ({ object }: EventBody): number => (object as { readonly code?: number }).code ?? 0;

function seenOf({ type, object }: EventBody): Seen | undefined {
  if (type === 'ERROR') return undefined;
  if (type !== 'BOOKMARK') return { kind: 'event', type, version: versionOf(object) };
  const { resourceVersion } = object.metadata;
  const initialEnd = JSON.stringify(object).includes('initial-events-end');
  return { kind: 'bookmark', revision: Number(resourceVersion), initialEnd };
}

/** Watches until the server or the client ends it. */
export async function watch(notes: Notes, server: Server, wish: WatchWish): Promise<Watched> {
  const { selection, from, signal, onOpen, onSeen } = wish;
  const seen: Seen[] = [];
  const start: Watching['start'] =
    typeof from === 'number'
      ? { kind: 'revision', revision: from }
      : { kind: 'state', floor: from === 'any' ? 0 : notes.newest };
  const noted: Noted = { selection, start, seen, complete: false };
  notes.watchings.push(noted);
  let position = typeof from === 'number' ? from : 0;
  const note = (line: string): void => {
    const event = JSON.parse(line) as EventBody;
    const each = seenOf(event);
    if (each === undefined) {
      if (notes.failing && isFailure(codeOf(event))) return;
      notes.surprises.push(`watch ${JSON.stringify(selection)} from ${from}: ${line}`);
      return;
    }
    position = each.kind === 'bookmark' ? each.revision : Math.max(position, each.version.revision);
    seen.push(each);
    notice(notes, position);
    onSeen?.(each);
  };
  try {
    const response = await request(
      `${server.url()}${collectionPath(selection.namespace)}?${watchQuery(wish)}`,
      {
        dispatcher: server.agent(),
        signal,
      },
    );
    if (notes.failing && isFailure(response.statusCode)) {
      await response.body.dump();
      await pause(RETRY_MS);
      return { position, noted };
    }
    if (response.statusCode !== 200) {
      notes.surprises.push(`watch: ${response.statusCode} ${await response.body.text()}`);
      return { position, noted };
    }
    onOpen?.();
    let rest = '';
    for await (const chunk of response.body.setEncoding('utf8')) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      lines.forEach(note);
    }
  } catch (thrown) {
    if (signal.aborted) return { position, noted };
    if (!notes.failing) notes.surprises.push(`watch ${JSON.stringify(selection)}: ${String(thrown)}`);
    await pause(RETRY_MS);
  }
  return { position, noted };
}
