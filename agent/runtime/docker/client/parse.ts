/** Parsers of docker's responses. Unknown members are ignored; missing ones get zero values. Pure. */
import { isObject, textOf } from '#api/kit/object.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface DockerInfo {
  readonly rootDir: string;
  readonly cgroupDriver: 'cgroupfs' | 'systemd';
  readonly cgroupVersion: 1 | 2;
  readonly serverVersion: string;
  readonly storageDriver: string;
  readonly liveRestore: boolean;
  /** Names of the security options: `apparmor`, `seccomp`, `selinux`, `userns`. */
  readonly security: ReadonlySet<string>;
  readonly swarm: boolean;
}

export interface ListedContainer {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isRunning: boolean;
}

export interface InspectedContainer {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly imageId: string;
  readonly createdAtNs: bigint;
  readonly status: string;
  readonly isRunning: boolean;
  readonly pid: number;
  readonly exitCode: number;
  readonly isOomKilled: boolean;
  readonly error: string;
  /** 0n if it never started. */
  readonly startedAtNs: bigint;
  /** 0n if it has not ended. */
  readonly finishedAtNs: bigint;
  readonly addresses: readonly string[];
  /** Bytes of the writable layer; undefined unless requested. */
  readonly writableBytes: number | undefined;
}

export interface DockerImage {
  readonly id: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
  readonly sizeBytes: number;
  readonly user: string;
}

export interface DockerEvent {
  readonly action: string;
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly timeNs: bigint;
}

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);
const textsOf = (value: unknown): readonly string[] =>
  listOf(value).filter((item): item is string => typeof item === 'string');

function labelsOf(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fieldsOf(value)).map(([key, text]) => [key, textOf(text)]));
}

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** Returns nanoseconds since the epoch; 0n for docker's zero time and for anything else. */
export function parseTime(text: string): bigint {
  const match = TIME.exec(text);
  if (match === null) return 0n;
  const [, seconds = '', fraction = '', zone = ''] = match;
  const ms = Date.parse(`${seconds}${zone}`);
  if (Number.isNaN(ms) || ms <= 0) return 0n;
  return BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}

export const parseApiVersion = (response: unknown): string => textOf(fieldsOf(response)['ApiVersion']);

export function parseInfo(response: unknown): DockerInfo {
  const info = fieldsOf(response);
  const options = textsOf(info['SecurityOptions']).map((text) => /^(?:name=)?([^,]+)/.exec(text)?.[1] ?? '');
  const swarmState = textOf(fieldsOf(info['Swarm'])['LocalNodeState']);
  return {
    rootDir: textOf(info['DockerRootDir']),
    cgroupDriver: info['CgroupDriver'] === 'systemd' ? 'systemd' : 'cgroupfs',
    cgroupVersion: info['CgroupVersion'] === '2' ? 2 : 1,
    serverVersion: textOf(info['ServerVersion']),
    storageDriver: textOf(info['Driver']),
    liveRestore: info['LiveRestoreEnabled'] === true,
    security: new Set(options),
    swarm: swarmState !== '' && swarmState !== 'inactive',
  };
}

export function parseList(response: unknown): readonly ListedContainer[] {
  return listOf(response)
    .map(fieldsOf)
    .map((item) => ({
      id: textOf(item['Id']),
      labels: labelsOf(item['Labels']),
      isRunning: item['State'] === 'running' || item['State'] === 'paused',
    }));
}

function addressesOf(settings: Fields): readonly string[] {
  const networks = Object.values(fieldsOf(settings['Networks'])).map(fieldsOf);
  const found = networks.flatMap((network) => [
    textOf(network['IPAddress']),
    textOf(network['GlobalIPv6Address']),
  ]);
  return [...new Set(found.filter((address) => address !== ''))];
}

export function parseInspected(response: unknown): InspectedContainer {
  const item = fieldsOf(response);
  const state = fieldsOf(item['State']);
  const size = item['SizeRw'];
  const isRunning = state['Running'] === true;
  return {
    id: textOf(item['Id']),
    labels: labelsOf(fieldsOf(item['Config'])['Labels']),
    imageId: textOf(item['Image']),
    createdAtNs: parseTime(textOf(item['Created'])),
    status: textOf(state['Status']),
    isRunning,
    pid: numberOf(state['Pid']),
    exitCode: numberOf(state['ExitCode']),
    isOomKilled: state['OOMKilled'] === true,
    error: textOf(state['Error']),
    startedAtNs: parseTime(textOf(state['StartedAt'])),
    finishedAtNs: isRunning ? 0n : parseTime(textOf(state['FinishedAt'])),
    addresses: addressesOf(fieldsOf(item['NetworkSettings'])),
    writableBytes: typeof size === 'number' ? size : undefined,
  };
}

/** Docker lists images without a name under this one. */
const NO_NAME = '<none>';
const named = (names: readonly string[]): readonly string[] =>
  names.filter((name) => !name.includes(NO_NAME));

export function parseImage(response: unknown): DockerImage {
  const item = fieldsOf(response);
  return {
    id: textOf(item['Id']),
    tags: named(textsOf(item['RepoTags'])),
    digests: named(textsOf(item['RepoDigests'])),
    sizeBytes: numberOf(item['Size']),
    user: textOf(fieldsOf(item['Config'])['User']),
  };
}

export const parseImages = (response: unknown): readonly DockerImage[] => listOf(response).map(parseImage);

/** Returns undefined for events without an object. */
export function parseEvent(line: unknown): DockerEvent | undefined {
  const event = fieldsOf(line);
  const actor = fieldsOf(event['Actor']);
  const id = textOf(actor['ID']);
  const action = textOf(event['Action']);
  if (id === '' || action === '') return undefined;
  return {
    action,
    id,
    labels: labelsOf(actor['Attributes']),
    // The field in nanoseconds exceeds the exact integers of JSON numbers; its error is below a microsecond.
    timeNs: BigInt(Math.trunc(numberOf(event['timeNano']))),
  };
}

export const parseId = (response: unknown): string => textOf(fieldsOf(response)['Id']);

export interface ExecState {
  readonly isRunning: boolean;
  readonly exitCode: number | undefined;
  readonly pid: number;
}

export function parseExec(response: unknown): ExecState {
  const item = fieldsOf(response);
  const exitCode = item['ExitCode'];
  return {
    isRunning: item['Running'] === true,
    exitCode: typeof exitCode === 'number' ? exitCode : undefined,
    pid: numberOf(item['Pid']),
  };
}
