/** Device plugin for tests, as a separate process: `node plugin.ts <options as JSON>`. It prints `ready`
 *  after its registration, logs its calls, and replaces its devices by each line of standard input. */
import { appendFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import { openChannel } from '#cri/client/channel.ts';
import nodeProtos from '#cri/data/node-protos.json' with { type: 'json' };
import { defineService } from '#cri/server/define-service.ts';
import type { TestPluginOptions } from './plugin-options.fixture.ts';

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the parent process is of the same source
const options = JSON.parse(process.argv[2] ?? '{}') as TestPluginOptions;
const { dir, agentSocket, resource, callsFile, mount, registryDir } = options;
const table = nodeProtos['deviceplugin/v1beta1'];
const types = createMessageTypes(table);
const name = `${resource.replaceAll('/', '_')}.sock`;
const watchers = new Set<ServerWritableStream<object, object>>();
let devices = options.devices;

function list(): object {
  const all = devices.split(' ').filter((one) => one !== '');
  return {
    devices: all.map((one) => {
      const [id = '', node] = one.replace('!', '').split('@');
      const topology = node === undefined ? {} : { topology: { nodes: [{ ID: BigInt(node) }] } };
      return { ID: id, health: one.endsWith('!') ? 'Unhealthy' : 'Healthy', ...topology };
    }),
  };
}

interface AnyRequest {
  readonly containerRequests?: readonly { readonly devicesIds?: readonly string[] }[];
}

/** Logged synchronously before the response: a test may kill the process in the next moment. */
const unary =
  (method: string, respond: (request: AnyRequest) => object): handleUnaryCall<AnyRequest, object> =>
  ({ request }, callback) => {
    appendFileSync(callsFile, `${JSON.stringify({ method, request })}\n`);
    callback(null, respond(request));
  };

const listAndWatch: handleServerStreamingCall<object, object> = (call) => {
  watchers.add(call);
  call.on('cancelled', () => watchers.delete(call));
  call.write(list());
};

const allocate = ({ containerRequests = [] }: AnyRequest): object => ({
  containerResponses: containerRequests.map(({ devicesIds = [] }) => ({
    envs: { TEST_DEVICES: devicesIds.join(',') },
    mounts: [{ containerPath: '/plugin', hostPath: mount, readOnly: true }],
    devices: devicesIds.map((id) => ({
      containerPath: `/dev/${id}`,
      hostPath: '/dev/zero',
      permissions: 'r',
    })),
    annotations: { 'example.com/devices': devicesIds.join('-') },
  })),
});

const own = {
  preStartRequired: options.preStartRequired === true,
  getPreferredAllocationAvailable: options.preferred !== undefined,
};

const server = new Server();
server.addService(
  defineService(types, table.services.DevicePlugin, (path) => path),
  {
    getDevicePluginOptions: unary('GetDevicePluginOptions', () => own),
    listAndWatch,
    getPreferredAllocation: unary('GetPreferredAllocation', () => ({
      containerResponses: [{ deviceIDs: options.preferred ?? [] }],
    })),
    allocate: unary('Allocate', allocate),
    preStartContainer: unary('PreStartContainer', () => ({})),
  },
);

async function listen(what: Server, path: string): Promise<void> {
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    what.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
}

async function registerByCall(): Promise<void> {
  const channel = openChannel(join(dir, agentSocket));
  const request = { version: 'v1beta1', endpoint: name, resourceName: resource, options: own };
  const [rpc] = table.services.Registration;
  await channel.unary(rpc?.path ?? '', types.type('RegisterRequest').encode(request), { timeoutMs: 10_000 });
  channel.close();
}

async function registerByFolder(folder: string): Promise<void> {
  const registration = nodeProtos['pluginregistration/v1'];
  const info = {
    type: 'DevicePlugin',
    name: resource,
    endpoint: join(dir, name),
    supportedVersions: ['v1beta1'],
  };
  const registrationServer = new Server();
  registrationServer.addService(
    defineService(createMessageTypes(registration), registration.services.Registration, (path) => path),
    { getInfo: unary('GetInfo', () => info), notifyRegistrationStatus: unary('Notify', () => ({})) },
  );
  await listen(registrationServer, join(folder, name));
}

await listen(server, join(dir, name));
await (registryDir === undefined ? registerByCall() : registerByFolder(registryDir));
createInterface({ input: process.stdin }).on('line', (line) => {
  devices = line;
  for (const call of watchers) call.write(list());
});
process.stdout.write('ready\n');
