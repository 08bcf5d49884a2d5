/** Labels of the containers of this runtime in docker. They hold everything that docker itself does not store,
 *  so that a restarted agent needs no files. A container without the node's label is foreign. Pure. */
import type { ContainerConfig, PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { ConfigCodec } from './messages.ts';

type Labels = Readonly<Record<string, string>>;

export const NODE_LABEL = 'nodeagent.runtime.node';
const KIND = 'nodeagent.runtime.kind';
const SANDBOX = 'nodeagent.runtime.sandbox';
const CONFIG = 'nodeagent.runtime.config';
const HANDLER = 'nodeagent.runtime.handler';
const NETWORK = 'nodeagent.runtime.network';
const LOG = 'nodeagent.runtime.log';

/** Provider of the network of a sandbox. */
export type NetworkKind = 'host' | 'docker' | 'plugins';

export interface SandboxNote {
  readonly kind: 'sandbox';
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly network: NetworkKind;
}

export interface ContainerNote {
  readonly kind: 'container';
  readonly sandboxId: string;
  /** Without command and environment. */
  readonly config: ContainerConfig;
  /** Absolute path of the log; empty for none. */
  readonly logPath: string;
}

export function sandboxNoteLabels(codec: ConfigCodec, node: string, note: Omit<SandboxNote, 'kind'>): Labels {
  return {
    [NODE_LABEL]: node,
    [KIND]: 'sandbox',
    [CONFIG]: codec.encodeSandbox(note.config),
    [HANDLER]: note.runtimeHandler,
    [NETWORK]: note.network,
  };
}

/** The environment may contain secrets, and labels are part of docker's events. */
export function containerNoteLabels(
  codec: ConfigCodec,
  node: string,
  note: Omit<ContainerNote, 'kind'>,
): Labels {
  const config = { ...note.config, envs: [], command: [], args: [], devices: [] };
  return {
    [NODE_LABEL]: node,
    [KIND]: 'container',
    [SANDBOX]: note.sandboxId,
    [CONFIG]: codec.encodeContainer(config),
    [LOG]: note.logPath,
  };
}

function networkOf(text: string | undefined): NetworkKind {
  return text === 'host' || text === 'plugins' ? text : 'docker';
}

/** Undefined for foreign containers and for malformed labels. */
export function parseNote(
  codec: ConfigCodec,
  node: string,
  labels: Labels,
): SandboxNote | ContainerNote | undefined {
  if (labels[NODE_LABEL] !== node) return undefined;
  const text = labels[CONFIG] ?? '';
  if (labels[KIND] === 'sandbox') {
    const config = codec.decodeSandbox(text);
    if (config === undefined) return undefined;
    const runtimeHandler = labels[HANDLER] ?? '';
    return { kind: 'sandbox', config, runtimeHandler, network: networkOf(labels[NETWORK]) };
  }
  if (labels[KIND] !== 'container') return undefined;
  const config = codec.decodeContainer(text);
  const sandboxId = labels[SANDBOX] ?? '';
  if (config === undefined || sandboxId === '') return undefined;
  return { kind: 'container', sandboxId, config, logPath: labels[LOG] ?? '' };
}
