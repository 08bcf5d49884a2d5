/** A CSI driver for tests, as a separate process: `node driver.ts <options as JSON>`. It prints `ready`
 *  when it serves, records its calls, and injects the requested errors. */
import { mkdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import { asError } from '#api/kit/errno.ts';
import { methodName } from '#cri/client/service.ts';
import nodeProtos from '#cri/data/node-protos.json' with { type: 'json' };
import type {
  NodeExpandVolumeRequest,
  NodeGetVolumeStatsRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
} from '#cri/gen/csi-v1.ts';
import type { RegistrationStatus } from '#cri/gen/pluginregistration-v1.ts';
import { defineService } from '#cri/server/define-service.ts';
import {
  callsFile,
  conditionFile,
  type Misdeed,
  misdeedFile,
  note,
  readOwn,
  registeredFile,
  type TestDriverOptions,
} from './driver-options.fixture.ts';
import { createDriverVolumes } from './driver-volumes.fixture.ts';

const INTERNAL = 13;
const NOT_FOUND = 5;

const options = readOwn<TestDriverOptions>(process.argv[2] ?? '{}');
const { dataDir, registryDir, name } = options;
const endpoint = join(dataDir, 'csi.sock');
const registration = join(registryDir, `${name}-reg.sock`);
const volumes = createDriverVolumes(dataDir);

/** Removes and returns the error if it is for this method. */
async function takeMisdeed(method: string): Promise<Misdeed | undefined> {
  const text = await readFile(misdeedFile(dataDir), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const misdeed = readOwn<Misdeed>(text);
  if (misdeed.method !== method) return undefined;
  await rm(misdeedFile(dataDir));
  return misdeed;
}

const die = (): void => void process.kill(process.pid, 'SIGKILL');

function handler<Request>(
  method: string,
  work: (request: Request) => Promise<object>,
): handleUnaryCall<Request, object> {
  const perform = async (request: Request): Promise<object> => {
    await note(callsFile(dataDir), { method, request });
    const misdeed = await takeMisdeed(method);
    if (misdeed?.deed === 'before') die();
    if (misdeed?.deed === 'fail') {
      throw Object.assign(new Error(misdeed.message), { code: misdeed.code ?? INTERNAL });
    }
    const response = await work(request);
    if (misdeed?.deed === 'after') die();
    return response;
  };
  const respond: (...args: Parameters<handleUnaryCall<Request, object>>) => Promise<void> = async (
    { request },
    callback,
  ) => {
    try {
      callback(null, await perform(request));
    } catch (thrown) {
      const error = asError(thrown);
      const code = 'code' in error && typeof error.code === 'number' ? error.code : INTERNAL;
      callback(Object.assign(error, { code, details: error.message }));
    }
  };
  return (...args) => void respond(...args);
}

const EMPTY = async (): Promise<object> => ({});

async function stats({ volumePath }: NodeGetVolumeStatsRequest): Promise<object> {
  if ((await stat(volumePath).catch(() => undefined)) === undefined) {
    throw Object.assign(new Error(`${volumePath} is not there`), { code: NOT_FOUND });
  }
  const { bytes, inodes } = await volumes.usage(volumePath);
  const amounts = ([available, total, used]: readonly bigint[], unit: string): object => ({
    available,
    total,
    used,
    unit,
  });
  const trouble = await readFile(conditionFile(dataDir), 'utf8').catch(() => undefined);
  const condition = { abnormal: trouble !== undefined, message: trouble ?? 'all is well' };
  return {
    usage: [amounts(bytes, 'BYTES'), amounts(inodes, 'INODES')],
    ...(options.capabilities?.includes('VOLUME_CONDITION') === true ? { volumeCondition: condition } : {}),
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- what came is of the type that the table says
const handlers: Readonly<Record<string, (request: any) => Promise<object>>> = {
  getPluginInfo: async () => ({ name, vendorVersion: '1' }),
  getPluginCapabilities: EMPTY,
  probe: EMPTY,
  nodeGetInfo: async () => ({
    nodeId: options.nodeID ?? 'test-node',
    maxVolumesPerNode: BigInt(options.maxVolumes ?? 0),
    ...(options.topology === undefined ? {} : { accessibleTopology: { segments: options.topology } }),
  }),
  nodeGetCapabilities: async () => ({
    capabilities: (options.capabilities ?? ['STAGE_UNSTAGE_VOLUME']).map((type) => ({ rpc: { type } })),
  }),
  nodeStageVolume: async (request: NodeStageVolumeRequest) => {
    await volumes.stage(request);
    return {};
  },
  nodeUnstageVolume: async ({ volumeId, stagingTargetPath }: NodeUnstageVolumeRequest) => {
    await volumes.unstage(volumeId, stagingTargetPath);
    return {};
  },
  nodePublishVolume: async (request: NodePublishVolumeRequest) => {
    await volumes.publish(request);
    return {};
  },
  nodeUnpublishVolume: async ({ targetPath }: NodeUnpublishVolumeRequest) => {
    await volumes.unpublish(targetPath);
    return {};
  },
  nodeGetVolumeStats: stats,
  nodeExpandVolume: async ({ volumeId, volumePath, capacityRange }: NodeExpandVolumeRequest) => {
    await volumes.expand(volumeId, volumePath, capacityRange?.requiredBytes ?? 0n);
    return { capacityBytes: capacityRange?.requiredBytes ?? 0n };
  },
  getInfo: async () => ({
    type: options.type ?? 'CSIPlugin',
    name,
    endpoint,
    supportedVersions: options.versions ?? ['1.0.0'],
  }),
  notifyRegistrationStatus: async (status: RegistrationStatus) => {
    await note(registeredFile(dataDir), status);
    return {};
  },
};

interface Table {
  readonly services: Readonly<Record<string, Parameters<typeof defineService>[1]>>;
}

async function listen(
  path: string,
  table: Parameters<typeof createMessageTypes>[0] & Table,
  names: readonly string[],
): Promise<void> {
  const types = createMessageTypes(table);
  const server = new Server();
  for (const service of names) {
    const rpcs = (table.services[service] ?? []).filter(({ rpc }) => methodName(rpc) in handlers);
    const definition: ServiceDefinition = defineService(types, rpcs, (rpcPath) => rpcPath);
    const implementation: UntypedServiceImplementation = {};
    for (const { rpc } of rpcs)
      implementation[methodName(rpc)] = handler(rpc, handlers[methodName(rpc)] ?? EMPTY);
    server.addService(definition, implementation);
  }
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}

await mkdir(dataDir, { recursive: true });
await mkdir(registryDir, { recursive: true });
await listen(endpoint, nodeProtos['csi/v1'], ['Identity', 'Node']);
await listen(registration, nodeProtos['pluginregistration/v1'], ['Registration']);
process.stdout.write('ready\n');
