/** The node of this agent, from what the agent is made of. */
import type { ImageService, RuntimeService } from '#cri/gen/cri-v1.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import type { EventRecorder } from '../events/recorder.ts';
import { AGENT_VERSION } from '../version.ts';
import { createImageReader, createRuntimeReader } from './from-runtime.ts';
import { createMachineReader } from './machine/read-machine.ts';
import { createNameResolver } from './machine/resolve-name.ts';
import { createNodeEventSink } from './node-events.ts';
import { createNodeRegistration, type NodeRegistration, type NodeRegistrationDeps } from './registration.ts';
import { registrationSettings } from './settings.ts';
import type { StatusSources } from './status-decider.ts';

export interface AgentNodeParts
  extends Pick<NodeRegistrationDeps, 'api' | 'heartbeat' | 'contact' | 'clock' | 'log' | 'reported'>,
    Omit<StatusSources, 'readImages'> {
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly runtime: Pick<RuntimeService, 'status' | 'version'>;
  readonly images: Pick<ImageService, 'listImages'>;
}

export function createAgentNode(parts: AgentNodeParts): NodeRegistration {
  const { config, nodeName, events, runtime, images, clock } = parts;
  const resolve = createNameResolver({ clock }, nodeName);
  return createNodeRegistration(
    {
      ...parts,
      readMachine: createMachineReader({ resolve }, { rootDir: config.rootDir }),
      readRuntime: createRuntimeReader(runtime),
      readImages: createImageReader(images),
      event: createNodeEventSink(events, nodeName),
    },
    registrationSettings(config, { nodeName, agentVersion: `v${AGENT_VERSION}` }),
  );
}
