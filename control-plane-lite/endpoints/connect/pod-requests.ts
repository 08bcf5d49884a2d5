/** Builds the agent's path and query for a request for a pod's log or streams. Pure.
 *  Source: subresources, document 1 §4.2; upstream's pod strategy. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { invalid } from '#api/meta/status-errors.ts';
import { parseTime } from '#api/meta/time.ts';
import { isOn } from '../connect-options.ts';
import { parsePort } from './proxy-name.ts';

const names = (containers: readonly { readonly name: string }[] = []): string =>
  `[${containers.map(({ name }) => name).join(' ')}]`;

/** Returns the requested container; without a name the only one.
 *  @throws StatusError BadRequest */
export function containerOf({ metadata, spec }: Pod, wanted: string): string {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec ?? {};
  const pod = metadata?.name ?? '';
  if (wanted !== '') {
    const all = [...containers, ...initContainers, ...ephemeralContainers];
    if (all.some(({ name }) => name === wanted)) return wanted;
    throw new StatusError('BadRequest', `container ${wanted} is not valid for pod ${pod}`);
  }
  const [only, ...others] = containers;
  if (only !== undefined && others.length === 0) return only.name;
  const choice = containers.length === 0 ? '' : `, choose one of: ${names(containers)}`;
  const initial =
    initContainers.length === 0 ? '' : ` or one of the init containers: ${names(initContainers)}`;
  throw new StatusError('BadRequest', `a container name must be specified for pod ${pod}${choice}${initial}`);
}

const pathOf = (...parts: readonly string[]): string => `/${parts.map(encodeURIComponent).join('/')}`;

function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

const podPath = (endpoint: string, { metadata }: Pod, ...rest: readonly string[]): string =>
  pathOf(endpoint, metadata?.namespace ?? '', metadata?.name ?? '', ...rest);

/** The streams that a client requests. */
export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export function wantedStreams(query: URLSearchParams): WantedStreams {
  const tty = isOn(query, 'tty');
  return {
    stdin: isOn(query, 'stdin'),
    stdout: isOn(query, 'stdout'),
    // A terminal has one output.
    stderr: isOn(query, 'stderr') && !tty,
    tty,
  };
}

/** @throws StatusError BadRequest */
export function commandPath(endpoint: 'exec' | 'attach', pod: Pod, query: URLSearchParams): string {
  const container = containerOf(pod, query.get('container') ?? '');
  const { stdin, stdout, stderr, tty } = wantedStreams(query);
  const parameters = new URLSearchParams();
  if (stdin) parameters.append('input', '1');
  if (stdout) parameters.append('output', '1');
  if (stderr) parameters.append('error', '1');
  if (tty) parameters.append('tty', '1');
  if (endpoint === 'exec') for (const word of query.getAll('command')) parameters.append('command', word);
  return withQuery(podPath(endpoint, pod, container), parameters);
}

/** @throws StatusError BadRequest for an invalid port */
export function portForwardPath(pod: Pod, query: URLSearchParams): string {
  const parameters = new URLSearchParams();
  const ports = query.getAll('ports').flatMap((text) => text.split(','));
  for (const text of ports) {
    if (parsePort(text) === undefined) {
      throw new StatusError('BadRequest', `${JSON.stringify(text)} is not a port from 1 to 65535`);
    }
  }
  if (ports.length > 0) parameters.append('port', ports.join(','));
  return withQuery(podPath('portForward', pod), parameters);
}

/** Integer parameters of a log request, with the minimum of each. */
const NUMBERS = { sinceSeconds: 1, tailLines: 0, limitBytes: 1 } as const;

function readNumber(query: URLSearchParams, key: keyof typeof NUMBERS, errors: FieldError[]): void {
  const text = query.get(key);
  if (text === null || text === '') return;
  if (!/^-?\d{1,18}$/.test(text)) {
    throw new StatusError('BadRequest', `${key}: ${JSON.stringify(text)} is not a whole number`);
  }
  if (Number(text) >= NUMBERS[key]) return;
  const least = NUMBERS[key] === 0 ? 'or equal to 0' : '0';
  errors.push({
    kind: 'FieldValueInvalid',
    field: key,
    badValue: Number(text),
    detail: `must be greater than ${least}`,
  });
}

function readTime(query: URLSearchParams): void {
  const text = query.get('sinceTime');
  if (text === null || text === '') return;
  try {
    parseTime(text);
  } catch (cause) {
    throw new StatusError('BadRequest', `sinceTime: ${JSON.stringify(text)} is not an RFC 3339 time`, {
      cause,
    });
  }
}

/** @throws StatusError BadRequest, Invalid */
export function logPath(pod: Pod, query: URLSearchParams): string {
  const errors: FieldError[] = [];
  for (const key of ['tailLines', 'limitBytes', 'sinceSeconds'] as const) readNumber(query, key, errors);
  readTime(query);
  if ((query.get('sinceSeconds') ?? '') !== '' && (query.get('sinceTime') ?? '') !== '') {
    const detail = 'at most one of `sinceTime` or `sinceSeconds` may be specified';
    errors.push({ kind: 'FieldValueForbidden', field: '', detail });
  }
  if (errors.length > 0) {
    throw invalid({ group: '', name: 'PodLogOptions' }, pod.metadata?.name ?? '', errors);
  }
  const container = containerOf(pod, query.get('container') ?? '');
  const parameters = new URLSearchParams();
  for (const key of ['follow', 'previous', 'timestamps'])
    if (isOn(query, key)) parameters.append(key, 'true');
  for (const key of ['sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes']) {
    const value = query.get(key) ?? '';
    if (value !== '') parameters.append(key, value);
  }
  return withQuery(podPath('containerLogs', pod, container), parameters);
}
