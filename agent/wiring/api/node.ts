/** Wires the node registration and the events of the agent on the API server. */
import type { VolumesInUse } from '#volumes/contract/volume-manager.ts';
import { createServerContact, type ServerContact } from '../../api-client/server-contact.ts';
import type { NodeAddresses } from '../../certs/serving-names.ts';
import { createApiEventSink } from '../../events/api-sink.ts';
import { createMachineReader } from '../../machine/read-machine.ts';
import { createNameResolver } from '../../machine/resolve-name.ts';
import { createImageReader, createRuntimeReader } from '../../registration/from-runtime.ts';
import { createNodeEventSink } from '../../registration/node-events.ts';
import { createNodeRegistration, type NodeRegistration } from '../../registration/registration.ts';
import { registrationSettings } from '../../registration/settings.ts';
import type { ResourceManagers } from '../../resources/contract.ts';
import { NODE_TROUBLE } from '../../shutdown/ended-pods.ts';
import { AGENT_VERSION } from '../../version.ts';
import type { Base } from '../base.ts';
import type { RuntimeSubsystem } from '../runtime.ts';
import type { ApiClients } from './clients.ts';

type NodeResources = Pick<ResourceManagers, 'resources' | 'statusWritten' | 'onChange'>;

export interface ApiNode extends Pick<NodeRegistration, 'node' | 'whenNode' | 'onChange'> {
  /** Addresses of the node, as reported to the server. */
  readonly addresses: NodeAddresses;
  /** Shared by all clients of the server. */
  readonly contact: ServerContact;
  /** Reports volumes in use and devices in the node status, until the signal fires. Never rejects. */
  run(volumes: VolumesInUse, resources: NodeResources, signal: AbortSignal): Promise<void>;
}

const pathsIn = (list: string): readonly string[] => list.split(',').map((path) => path.trim());

export function createApiNode(
  base: Base,
  { connection, imageConnection }: Pick<RuntimeSubsystem, 'connection' | 'imageConnection'>,
  { api, heartbeat, events }: ApiClients,
): ApiNode {
  const { config, clock, log, node } = base;
  const contact = createServerContact({ clock, log, waits: base.waits });
  let volumes: VolumesInUse | undefined;
  let resources: NodeResources | undefined;
  const registration = createNodeRegistration(
    {
      volumesInUse: (reported) => volumes?.names(reported),
      extended: () => resources?.resources(),
      registered: () => resources?.statusWritten(),
      troubles: () => (base.shutdown.active() ? [NODE_TROUBLE] : []),
      pressure: () => {
        const short = base.pressure.conditions();
        return {
          memory: short.has('MemoryPressure'),
          disk: short.has('DiskPressure'),
          pid: short.has('PIDPressure'),
        };
      },
      reported: ({ status }) => volumes?.reported(status?.volumesInUse ?? []),
      api,
      heartbeat,
      contact,
      clock,
      log,
      readMachine: createMachineReader(
        { nowMs: () => clock.monotonic(), resolve: createNameResolver({ clock }, node) },
        {
          rootDir: config.rootDir,
          machineIdFiles: pathsIn(config.machineIdFile),
          bootIdFiles: pathsIn(config.bootIdFile),
        },
      ),
      readRuntime: createRuntimeReader(connection.runtime),
      readImages: createImageReader(imageConnection.images),
      event: createNodeEventSink(base.events, node),
    },
    registrationSettings(config, { nodeName: node, agentVersion: `v${AGENT_VERSION}` }),
  );
  const { eventRecordQPS: qps, eventBurst: burst } = config;
  const sink = createApiEventSink({ client: events, contact, clock, log }, { qps, burst });
  return {
    contact,
    node: registration.node,
    whenNode: registration.whenNode,
    onChange: registration.onChange,
    addresses: {
      current: () => registration.node()?.status?.addresses ?? [],
      onChange: (listener) => registration.onChange(listener),
    },
    async run(inUse, handedOut, signal) {
      volumes = inUse;
      resources = handedOut;
      inUse.begin().catch((err: unknown) => {
        log.warn({ err }, 'Failed to find pods of an earlier run; volumes stay reported as in use');
      });
      const ends = [
        inUse.onChange(() => registration.wake()),
        handedOut.onChange(() => registration.wake()),
        registration.onChange((found) => inUse.attached(found?.status?.volumesAttached ?? [])),
        base.events.onEvent(sink.take),
        base.pressure.onChange(() => registration.wake()),
        base.shutdown.onChange(() => registration.wake()),
        connection.onStateChange(() => registration.runtimeChanged()),
      ];
      await Promise.all([registration.run(signal), sink.run(signal)]);
      for (const end of ends) end();
    },
  };
}
