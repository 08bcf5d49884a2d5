/** Audit events in upstream's format. Pure. */
import { isIP } from 'node:net';
import { formatMicroTime } from '#api/meta/time.ts';
import type { UserInfo } from '../../resources/contract.ts';
import type { RequestInfo } from '../contract.ts';
import type { ServerRequest } from '../request/server-request.ts';
import type { AuditLevel, AuditStage } from './policy.ts';

export interface EventInput {
  readonly request: ServerRequest;
  /** Domain of the API groups. */
  readonly domain: string;
  readonly level: AuditLevel;
  readonly stage: AuditStage;
  readonly nowMs: number;
  /** Absent before there is a response. */
  readonly responseStatus?: unknown;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
  readonly annotations: Readonly<Record<string, string>>;
}

/** JSON text that is inserted into an event unchanged. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const formatMs = (ms: number): string => formatMicroTime(BigInt(Math.round(ms * 1000)) * 1000n);

function formatUser(user: UserInfo): object {
  const { name, uid, groups, extra } = user;
  return {
    ...(name === '' ? {} : { username: name }),
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** Returns the source addresses of a request: those that its headers claim, then that of the connection. */
export function sourceIPs(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  remoteAddress: string,
): readonly string[] {
  const claimed = [headers['x-forwarded-for'], headers['x-real-ip']]
    .flatMap((value) => (value === undefined ? [] : [value].flat()))
    .flatMap((value) => value.split(','))
    .map((value) => value.trim())
    .filter((value) => isIP(value) > 0);
  const remote = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress;
  return [...new Set([...claimed, ...(remote === '' ? [] : [remote])])];
}

function objectRef(info: RequestInfo): object {
  return {
    resource: info.resource,
    ...(info.namespace === '' ? {} : { namespace: info.namespace }),
    ...(info.name === '' ? {} : { name: info.name }),
    ...(info.group === '' ? {} : { apiGroup: info.group }),
    apiVersion: info.version,
    ...(info.subresource === '' ? {} : { subresource: info.subresource }),
  };
}

function member(name: string, value: unknown): string {
  if (value === undefined) return '';
  return `,${JSON.stringify(name)}:${value instanceof RawJson ? value.text : JSON.stringify(value)}`;
}

/** Returns an event as a line of text in the format of upstream's first releases, without the newline. */
export function formatLegacy({ request, stage, nowMs, responseStatus }: EventInput): string {
  const { info, originalUser, user } = request;
  const quoted = (values: readonly string[]): string =>
    values.map((value) => JSON.stringify(value)).join(',');
  const impersonated = user === originalUser ? undefined : user;
  const members: readonly (readonly [string, string])[] = [
    ['id', request.id],
    ['stage', stage],
    ['ip', sourceIPs(request.headers, request.exchange.connection.remoteAddress)[0] ?? '<unknown>'],
    ['method', info.verb],
    ['user', originalUser.name],
    ['groups', quoted(originalUser.groups)],
    ['as', impersonated?.name ?? '<self>'],
    ['asgroups', impersonated === undefined ? '<lookup>' : quoted(impersonated.groups)],
    ['user-agent', request.headers['user-agent'] ?? ''],
    ['namespace', info.namespace === '' ? '<none>' : info.namespace],
    ['uri', request.exchange.target],
    ['response', responseStatus === undefined ? '<deferred>' : String(request.status)],
  ];
  return `${formatMs(nowMs)} AUDIT: ${members.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(' ')}`;
}

/** Returns an event as one line of JSON, without the newline. */
export function formatEvent(input: EventInput): string {
  const { request, level, stage } = input;
  const { info, originalUser, user } = request;
  const agent = request.headers['user-agent'];
  const head = {
    kind: 'Event',
    apiVersion: `audit.${input.domain}/v1`,
    level,
    auditID: request.id,
    stage,
    requestURI: request.exchange.target,
    verb: info.verb,
    user: formatUser(originalUser),
    ...(user === originalUser ? {} : { impersonatedUser: formatUser(user) }),
    sourceIPs: sourceIPs(request.headers, request.exchange.connection.remoteAddress),
    ...(agent === undefined ? {} : { userAgent: agent }),
    ...(info.isResource ? { objectRef: objectRef(info) } : {}),
  };
  const annotations = { ...input.annotations, ...request.annotations };
  return [
    JSON.stringify(head).slice(0, -1),
    member('responseStatus', input.responseStatus),
    member('requestObject', input.requestObject),
    member('responseObject', input.responseObject),
    member('requestReceivedTimestamp', formatMs(request.receivedMs)),
    member('stageTimestamp', formatMs(input.nowMs)),
    member('annotations', Object.keys(annotations).length === 0 ? undefined : annotations),
    '}',
  ].join('');
}
