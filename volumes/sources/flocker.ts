/** flocker: a dataset mounted by the node's Flocker agent. Its control service moves it to this node.
 *  Source: volume sources, document 3 §2.3; upstream's flocker plugin, release 1.24. */
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { FlockerVolumeSource } from '#api/gen/core-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from '../contract/source.ts';
import { badField, checkName } from '../devices/fields.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { setOwnership } from '../files/ownership.ts';
import { bindMount } from '../mount/bind.ts';
import {
  elementsOf,
  type JsonRequest,
  memberOf,
  requestJson,
  textOf,
} from '../storage-services/json-client.ts';

export interface FlockerOptions {
  /** The agent's environment, which contains upstream's variables for the control service. */
  readonly env: () => Readonly<Record<string, string | undefined>>;
  /** Directory in which the node's Flocker agent mounts datasets. */
  readonly mounts: string;
}

/** Sends a request to the control service. @throws VolumeSetupError */
export type Ask = (method: JsonRequest['method'], path: string, body?: unknown) => Promise<unknown>;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** @throws VolumeSetupError with field, value and expectation */
export function checkFlocker({ datasetName = '', datasetUUID = '' }: FlockerVolumeSource): void {
  if (datasetName !== '' && datasetUUID !== '') {
    throw badField('flocker.datasetUUID', datasetUUID, 'must not be set together with flocker.datasetName');
  }
  if (datasetName === '' && datasetUUID === '') {
    throw new VolumeSetupError('flocker.datasetUUID: Required value: or else flocker.datasetName');
  }
  if (datasetName !== '') checkName('flocker.datasetName', datasetName, 'the name of a dataset');
  else if (!UUID.test(datasetUUID)) throw badField('flocker.datasetUUID', datasetUUID, 'must be a UUID');
}

/** Mutual TLS: the agent has a client certificate, and the service a certificate of the cluster. */
async function createAsk({ env }: FlockerOptions, signal: AbortSignal): Promise<Ask> {
  const set = new Map(Object.entries(env()));
  const setting = (name: string, otherwise: string): string => {
    const value = set.get(`FLOCKER_CONTROL_SERVICE_${name}`) ?? '';
    return value === '' ? otherwise : value;
  };
  const file = async (name: string, path: string): Promise<string> => {
    try {
      return await readFile(setting(name, path), 'utf8');
    } catch (cause) {
      throw new VolumeSetupError(`flocker: ${setting(name, path)} could not be read`, { cause });
    }
  };
  // Sequentially, so that the same missing file is reported each time.
  const ca = await file('CA_FILE', '/etc/flocker/cluster.crt');
  const key = await file('CLIENT_KEY_FILE', '/etc/flocker/apiuser.key');
  const cert = await file('CLIENT_CERT_FILE', '/etc/flocker/apiuser.crt');
  const base = `https://${setting('HOST', 'localhost')}:${setting('PORT', '4523')}/v1`;
  return async (method, path, body) => {
    const url = new URL(`${base}${path}`);
    // Such certificates name the service, not its host; the signature of the cluster's authority is
    // sufficient.
    const tls = { ca, key, cert, checkServerIdentity: () => undefined };
    const response = await requestJson({ method, url, tls, ...(body === undefined ? {} : { body }) }, signal);
    if (response.status === 200) return response.body;
    const reason = textOf(response.body, 'description') ?? 'no reason given';
    throw new VolumeSetupError(`flocker control service ${url.host}: ${response.status}, ${reason}`);
  };
}

/** Returns the identifier of the dataset. @throws VolumeSetupError if it does not exist */
async function findDataset(
  ask: Ask,
  { datasetName = '', datasetUUID = '' }: FlockerVolumeSource,
): Promise<string> {
  if (datasetUUID !== '') return datasetUUID;
  const all = elementsOf(await ask('GET', '/configuration/datasets'));
  const found = all.find((dataset) => textOf(memberOf(dataset, 'metadata'), 'name') === datasetName);
  const id = textOf(found, 'dataset_id') ?? '';
  if (UUID.test(id)) return id;
  throw new VolumeSetupError(`flocker.datasetName ${JSON.stringify(datasetName)}: dataset not found`);
}

/** Returns the service's identifier of this node, found by its addresses. */
async function findNode(ask: Ask): Promise<string> {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
  );
  const nodes = elementsOf(await ask('GET', '/state/nodes'));
  const node = nodes.find((one) => own.has(textOf(one, 'host') ?? ''));
  const id = textOf(node, 'uuid');
  if (id === undefined)
    throw new VolumeSetupError('the flocker control service has no node with an address of this machine');
  return id;
}

/** The service does not push changes: it is polled with upstream's interval and timeout. */
const POLL_INTERVAL_MS = 5_000;
const MOVE_TIMEOUT_MS = 120_000;

async function moveHere(ask: Ask, id: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const primary = await findNode(ask);
  const isHere = async (): Promise<boolean> => {
    const state = elementsOf(await ask('GET', '/state/datasets'));
    return state.some((one) => textOf(one, 'dataset_id') === id && textOf(one, 'primary') === primary);
  };
  if (await isHere()) return;
  await ask('POST', `/configuration/datasets/${id}`, { primary });
  const until = clock.monotonic() + MOVE_TIMEOUT_MS;
  while (clock.monotonic() < until) {
    await sleep(clock, POLL_INTERVAL_MS, signal);
    if (await isHere()) return;
  }
  throw new VolumeSetupError(`dataset ${id} did not move to this node within ${MOVE_TIMEOUT_MS / 1000} s`);
}

/** Makes this node the dataset's primary, and waits for completion.
 *  @returns the dataset's identifier @throws VolumeSetupError */
export async function moveDataset(
  ask: Ask,
  spec: FlockerVolumeSource,
  clock: Clock,
  signal: AbortSignal,
): Promise<string> {
  const id = await findDataset(ask, spec);
  await moveHere(ask, id, clock, signal);
  return id;
}

/** @param options another environment and directory in tests */
export function createFlocker(options: FlockerOptions): SourcePlugin {
  async function setUp(spec: FlockerVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
    checkFlocker(spec);
    const { readOnly, fsGroup, signal } = request;
    const ask = await createAsk(options, signal);
    const { mounter, clock } = request.services;
    const id = await moveDataset(ask, spec, clock, signal);
    const dir = request.dir('flocker');
    const source = join(options.mounts, id);
    if (fsGroup !== undefined && !readOnly) {
      const onRootMismatch = request.fsGroupOnRootMismatch;
      await setOwnership(mounter.syscalls, source, { gid: fsGroup, readOnly, onRootMismatch }, signal);
    }
    await bindMount(mounter, { source, target: dir, readOnly });
    return { hostPath: dir, readOnly, seLinuxRelabel: false, changes: false };
  }
  return defineSource(
    'flocker',
    {
      summary: 'A dataset of a Flocker cluster.',
      use: 'both',
      notes: [
        'The agent finds the control service through its environment: FLOCKER_CONTROL_SERVICE_HOST, _PORT, _CA_FILE, _CLIENT_KEY_FILE and _CLIENT_CERT_FILE.',
        'The dataset must exist. The agent makes this node its primary, and the node’s Flocker agent mounts it in /flocker.',
      ],
    },
    setUp,
  );
}

export const flocker: SourcePlugin = createFlocker({ env: () => process.env, mounts: '/flocker' });
